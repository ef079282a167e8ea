"""Case files: one run in which an agent skips a required step, made into every version that the outcome probe needs.

All versions come from one source: the log in which the step is taken from the one in which it is skipped, by spans
declared in the case; the notes of later from one template. A case that differs elsewhere is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from enum import StrEnum
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire.edits.run_log import Actor, LogStep, Passage, Place, RunLog, arguments_text, show
from voirdire.edits.spans import Change, changes, changes_by_unit, quoted, replace_once
from voirdire.edits.window import Window, Windowed, through
from voirdire.errors import DataError, UsageError
from voirdire.importers import _planting as planting
from voirdire.importers._files import unpacked
from voirdire.importers._planting import NativeSpan, Plant, PlantKind, Version
from voirdire.importers._session import lines_again, raw_text
from voirdire.importers._toml import read_toml
from voirdire.importers.atif import from_text, log_of
from voirdire.importers.atif import sniff as is_atif
from voirdire.importers.claude_code import session_of, session_of_lines
from voirdire.model import Item, Origin

if TYPE_CHECKING:
    from voirdire.importers import _case_record as record

DECISION, REPORT = "decision", "report"
NAMES = {Version.SKIPPED: "step skipped", Version.DONE: "step taken"}
FINDING = "{finding}"
HINT = "`voirdire init` writes a commented case; the schema is published with the package"
DIFF_HINT = "make both versions from one source: one span that differs, all else the same"


class Kind(StrEnum):
    """Where a case's log comes from."""

    WRITTEN = "written"
    RECORDED = "recorded"


@dataclass(frozen=True)
class RequiredStep:
    """The step that was required, and the words of the log that say so."""

    what: str
    required: str
    why: str
    no_hurry: str
    traces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """Two versions of one part, and every place where they differ."""

    title: str
    part: str
    base_name: str
    variant_name: str
    base: str
    variant: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Native:
    """The native file behind a planted case: the original, and each version with its declared spans."""

    original: bytes
    versions: dict[Version, bytes]
    spans: dict[Version, tuple[NativeSpan, ...]]


@dataclass(frozen=True)
class Case:
    """A case, read and proved. `decisions`: in each version, the steps (from 0) in which the decision was taken."""

    id: str
    title: str
    kind: Kind
    step: RequiredStep
    logs: dict[Version, RunLog]
    decisions: dict[Version, tuple[int, ...]]
    no_harm: str
    harm: str
    unrelated: str
    origin: Origin
    window: Window = field(default_factory=Window)
    rule: tuple[str, str] | None = None
    original: RunLog | None = None
    native: Native | None = None
    path: str = ""

    def item(self) -> Item:
        """Return the case as an item, its logs whole."""
        return self._item(self.logs[Version.SKIPPED].text(), self.logs[Version.DONE].text())

    def windowed(self, window: Window | None = None) -> Item:
        """Return the case as an item, its logs seen through a window (None: the one that the case declares)."""
        skipped, done = (self.seen(version, window).log.text() for version in Version)
        return self._item(skipped, done)

    def seen(self, version: Version, window: Window | None = None) -> Windowed:
        """Return one version's log through a window, with the count of what is not shown."""
        return through(self.logs[version], self.decisions[version], window or self.window)

    def comparisons(self) -> tuple[Comparison, ...]:
        """Return every pair of versions that is ever compared, and the planted logs beside the original."""
        skipped, done = self.logs[Version.SKIPPED], self.logs[Version.DONE]
        pairs = [
            _of_texts("what happened later", "outcome", ("no harm", "harm"), self.no_harm, self.harm),
            _of_logs("the control", "log", (NAMES[Version.SKIPPED], NAMES[Version.DONE]), skipped, done),
        ]
        if self.original is not None:
            pairs += [
                _of_logs(
                    "beside the original log", "log", ("original", f"step {version}"), self.original, log
                )
                for version, log in self.logs.items()
            ]
        return tuple(pairs)

    def _item(self, log: str, log_done: str) -> Item:
        parts = {
            "log": log,
            "log_done": log_done,
            "outcome": self.no_harm,
            "outcome_harm": self.harm,
            "outcome_unrelated": self.unrelated,
            "task": f"{self.step.required} {self.step.why} {self.step.no_hurry}",
        }
        if self.rule is not None:
            parts["rule"] = self.rule[0]
        return Item(id=self.id, parts=parts, origin=self.origin)


def _of_texts(title: str, part: str, names: tuple[str, str], base: str, variant: str) -> Comparison:
    return Comparison(title, part, *names, base, variant, changes(base, variant))


def _of_logs(title: str, part: str, names: tuple[str, str], base: RunLog, variant: RunLog) -> Comparison:
    found = changes_by_unit(_units(base), _units(variant))
    return Comparison(title, part, *names, base.text(), variant.text(), found)


def _units(log: RunLog) -> list[str]:
    """Return the log's text as one unit per line of every passage, the empty line between two with the first."""
    shown = [show(passage) for passage in log.passages()]
    return [f"{passage}\n\n" for passage in shown[:-1]] + shown[-1:]


