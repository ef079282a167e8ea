"""The two logs of a case from one source: one in which the step is skipped, one in which it is taken.

The source is a log written in the case, a recorded session into which the tool plants, or two recorded logs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire.edits.run_log import Actor, LogStep, Passage, Place, RunLog, arguments_text, show
from voirdire.edits.spans import position, quoted
from voirdire.errors import DataError
from voirdire.importers import _planting as planting
from voirdire.importers._comparison import of_logs
from voirdire.importers._files import unpacked
from voirdire.importers._planting import NativeSpan, Plant, PlantKind, Version
from voirdire.importers._session import lines_again, raw_text
from voirdire.importers.atif import from_text, log_of
from voirdire.importers.atif import sniff as is_atif
from voirdire.importers.claude_code import session_of, session_of_lines

if TYPE_CHECKING:
    from voirdire.importers import _case_record as record

DECISION, REPORT = "decision", "report"
HINT = "`voirdire init` writes a commented case; the schema is published with the package"
DIFF_HINT = "make both versions from one source: one span that differs, all else the same"


def shipped_folder() -> Traversable:
    """Return the folder of the cases that ship with the package."""
    return files("voirdire").joinpath("data", "cases")


@dataclass(frozen=True)
class Native:
    """The native file behind a planted case: the original, and each version with its declared spans."""

    original: bytes
    versions: dict[Version, bytes]
    spans: dict[Version, tuple[NativeSpan, ...]]


@dataclass(frozen=True)
class Made:
    """Both logs, how the decision's steps are known in each, and for a planted case the original."""

    logs: dict[Version, RunLog]
    decision_lines: dict[Version, frozenset[str]]
    original: RunLog | None = None
    native: Native | None = None


def make_logs(found: "record.CaseRecord", file: Traversable | Path, where: str) -> Made:
    """Return both logs of a case.

    DataError where they cannot be made, or differ beyond what the case declares.
    """
    if found.log.file is None:
        return _made_of_written(found, where)
    data = _beside(file, found.log.file, where)
    if found.control.file is not None:
        return _made_of_two(data, _beside(file, found.control.file, where), where)
    if is_atif(data[:4096].decode("utf-8", "replace")):
        raise DataError(
            f"{where}: plants go into Claude Code sessions, and '{found.log.file}' is an ATIF file",
            hint="give the native session, or a second ATIF file under [control]",
        )
    return _made_by_planting(found, data, where)


def _made_of_written(found: "record.CaseRecord", where: str) -> Made:
    """Make the control's log from the one written in the case, by [[control.instead]]."""
    skipped = _written_text(found.log.text) if found.log.text else _written_steps(found.log.step or [])
    for name in (DECISION, REPORT):
        if not any(instead.of == name for instead in found.control.instead):
            raise DataError(f"{where}: [[control.instead]] says nothing of '{name}'", hint=HINT)
    done = skipped
    for instead in found.control.instead:
        done = _with_instead(done, instead, whole=found.log.text is not None, where=where)
    return Made(
        logs={Version.SKIPPED: skipped, Version.DONE: done},
        decision_lines={version: frozenset({DECISION}) for version in Version},
    )


def _written_text(text: str) -> RunLog:
    passage = Passage("", text.strip("\n"), Place(1, "/log/text"))
    return RunLog((LogStep(Actor.AGENT, (passage,), name=DECISION),))


def _written_steps(steps: "Sequence[record.StepRecord]", at: str = "/log/step") -> RunLog:
    return RunLog(tuple(_written_step(step, f"{at}/{number}") for number, step in enumerate(steps)))


def _written_step(step: "record.StepRecord", at: str) -> LogStep:
    passages = []
    if step.reasoning:
        passages.append(Passage(f"{step.source} thinks", step.reasoning, Place(1, f"{at}/reasoning")))
    if step.message:
        passages.append(Passage(step.source, step.message, Place(1, f"{at}/message")))
    for number, call in enumerate(step.calls):
        place = Place(1, f"{at}/calls/{number}")
        passages.append(Passage(f"agent calls {call.tool}", arguments_text(call.arguments), place))
        verb = "fails" if call.failed else "returns"
        passages.append(Passage(f"{call.tool} {verb}", call.result or "(no output)", place))
    return LogStep(Actor(step.source), tuple(passages), name=step.name)


def _with_instead(log: RunLog, instead: "record.InsteadRecord", *, whole: bool, where: str) -> RunLog:
    name = DECISION if whole else instead.of
    places = [number for number, step in enumerate(log.steps) if step.name == name]
    if len(places) != 1:
        raise DataError(
            f"{where}: [[control.instead]] of '{instead.of}', "
            f"but {len(places)} steps of the log have that name",
            hint="name one step so",
        )
    if instead.find is not None:
        at = f"{where}, instead of '{instead.of}'"
        return planting.replaced_in(log, name, instead.find, instead.text or "", where=at)
    if whole:
        raise DataError(f"{where}: a log of plain text is changed by `find` and `text`", hint=HINT)
    put = [replace(step, name=name) for step in _written_steps(instead.steps or [], "/control/instead").steps]
    return replace(log, steps=(*log.steps[: places[0]], *put, *log.steps[places[0] + 1 :]))


