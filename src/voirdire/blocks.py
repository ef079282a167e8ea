"""What a finding can show beside its numbers: a few kinds of evidence, as plain data.

A probe, an audit or a study attaches blocks to its findings. The report draws each kind in one way, so
whoever adds a probe needs no new page section.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Cell = str | float | int | bool | None


@dataclass(frozen=True)
class TextBlock:
    """A short paragraph. Plain text: shown escaped, never as markup."""

    text: str
    title: str = ""


@dataclass(frozen=True)
class TableBlock:
    """A sortable table: `columns` are headings, each row has one cell per column (None: not known)."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class DiffBlock:
    """Two texts and their unified diff, as shown to the judge; unchanged stretches are folded by the page."""

    title: str
    base: str
    variant: str
    base_name: str = "base"
    variant_name: str = "variant"


@dataclass(frozen=True)
class QuoteBlock:
    """Verbatim answers of a judge (untrusted text), each with a label such as 'case support, harm, repeat 3'."""

    title: str
    quotes: Sequence[tuple[str, str]]
    note: str = ""


@dataclass(frozen=True)
class FigureBlock:
    """A figure as data. `kind` names the drawing; `rows` are its data points.

    Kinds and the keys of their rows:
    `intervals`  label, value, low, high, [group]: points with horizontal intervals; `options` may hold
                 `lines` (positions of vertical rules), `x_title`, `domain` ([low, high]).
    `bars`       label, value, [group]: horizontal bars; `options`: `x_title`, `domain`.
    `dots`       x, group, [panel]: single scores as a strip plot, one row per group; `options`: `x_title`.
    `curve`      x, y, [low, high], group: lines with bands; `options`: `x_title`, `y_title`, `log_x`, `log_y`,
                 `x_ticks` and `y_ticks` (lists of places).
    `panels`     panel, x, y, [low, high], group: curves side by side; `options`: `panels`, a list of what a `curve`
                 has as options, each with its `name`.
    """

    title: str
    kind: str
    rows: Sequence[Mapping[str, Cell]]
    options: Mapping[str, object] = field(default_factory=dict)
    caption: str = ""


Block = TextBlock | TableBlock | DiffBlock | QuoteBlock | FigureBlock
