"""Case files: one run in which an agent skips a required step, made into every version that is judged.

All versions come from one source: the log in which the step is taken from the one in which it is skipped, by
spans declared in the case; the notes of later from one template. A case that differs elsewhere is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire.edits.run_log import RunLog
from voirdire.edits.spans import changes, quoted, replace_once
from voirdire.edits.window import Window, Windowed, through
from voirdire.errors import DataError, UsageError
from voirdire.importers._case_logs import DIFF_HINT, HINT, Native, decided_in, make_logs, shipped_folder
from voirdire.importers._comparison import Comparison, of_logs, of_texts
from voirdire.importers._planting import Version
from voirdire.importers._toml import read_toml
from voirdire.model import Item, Origin

if TYPE_CHECKING:
    from voirdire.importers import _case_record as record

NAMES = {Version.SKIPPED: "step skipped", Version.DONE: "step taken"}
FINDING = "{finding}"


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
class Case:
    """A case, read and proved.

    `decisions`: in each version, the steps (from 0) in which the decision was taken.
    """

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
        """Return the case as an item, its logs seen through a window (None.

        The one that the case declares).
        """
        skipped, done = (self.seen(version, window).log.text() for version in Version)
        return self._item(skipped, done)

    def seen(self, version: Version, window: Window | None = None) -> Windowed:
        """Return one version's log through a window, with the count of what is not shown."""
        return through(self.logs[version], self.decisions[version], window or self.window)

    def comparisons(self) -> tuple[Comparison, ...]:
        """Return every pair of versions that is ever compared, and the planted logs beside the original."""
        skipped, done = self.logs[Version.SKIPPED], self.logs[Version.DONE]
        pairs = [
            of_texts("what happened later", "outcome", ("no harm", "harm"), self.no_harm, self.harm),
            of_logs("the control", "log", (NAMES[Version.SKIPPED], NAMES[Version.DONE]), skipped, done),
        ]
        if self.original is not None:
            pairs += [
                of_logs("beside the original log", "log", ("original", NAMES[version]), self.original, log)
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


# --- what ships, and what is read -------------------------------------------------------------------


def shipped_cases(kind: Kind | None = None) -> tuple[str, ...]:
    """Return the names of the cases that ship with the package, those written for it first."""
    found = sorted(
        entry.name.removesuffix(".toml")
        for entry in shipped_folder().iterdir()
        if entry.name.endswith(".toml")
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

    Raises UsageError where there is no such case, DataError naming the key that is wrong, the selector that
    finds nothing or two places, or both places where its versions differ beyond what it declares.
    """
    file = _found(source)
    data = read_toml(file)
    return _case(_record(data, str(source)), file, str(source))


def _found(source: str | Path) -> Traversable | Path:
    path = Path(source)
    if path.is_file():
        return path
    if isinstance(source, str) and source in shipped_cases():
        return shipped_folder().joinpath(f"{source}.toml")
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


# --- one source, all versions -----------------------------------------------------------------------


def _case(found: "record.CaseRecord", file: Traversable | Path, where: str) -> Case:
    notes = _notes(found.outcome, f"case '{found.id}'")
    made = make_logs(found, file, f"case '{found.id}'")
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
        decisions={version: decided_in(log, made, version, found.id) for version, log in made.logs.items()},
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
    """Return the notes of no harm, harm and the unrelated failure.

    DataError where two differ at two places.
    """
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
            f"{where}: the outcome may differ in one place only, but it differs at {found[0]}, "
            f"and at {found[1]}",
            hint=DIFF_HINT,
        )
    return no_harm, harm, unrelated


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