def _made_by_planting(found: "record.CaseRecord", data: bytes, where: str) -> Made:
    """Make both versions of a native session by the plants that the case declares, and prove each."""
    original = session_of(data, where=where)
    plants = [_plant(one) for one in found.plant]
    _require_names(plants, where)
    logs: dict[Version, RunLog] = {}
    natives: dict[Version, bytes] = {}
    spans: dict[Version, tuple[NativeSpan, ...]] = {}
    for version in Version:
        planted = planting.plant(original.lines, plants, version, where=where)
        natives[version] = raw_text(planted.lines)
        at = f"{where}, step {version}"
        session = session_of_lines(lines_again(planted.lines, original.lines), where=at)
        planting.prove_only_spans_differ(original.log, session.log, planted.spans, where=at)
        if version is Version.SKIPPED:
            planting.refuse_traces(session.lines, found.step.traces, where=at)
        logs[version], spans[version] = session.log, planted.spans
    return Made(
        logs=logs,
        decision_lines={version: _lines_of_decision(spans, version) for version in Version},
        original=original.log,
        native=Native(data, natives, spans),
    )


def _plant(one: "record.PlantRecord") -> Plant:
    kind = (
        PlantKind.REMOVE if one.until is not None else PlantKind.INSERT if one.insert else PlantKind.REPLACE
    )
    return Plant(
        name=one.name,
        kind=kind,
        versions=tuple(Version(version) for version in one.versions),
        line=one.line,
        until=one.until if one.until is not None else "",
        pointer=one.pointer,
        find=one.find,
        text=one.text or "",
        source=Actor(one.insert or Actor.AGENT),
    )


def _require_names(plants: Sequence[Plant], where: str) -> None:
    for name in (DECISION, REPORT):
        if not any(one.name == name and Version.SKIPPED in one.versions for one in plants):
            raise DataError(f"{where}: no [[plant]] of the skipped version is named '{name}'", hint=HINT)


def _lines_of_decision(spans: dict[Version, tuple[NativeSpan, ...]], version: Version) -> frozenset[str]:
    """Return the ids of the lines, in one version, that a plant named 'decision' touches in either."""
    made = [span for all_spans in spans.values() for span in all_spans if span.plant == DECISION]
    touched = {span.uuid for span in made if span.deed is not planting.Deed.RELINKED}
    if version is Version.DONE:
        return frozenset(touched)
    removed = {span.uuid for span in spans[Version.SKIPPED] if span.deed is planting.Deed.REMOVED}
    return frozenset(touched - removed)


def _made_of_two(data: bytes, control: bytes, where: str) -> Made:
    """Take two recorded logs, which may differ in the agent's decision and report alone."""
    skipped, done = (_log_in(one, where) for one in (data, control))
    found = of_logs("", "log", ("", ""), skipped, done).changes
    if not found:
        raise DataError(
            f"{where}: both logs are the same", hint="the agent takes the step in the control's log"
        )
    foreign = _foreign_step(skipped, done)
    if len(found) > 2 or foreign:
        said = foreign or "; ".join(str(change) for change in found[:4])
        raise DataError(
            f"{where}: the two logs may differ in the agent's decision and report only, "
            f"but they differ at {said}",
            hint=DIFF_HINT,
        )
    return Made(
        logs={Version.SKIPPED: skipped, Version.DONE: done},
        decision_lines={version: frozenset() for version in Version},
    )


def _foreign_step(base: RunLog, variant: RunLog) -> str:
    """Return where in both logs a step differs that is not the agent's, or ''."""
    left, right = ([tuple(_said(step)) for step in log.steps] for log in (base, variant))
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        places = (_not_the_agents(base, i1, i2), _not_the_agents(variant, j1, j2))
        if tag != "equal" and any(places):
            return " / ".join(place or "no such step" for place in places)
    return ""


def _not_the_agents(log: RunLog, start: int, end: int) -> str:
    """Return the place of the first step from `start` to before `end` that is not the agent's, and its words.

    Or ''.
    """
    text = log.text()
    for one in log.placed():
        step = log.steps[one.step - 1]
        if start < one.step <= end and step.source is not Actor.AGENT:
            return f"{position(text, one.start)}: {quoted(show(one.passage))}"
    return ""


def _log_in(data: bytes, where: str) -> RunLog:
    text = data.decode("utf-8-sig", "surrogateescape")
    if is_atif(text[:4096]):
        return log_of(from_text(text, where=where))
    return session_of(data, where=where).log


def decided_in(log: RunLog, made: Made, version: Version, case_id: str) -> tuple[int, ...]:
    """Return the steps of the decision.

    Those so named, those that hold a planted line, or the first that differs.
    """
    lines = made.decision_lines[version]
    found = [number for number, step in enumerate(log.steps) if _holds(step, lines)]
    if not found:
        found = [_first_difference(made.logs)]
    if found[0] >= len(log.steps):
        raise DataError(f"case '{case_id}': its log ends before the decision", hint=DIFF_HINT)
    return tuple(found)


def _holds(step: LogStep, lines: frozenset[str]) -> bool:
    return step.name in lines or any(
        one.place is not None and one.place.uuid in lines for one in step.passages
    )


def _first_difference(logs: dict[Version, RunLog]) -> int:
    pairs = zip(*(log.steps for log in logs.values()), strict=False)
    return next((number for number, (one, other) in enumerate(pairs) if _said(one) != _said(other)), 0)


def _said(step: LogStep) -> list[str]:
    return [show(passage) for passage in step.passages]


def _beside(file: Traversable | Path, name: str, where: str) -> bytes:
    """Return the bytes, unpacked, of a log beside the case file."""
    found = file.parent / name if isinstance(file, Path) else shipped_folder().joinpath(name)
    try:
        return unpacked(found.read_bytes(), where=name)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise DataError(
            f"{where}: there is no log '{name}' beside it", hint="give a path from the case file"
        ) from None