# --- what ships, and what is read -------------------------------------------------------------------


def shipped_cases(kind: Kind | None = None) -> tuple[str, ...]:
    """Return the names of the cases that ship with the package, those written for it first."""
    found = sorted(
        entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml")
    )
    written = [name for name in found if not name.startswith(Kind.RECORDED)]
    recorded = [name for name in found if name.startswith(Kind.RECORDED)]
    return tuple({Kind.WRITTEN: written, Kind.RECORDED: recorded, None: written + recorded}[kind])


def short_cases() -> tuple[str, ...]:
    """Return the names of the shipped cases that were written for it: short enough for any judge."""
    return shipped_cases(Kind.WRITTEN)


def sniff(head: str) -> bool:
    """Whether a file that begins with this text is a case file."""
    return 'schema = "voirdire.case/' in head


def read_items(path: Path) -> list[Item]:
    """Return the case as one item."""
    return [read_case(path).item()]


def read_case(source: str | Path) -> Case:
    """Read a case: a path, or the name of one that ships with the package.

    Raises UsageError where there is no such case, DataError naming the key that is wrong, the selector that finds
    nothing or two places, or both places where its versions differ beyond what it declares.
    """
    file = _found(source)
    data = read_toml(file)
    return _case(_record(data, str(source)), file, str(source))


def _folder() -> Traversable:
    return files("voirdire").joinpath("data", "cases")


def _found(source: str | Path) -> Traversable | Path:
    path = Path(source)
    if path.is_file():
        return path
    if isinstance(source, str) and source in shipped_cases():
        return _folder().joinpath(f"{source}.toml")
    raise UsageError(
        f"there is no case '{source}'", hint=f"give a case file, or one of: {', '.join(shipped_cases())}"
    )


def _record(data: object, where: str) -> "record.CaseRecord":
    from pydantic import ValidationError

    from voirdire.importers import _case_record
    from voirdire.importers._faults import explained

    try:
        return _case_record.CaseRecord.model_validate(data)
    except ValidationError as error:
        raise explained(error, where=where, hint=HINT) from None


def _beside(file: Traversable | Path, name: str, where: str) -> bytes:
    """Return the bytes, unpacked, of a log beside the case file."""
    found = file.parent / name if isinstance(file, Path) else _folder().joinpath(name)
    try:
        return unpacked(found.read_bytes(), where=name)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise DataError(
            f"{where}: there is no log '{name}' beside it", hint="give a path from the case file"
        ) from None


# --- one source, all versions -----------------------------------------------------------------------


def _case(found: "record.CaseRecord", file: Traversable | Path, where: str) -> Case:
    notes = _notes(found.outcome, f"case '{found.id}'")
    made = _made(found, file, f"case '{found.id}'")
    case = Case(
        id=found.id,
        title=found.title,
        kind=Kind.RECORDED if found.log.file else Kind.WRITTEN,
        step=RequiredStep(
            found.step.what,
            found.step.required,
            found.step.why,
            found.step.no_hurry,
            tuple(found.step.traces),
        ),
        logs=made.logs,
        decisions={version: _decided(log, made, version, found.id) for version, log in made.logs.items()},
        no_harm=notes[0],
        harm=notes[1],
        unrelated=notes[2],
        origin=Origin(task=found.id, author=found.agent.model, harness=found.agent.harness),
        window=Window(found.window.before, found.window.after, found.window.characters),
        rule=(found.rule.question, found.rule.negated) if found.rule else None,
        original=made.original,
        native=made.native,
        path=where,
    )
    _prove(case)
    return case


def _notes(outcome: "record.OutcomeRecord", where: str) -> tuple[str, str, str]:
    """Return the notes of no harm, harm and the unrelated failure; DataError where two differ at two places."""
    findings = (outcome.no_harm, outcome.harm, outcome.unrelated)
    if outcome.note is not None:
        notes = [replace_once(outcome.note, FINDING, finding, where=where) for finding in findings]
    else:
        notes = list(findings)
    no_harm, harm, unrelated = notes
    found = changes(no_harm, harm)
    if not found:
        raise DataError(f"{where}: the notes of no harm and of harm are the same", hint=DIFF_HINT)
    if len(found) > 1 and outcome.note is None:
        raise DataError(
            f"{where}: the outcome may differ in one place only, but it differs at {found[0]}, and at {found[1]}",
            hint=DIFF_HINT,
        )
    return no_harm, harm, unrelated


@dataclass(frozen=True)
class _Made:
    """Both logs, how the decision's steps are known in each, and for a planted case the original."""

    logs: dict[Version, RunLog]
    decision_lines: dict[Version, frozenset[str]]
    original: RunLog | None = None
    native: Native | None = None


def _made(found: "record.CaseRecord", file: Traversable | Path, where: str) -> _Made:
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


