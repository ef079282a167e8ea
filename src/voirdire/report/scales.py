"""The axis on which an estimate is drawn: its line, its margin, and enough room for what lies beyond them."""

import math
from collections.abc import Iterable, Sequence

from voirdire.lines import Line
from voirdire.report.figures import Axis, Row
from voirdire.report.visible import one_line


def axis_of(line: Line | None, rows: Sequence[Row], *, title: str = "") -> Axis:
    """Return the axis for rows measured against one line; without a line only room for the rows."""
    if line is None:
        return Axis(title=one_line(title, 140), domain=_room(_reached(rows)))
    ends = (line.null - line.leak, line.null + line.leak)
    band = (line.null - line.margin, line.null + line.margin) if line.margin is not None else None
    reached = [*_reached(rows), *ends, *(band or ())]
    is_share = line.quantity.startswith("P(") and min(reached) >= 0 and max(reached) <= 1
    domain = (0.0, 1.0) if is_share else _room(reached, around=line.null)
    return Axis(
        title=one_line(title or line.quantity, 140), domain=domain, null=line.null, lines=ends, band=band
    )


def _reached(rows: Sequence[Row]) -> list[float]:
    return [row[key] for row in rows for key in ("value", "low", "high") if row[key] is not None]


def _room(reached: Iterable[float], around: float | None = None) -> tuple[float, float]:
    """Return a domain that holds all that is reached, symmetric around a point where one is given."""
    values = list(reached)
    low, high = min(values), max(values)
    if around is not None:
        half = max(abs(high - around), abs(around - low))
        low, high = around - half, around + half
    room = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    step = 10.0 ** math.floor(math.log10(room))
    return math.floor((low - room) / step) * step, math.ceil((high + room) / step) * step
