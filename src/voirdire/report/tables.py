"""Tables as the page shows them: cells in words, with the value to sort by beside."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from voirdire.blocks import Cell, TableBlock
from voirdire.report.numerals import number, probability
from voirdire.report.visible import marked, shortened

ROW_LIMIT = 500
"""Rows of one table that the page shows."""

CELL_LIMIT = 600
"""Characters of one cell that the page shows."""

TALL = 24
"""Rows above which a table scrolls within its own box, except in print."""

_P_VALUE = re.compile(r"\bp\b")


@dataclass(frozen=True)
class ShownCell:
    """One cell: what is shown, and the value to sort by ('' where it is not known: sorted last)."""

    markup: Markup
    sort: str


@dataclass(frozen=True)
class ShownTable:
    """A table ready for the template.

    `numeric` says of each column whether it holds numbers alone; `header` is the column whose cell names its row.
    """

    title: str
    columns: Sequence[str]
    numeric: Sequence[bool]
    rows: Sequence[Sequence[ShownCell]]
    note: str = ""
    left_out: int = 0
    header: int = 0

    @property
    def tall(self) -> bool:
        """Whether it is so long that it scrolls within its own box."""
        return len(self.rows) > TALL


def shown_table(block: TableBlock) -> ShownTable:
    """Return the block as the template wants it: short rows filled up, long ones cut to the columns."""
    width = len(block.columns)
    rows = [(*row[:width], *(None,) * (width - len(row))) for row in block.rows]
    return ShownTable(
        title=block.title,
        columns=block.columns,
        numeric=[_is_numeric([row[column] for row in rows]) for column in range(width)],
        rows=[
            [_cell_under(heading, value) for heading, value in zip(block.columns, row, strict=True)]
            for row in rows[:ROW_LIMIT]
        ],
        note=block.note,
        left_out=max(0, len(rows) - ROW_LIMIT),
    )


def _cell_under(heading: str, value: Cell | Markup) -> ShownCell:
    """Return a cell; a number under a heading that names a p is printed as one."""
    if isinstance(value, float) and _P_VALUE.search(heading):
        return ShownCell(Markup.escape(probability(value)), repr(value))
    return shown_cell(value)


def shown_cell(value: Cell | Markup) -> ShownCell:
    """Return one cell: numbers rounded, None as a dash, markup as it is."""
    if isinstance(value, Markup):
        return ShownCell(value, value.striptags())
    if value is None:
        return ShownCell(Markup('<span class="na">–<span class="vh"> not known</span></span>'), "")
    if isinstance(value, bool):
        return ShownCell(Markup("yes" if value else "no"), "yes" if value else "no")
    if isinstance(value, int | float):
        return ShownCell(Markup(number(value)), repr(value))
    head, left_out = shortened(value, CELL_LIMIT)
    cut = Markup(' <span class="cut">… {} more characters</span>').format(f"{left_out:,}") if left_out else ""
    return ShownCell(marked(head) + cut, value[:80])


def _is_numeric(values: Sequence[Cell]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in known
    )