def _made_of_written(found: "record.CaseRecord", where: str) -> _Made:
    """Make the control's log from the one written in the case, by [[control.instead]]."""
    skipped = _written_text(found.log.text) if found.log.text else _written_steps(found.log.step or [])
    for name in (DECISION, REPORT):
        if not any(instead.of == name for instead in found.control.instead):
            raise DataError(f"{where}: [[control.instead]] says nothing of '{name}'", hint=HINT)
    done = skipped
    for instead in found.control.instead:
        done = _with_instead(done, instead, whole=found.log.text is not None, where=where)
    return _Made(
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
            f"{where}: [[control.instead]] of '{instead.of}', but {len(places)} steps of the log have that name",
            hint="name one step so",
        )
    if instead.find is not None:
        at = f"{where}, instead of '{instead.of}'"
        return planting.replaced_in(log, name, instead.find, instead.text or "", where=at)
    if whole:
        raise DataError(f"{where}: a log of plain text is changed by `find` and `text`", hint=HINT)
    put = [replace(step, name=name) for step in _written_steps(instead.steps or [], "/control/instead").steps]
    return replace(log, steps=(*log.steps[: places[0]], *put, *log.steps[places[0] + 1 :]))


def _made_by_planting(found: "record.CaseRecord", data: bytes, where: str) -> _Made:
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
    return _Made(
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


def _made_of_two(data: bytes, control: bytes, where: str) -> _Made:
    """Take two recorded logs, which may differ in what the agent did at the decision and in the report alone."""
    skipped, done = (_log_in(one, where) for one in (data, control))
    found = _of_logs("", "log", ("", ""), skipped, done).changes
    if not found:
        raise DataError(
            f"{where}: both logs are the same", hint="the agent takes the step in the control's log"
        )
    foreign = _foreign_step(skipped, done)
    if len(found) > 2 or foreign is not None:
        said = "; ".join(str(change) for change in found[:4])
        whose = f" and in a step of the {foreign}" if foreign is not None else ""
        raise DataError(
            f"{where}: the two logs may differ in the agent's decision and report only, but they differ at "
            f"{len(found)} places{whose}: {said}",
            hint=DIFF_HINT,
        )
    return _Made(
        logs={Version.SKIPPED: skipped, Version.DONE: done},
        decision_lines={version: frozenset() for version in Version},
    )


def _foreign_step(base: RunLog, variant: RunLog) -> Actor | None:
    """Return who said something in one log that stands not so in the other, the agent excepted."""
    left, right = ([tuple(_said(step)) for step in log.steps] for log in (base, variant))
    for _, i1, i2, j1, j2 in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if left[i1:i2] != right[j1:j2]:
            for step in (*base.steps[i1:i2], *variant.steps[j1:j2]):
                if step.source is not Actor.AGENT:
                    return step.source
    return None


def _log_in(data: bytes, where: str) -> RunLog:
    text = data.decode("utf-8-sig", "surrogateescape")
    if is_atif(text[:4096]):
        return log_of(from_text(text, where=where))
    return session_of(data, where=where).log


def _decided(log: RunLog, made: _Made, version: Version, case_id: str) -> tuple[int, ...]:
    """Return the steps of the decision: those so named, those that hold a planted line, or the first that differs."""
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


# --- proofs -----------------------------------------------------------------------------------------


def _prove(case: Case) -> None:
    """Raise DataError where the log does not hold what the case says of it."""
    where = f"case '{case.id}'"
    skipped, done = case.logs[Version.SKIPPED].text(), case.logs[Version.DONE].text()
    if skipped == done:
        raise DataError(f"{where}: the agent does the same in both logs", hint="the control takes the step")
    before = _text_before(case)
    for name, words in (
        ("required", case.step.required),
        ("why", case.step.why),
        ("no_hurry", case.step.no_hurry),
    ):
        if not _holds_words(before, words):
            raise DataError(
                f"{where}: step/{name}: the log does not say {quoted(words)} before the decision",
                hint="quote the log's own words",
            )
    for note in (case.no_harm, case.harm, case.unrelated):
        if note in skipped or note in done:
            raise DataError(
                f"{where}: the log holds the note {quoted(note)}", hint="the agent never saw the note"
            )
    _prove_traces(case, skipped, done, where)


def _text_before(case: Case) -> list[str]:
    """Return what was said before the decision; in a log of plain text, all of it."""
    log = case.logs[Version.SKIPPED]
    last = case.decisions[Version.SKIPPED][0]
    steps = log.steps[:last] if len(log.steps) > 1 else log.steps
    return [passage.text for step in steps for passage in step.passages]


def _holds_words(said: Sequence[str], words: str) -> bool:
    return any(words in text for text in said)


def _prove_traces(case: Case, skipped: str, done: str, where: str) -> None:
    for trace in case.step.traces:
        shown = "\n".join(passage.text for passage in case.logs[Version.DONE].passages())
        if trace not in shown and trace not in done and not _in_original(case, trace):
            raise DataError(
                f"{where}: step/traces: {quoted(trace)} stands nowhere in the log in which the step is taken",
                hint="quote what that log shows of the step",
            )
        if trace in skipped:
            raise DataError(
                f"{where}: the step was to be skipped, but the log still shows it: {quoted(trace)}",
                hint="take it out of the log",
            )


def _in_original(case: Case, trace: str) -> bool:
    return case.original is not None and any(trace in passage.text for passage in case.original.passages())
