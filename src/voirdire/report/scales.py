"""The axis on which something is drawn: a line and its margin with room beyond them, or a question's own range."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from voirdire.blocks import Block, FigureBlock
from voirdire.lines import Line
from voirdire.model import Identity
from voirdire.report.figures import Axis, Row
from voirdire.report.visible import one_line

EDGE = 0.04
"""What an axis adds at each end of a question's range, as a share of it, so that marks at the ends are whole."""


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


def question_ranges(identity: Identity) -> Mapping[str, tuple[float, float]]:
    """Return the ends of the scale of every question that a judge answers with a number, by the question's id."""
    questions = identity.fields.get("questions")
    listed = questions if isinstance(questions, list | tuple) else ()
    ranges = {}
    for question in listed:
        if not isinstance(question, Mapping) or question.get("kind") == "choice":
            continue
        low, high = question.get("low", 0), question.get("high", 1)
        if isinstance(low, int | float) and isinstance(high, int | float) and low < high:
            ranges[str(question.get("id"))] = (float(low), float(high))
    return ranges


def on_own_range(block: Block, ranges: Mapping[str, tuple[float, float]]) -> Block:
    """Return a figure of scores on the range of the questions that its panels name; any other block as it is."""
    if not isinstance(block, FigureBlock) or block.kind != "dots" or "domain" in block.options:
        return block
    panels = {str(row.get("panel")) for row in block.rows}
    if not panels or not panels <= ranges.keys():
        return block
    low = min(ranges[panel][0] for panel in panels)
    high = max(ranges[panel][1] for panel in panels)
    room = EDGE * (high - low)
    return replace(block, options={**block.options, "domain": [low - room, high + room]})


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
