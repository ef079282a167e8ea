"""Show in what the versions of a case differ, part by part; a case that differs elsewhere is refused."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import FINE, harmless
from voirdire.cli._options import AsJson

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.edits.spans import Change, Position
    from voirdire.importers._comparison import Comparison
    from voirdire.importers._planting import NativeSpan
    from voirdire.importers.cases import Case

CONTEXT = 2
LONGEST_CONTEXT = 160
"""Characters of a line that did not change; a changed line is shown whole."""


def command(
    case: Annotated[str, typer.Argument(metavar="CASE", help="A case file, or the name of a shipped case.")],
    as_json: AsJson = False,
) -> int:
    """Show that the versions of a case differ in the outcome alone, and its control in the agent's act alone.

    The tool makes all versions from one source. A planted case is also shown beside its original log. A case
    that differs elsewhere is refused with both places, and the exit code is 2.
    """
    from voirdire.importers.cases import read_case

    found = read_case(case)
    print(json.dumps(_data(found), indent=2) if as_json else harmless("\n".join(_lines(found))))
    return FINE


# --- for people -------------------------------------------------------------------------------------


def _lines(case: Case) -> Iterator[str]:
    yield f"case {case.id}: {case.title}"
    yield f"required step: {case.step.what}"
    for comparison in case.comparisons():
        yield from _comparison_lines(comparison)
    if case.native is not None:
        from voirdire.importers.cases import NAMES

        for version, spans in case.native.spans.items():
            yield ""
            yield f"== the native file, original and {NAMES[version]}: {_counted(len(_runs(spans)), 'span')}"
            yield from (f"   {line}" for line in _runs(spans))
            yield "   every other byte is the same"


def _comparison_lines(comparison: Comparison) -> Iterator[str]:
    names = f"{comparison.base_name} and {comparison.variant_name}"
    yield ""
    places = _counted(len(comparison.changes), "place")
    yield f"== {comparison.title}, {names}: part '{comparison.part}', {places}"
    yield from unified(comparison)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def unified(comparison: Comparison) -> list[str]:
    """Return the unified diff of a comparison, its unchanged lines cut where they are long."""
    lines = difflib.unified_diff(
        comparison.base.split("\n"),
        comparison.variant.split("\n"),
        fromfile=f"{comparison.part} ({comparison.base_name})",
        tofile=f"{comparison.part} ({comparison.variant_name})",
        n=CONTEXT,
        lineterm="",
    )
    return [_short(line) if line.startswith(" ") else line for line in lines]


def _short(line: str) -> str:
    return line if len(line) <= LONGEST_CONTEXT else f"{line[: LONGEST_CONTEXT - 1]}…"


def _runs(spans: tuple[NativeSpan, ...]) -> list[str]:
    """Return one line per span; lines removed in a row are one."""
    said: list[str] = []
    ordered = sorted(spans, key=lambda span: span.line)
    while ordered:
        first, *rest = ordered
        run = [first]
        while rest and first.deed == "removed" == rest[0].deed and rest[0].line == run[-1].line + 1:
            run.append(rest.pop(0))
        said.append(_span_line(run))
        ordered = rest
    return said


def _span_line(run: list[NativeSpan]) -> str:
    first, last = run[0], run[-1]
    where = f"line {first.line}" if first is last else f"lines {first.line} to {last.line}"
    pointer = f" {first.pointer}" if first.deed == "replaced" else ""
    behind = "behind " if first.deed == "inserted" else ""
    return f"{behind}{where}{pointer}: {first.deed} ({first.plant})"


# --- for programs -----------------------------------------------------------------------------------


def _data(case: Case) -> dict[str, object]:
    data: dict[str, object] = {
        "case": case.id,
        "title": case.title,
        "comparisons": [_comparison_data(one) for one in case.comparisons()],
    }
    if case.native is not None:
        data["native"] = {
            str(version): [_span_data(span) for span in spans] for version, spans in case.native.spans.items()
        }
    return data


def _comparison_data(comparison: Comparison) -> dict[str, object]:
    return {
        "title": comparison.title,
        "part": comparison.part,
        "base": comparison.base_name,
        "variant": comparison.variant_name,
        "changes": [_change_data(change) for change in comparison.changes],
        "diff": unified(comparison),
    }


def _change_data(change: Change) -> dict[str, object]:
    return {
        "base": change.base,
        "variant": change.variant,
        "base_at": _position_data(change.base_at),
        "variant_at": _position_data(change.variant_at),
    }


def _position_data(position: Position) -> dict[str, int]:
    return {"offset": position.offset, "line": position.line, "column": position.column}


def _span_data(span: NativeSpan) -> dict[str, object]:
    return {
        "deed": str(span.deed),
        "plant": span.plant,
        "line": span.line,
        "pointer": span.pointer,
        "old": [span.raw.start, span.raw.end] if span.raw else None,
        "new": span.raw.raw if span.raw else span.new_line or None,
    }
