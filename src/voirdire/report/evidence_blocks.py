"""Markup for each kind of block that a finding can carry."""

from collections.abc import Mapping
from dataclasses import replace

from markupsafe import Markup

from voirdire.blocks import Block, Cell, DiffBlock, FigureBlock, QuoteBlock, TableBlock, TextBlock
from voirdire.model import Ruling
from voirdire.report.diff import difference
from voirdire.report.figures import ROW_LIMIT
from voirdire.report.paper import Paper
from voirdire.report.tables import shown_table

QUOTES_OPEN = 3
"""Quotes that stand open; the others are folded."""

QUOTE_LIMIT = 200
"""Quotes of one block that the page shows."""

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "intervals": ("label", "group", "value", "low", "high"),
    "bars": ("label", "group", "value"),
    "dots": ("panel", "group", "x"),
    "curve": ("group", "x", "y", "low", "high"),
    "panels": ("panel", "group", "x", "y", "low", "high"),
}


def block_markup(block: Block, paper: Paper) -> Markup:
    """Return the block as markup; all its texts are escaped."""
    match block:
        case TextBlock():
            return paper.macro("text_block", block)
        case TableBlock():
            return paper.table(shown_table(_with_badges(block, paper)))
        case DiffBlock():
            return paper.macro("diff", block, difference(block.base, block.variant))
        case QuoteBlock():
            return _quotes(block, paper)
        case FigureBlock():
            return figure_markup(block, paper)


def _with_badges(block: TableBlock, paper: Paper) -> TableBlock:
    """Return the table with a badge for each word of a ruling under the heading 'ruling'."""
    columns = [place for place, heading in enumerate(block.columns) if heading == "ruling"]
    badges = {ruling.value: paper.macro("badge", ruling) for ruling in Ruling} if columns else {}
    rows = [
        [badges.get(str(cell), cell) if place in columns else cell for place, cell in enumerate(row)]
        for row in block.rows
    ]
    return replace(block, rows=rows)


def figure_markup(block: FigureBlock, paper: Paper) -> Markup:
    """Return the figure with its table; the table alone, open, where the figure cannot be drawn."""
    drawing = paper.draftsman.block(block) if paper.draftsman else None
    table = paper.table(shown_table(figure_table(block)))
    drawable = block.kind in ("intervals", "bars")
    undrawn = max(0, len(block.rows) - ROW_LIMIT) if drawing and drawable else 0
    return paper.macro("figure", block.title, block.caption, drawing, table, undrawn)


def figure_table(block: FigureBlock) -> TableBlock:
    """Return a figure's rows as a table: the columns of its kind that hold anything, then all others."""
    keys = {key for row in block.rows for key, value in row.items() if value is not None}
    first = [key for key in _COLUMNS.get(block.kind, ()) if key in keys]
    columns = [*first, *sorted(keys - set(first))]
    rows: list[list[Cell]] = [[row.get(key) for key in columns] for row in block.rows]
    return TableBlock(f"{block.title}: the numbers", [_heading(key, block) for key in columns], rows)


def _heading(key: str, block: FigureBlock) -> str:
    title = {"x": "x_title", "value": "x_title", "y": "y_title"}.get(key)
    return str(block.options.get(title) or key) if title else key


def _quotes(block: QuoteBlock, paper: Paper) -> Markup:
    shown = block.quotes[:QUOTE_LIMIT]
    left_out = len(block.quotes) - len(shown)
    return paper.macro("quotes", block, shown[:QUOTES_OPEN], shown[QUOTES_OPEN:], left_out)
