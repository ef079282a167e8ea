"""The words of the house: what is judged, who judges, what came back and what we conclude.

Frozen dataclasses and a few enums; nothing here reads, asks or computes. Read this file first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from voirdire.blocks import Block
from voirdire.errors import DataError
from voirdire.lines import Line
from voirdire.questions import Question

if TYPE_CHECKING:
    import polars as pl


# --- what is judged ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Origin:
    """Where an item came from. Never shown to the judge. None: not known."""

    task: str | None = None
    author: str | None = None
    harness: str | None = None
    sample: int | None = None
    language: str | None = None


class TruthSource(StrEnum):
    """Who knows what is true beside the judge."""

    TESTS = "tests"
    HUMAN = "human"
    LABEL = "label"


class TruthStatus(StrEnum):
    """What happened when the truth was looked for."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    UNPARSABLE = "unparsable"
    NO_ENTRY_POINT = "no_entry_point"
    NOT_APPLIED = "not_applied"
    INFRASTRUCTURE = "infrastructure"
    NOT_RUN = "not_run"


@dataclass(frozen=True)
class TestGroup:
    """Tests of one group, such as FAIL_TO_PASS: how many passed of how many."""

    __test__ = False  # not a test class, whatever a test runner thinks of the name

    passed: int
    total: int


@dataclass(frozen=True)
class GroundTruth:
    """What is known beside the judge. `isolation`: the level the tests ran under; None: not run by us."""

    source: TruthSource
    status: TruthStatus
    groups: Mapping[str, TestGroup] = field(default_factory=dict)
    isolation: str | None = None
    label: str | None = None


@dataclass(frozen=True)
class Item:
    """One thing to be judged, as named parts of text. Parts a judge may not see are simply not in its prompt."""

    id: str
    parts: Mapping[str, str]
    origin: Origin | None = None
    truth: GroundTruth | None = None

    def __getitem__(self, part: str) -> str:
        try:
            return self.parts[part]
        except KeyError:
            raise DataError(
                f"item '{self.id}' has no part '{part}', only {sorted(self.parts)}",
                hint=f"add '{part}' to the item's parts",
            ) from None

    def with_part(self, part: str, text: str) -> Item:
        """Return a copy in which one part holds `text`."""
        return replace(self, parts={**self.parts, part: text})

    @property
    def digest(self) -> str:
        """Return 16 hexadecimal digits that tell these parts from any others."""
        text = canonical_json(self.parts)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True)
class Contrast:
    """A base and a variant of one item, differing in `part` and nowhere else.

    Raises DataError where they differ elsewhere too, naming both places, or do not differ at all.
    """

    base: Item
    variant: Item
    part: str

    def __post_init__(self) -> None:
        names = sorted({*self.base.parts, *self.variant.parts})
        differing = [name for name in names if self.base.parts.get(name) != self.variant.parts.get(name)]
        others = [name for name in differing if name != self.part]
        hint = f"make both versions with one edit of one part; `voirdire diff {self.base.id}` shows them"
        if others:
            also = " and ".join(f"'{name}'" for name in others)
            verb = "differs" if len(others) == 1 else "differ"
            raise DataError(
                f"item '{self.base.id}': only '{self.part}' may differ, but {also} {verb} too", hint=hint
            )
        if self.part not in differing:
            raise DataError(f"item '{self.base.id}': both versions have the same '{self.part}'", hint=hint)


# --- code that can be parsed and run -----------------------------------------------------------------


class TestStyle(StrEnum):
    """How the tests of a task reach the candidate."""

    __test__ = False  # not a test class either

    CHECK = "check"
    """Code that defines `check(candidate)`; the entry point is handed to it."""
    ASSERTS = "program"
    """Statements that call the entry point by its name, one test each."""
    UNITTEST = "unittest"
    """Code that defines `unittest.TestCase` classes and uses what the candidate defines."""
    STDIO = "streams"
    """A JSON list of [input, expected output]: the candidate is a program that reads and prints."""


@dataclass(frozen=True)
class CodeTask:
    """One programming task: what was asked, the tests that decide, and a reference solution to calibrate on.

    `prompt`: the text asked (for function tasks the code that a completion continues). `tests`: in the form that
    `style` names. `entry_point` None: nothing is called by name. `setup`: code run before candidate and tests.
    `reference`: a whole program; None: there is none, and the task cannot be calibrated. `fault`: what is wrong with it
    in its file; where that does not say `kept`, it cannot be scored.
    """

    id: str
    prompt: str
    tests: str
    style: TestStyle
    entry_point: str | None = None
    reference: str | None = None
    setup: str = ""
    language: str = "python"
    fault: FileFault | None = None


@dataclass(frozen=True)
class CodeSample:
    """One answer to a code task. `code` is the whole program, `text` what was written in the file, unchanged.

    `number`: its number among the samples of one system for one task, from 0. `truth`: what the file says came of
    it; None: it says nothing. `line`: where it stands in its file, from 1; 0: not by lines. `reading`: which part of
    the answer was taken for the code; '' where the file gives the code itself.
    """

    task: str
    number: int
    code: str
    text: str = ""
    system: str = ""
    language: str = "python"
    truth: GroundTruth | None = None
    line: int = 0
    reading: str = ""


class FileFaultKind(StrEnum):
    """What can be wrong with one entry of a file from outside."""

    NOT_READABLE = "not readable"
    """No JSON, or not of the shape that the format has."""
    CUT_OFF = "cut off"
    ENCODING = "not UTF-8"
    MISSING_ANSWER = "no answer"
    UNKNOWN_TASK = "unknown task"
    DUPLICATE = "duplicate"
    """The same sample of the same task again: a run that was resumed has written it twice."""
    SAME_TEXT = "same text as another sample"
    """Kept: a model may write the same program twice, and dropping one would bias Pass@k."""


@dataclass(frozen=True)
class FileFault:
    """One thing wrong in a file: where, what, and whether the entry was kept all the same."""

    where: str
    kind: FileFaultKind
    message: str
    kept: bool = False


@dataclass(frozen=True)
class SampleFile:
    """What a file of samples held: the samples that could be read, everything that was wrong, and the account.

    `entries`: how many the file holds, read or not. `without_samples`: tasks that were given and have none.
    """

    path: str
    samples: tuple[CodeSample, ...]
    faults: tuple[FileFault, ...]
    entries: int
    without_samples: tuple[str, ...] = ()

    @property
    def account(self) -> Mapping[str, int]:
        """Return how many entries there are, how many were read, and how many have each fault."""
        counts: dict[str, int] = {"entries": self.entries, "samples": len(self.samples)}
        for fault in self.faults:
            counts[fault.kind.value] = counts.get(fault.kind.value, 0) + 1
        if self.without_samples:
            counts["tasks without samples"] = len(self.without_samples)
        return counts


@dataclass(frozen=True)
class OutcomeFile:
    """Items with their truth, as someone else's harness left them, and everything that was wrong."""

    path: str
    items: tuple[Item, ...]
    faults: tuple[FileFault, ...]


# --- the experiment ---------------------------------------------------------------------------------


class Expectation(StrEnum):
    """What the variant's value should do, compared with the base's, for a judge without the fault."""

    INVARIANT = "invariant"
    HIGHER = "higher"
    LOWER = "lower"


Edit = Callable[[Item], Item]
Measure = Callable[["Verdict", Item], float | None]


def number_of(verdict: Verdict, item: Item) -> float | None:  # noqa: ARG001 - the shape of every Measure
    """Return a verdict's own number, or None where it has none: the default Measure."""
    return float(verdict.value) if isinstance(verdict.value, int | float) else None


@dataclass(frozen=True)
class Control:
    """A change that must move the verdict. `prepare` is applied to the item before, for base and variant alike."""

    part: str
    edit: Edit
    expect: Expectation
    line: Line
    prepare: Edit | None = None


class Unit(StrEnum):
    """What a ruling's n counts."""

    REPEAT = "repeat"
    CASE = "case"
    ITEM = "item"


@dataclass(frozen=True)
class Check:
    """Another question of the same answers that must move between base and variant, or `holds` is not said.

    It shows that the judge read what was changed: DAMAGE must rise when the outcome is harm.
    """

    question: str
    expect: Expectation
    line: Line
    measure: Measure = number_of


@dataclass(frozen=True)
class Side:
    """One version of one item with the answers it got: per repeat, one verdict per question."""

    item: Item
    answers: Sequence[Sequence[Verdict]]

    def on(self, question: str) -> list[Verdict]:
        """Return the verdicts on one question, in the order of the repeats."""
        return [verdict for answer in self.answers for verdict in answer if verdict.question_id == question]


@dataclass(frozen=True)
class Trial:
    """All four versions of one item with their answers."""

    item: Item
    base: Side
    variant: Side
    control_base: Side
    control_variant: Side


@dataclass(frozen=True)
class Probe:
    """A rule, one edit of one part, what a judge without the fault does, and a control that must move.

    `edit` makes the variant from the base; the base is the item itself, or `prepare(item)`. `question` names the
    question whose verdict is compared; `measure` turns that verdict into the number compared, in the unit of
    `line.quantity`. `reads`: parts that the judge's prompt must show for the probe to mean anything. `rule` is put
    to the judge as a yes-no question whose yes permits the shift, `rule_negated` as one whose no permits it.
    `unit` REPEAT gives a ruling per case from its repeats and one about the judge from the cases; ITEM gives one
    ruling from the items. `repeats`: how often each version is asked by default. `messages` and `questions` are
    what a judge without a prompt of its own is asked. `describe` may add blocks made from all trials. `needs`: further
    parts that its edits take from the item.
    """

    name: str
    rule: str
    rule_negated: str
    part: str
    edit: Edit
    expect: Expectation
    control: Control
    reads: tuple[str, ...]
    line: Line
    question: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]
    references: tuple[str, ...]
    prepare: Edit | None = None
    unit: Unit = Unit.ITEM
    measure: Measure = number_of
    check: Check | None = None
    repeats: int = 1
    describe: Callable[[Sequence[Trial]], tuple[Block, ...]] | None = None
    needs: tuple[str, ...] = ()

    def contrast(self, item: Item) -> Contrast:
        """Return the base and its edited version; DataError where they differ elsewhere too."""
        base = self.prepare(item) if self.prepare else item
        return Contrast(base=base, variant=self.edit(base), part=self.part)

    def control_contrast(self, item: Item) -> Contrast:
        """Return the control's two versions of the item."""
        base = self.control.prepare(item) if self.control.prepare else item
        return Contrast(base=base, variant=self.control.edit(base), part=self.control.part)


# --- the judge --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """One message of a prompt: `role` is system, user or assistant; `text` a template with {{parts}}."""

    role: str
    text: str


@dataclass(frozen=True)
class ReaderSpec:
    """Which reader turns an answer into values: a file name in `readers/`, and its options."""

    name: str
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Asking:
    """What a judge is asked and how its answer is read: prompt, questions, reader. Part of its identity.

    `about`: the fingerprint of the judge that is asked about itself in other words than its own, so that two judges
    of one model never share what they say of themselves; empty for every other question.
    """

    messages: tuple[Message, ...]
    questions: tuple[Question, ...]
    reader: ReaderSpec
    about: str = ""


@dataclass(frozen=True)
class JudgeSpec:
    """An address or a judge file, read but not opened. `asking` None: whoever opens it says what is asked.

    `backend` is a file name in `judges/`; `model` is what follows the colon; `sampling` goes to the model;
    `options` are the backend's own (base_url, context, prices, ...). `path` is the judge file, if any. `rules`: by
    probe, the plain and the negated wording in which this judge is asked its own rule, in place of the probe's.
    """

    name: str
    backend: str
    model: str
    asking: Asking | None = None
    sampling: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    remedies: tuple[Mapping[str, object], ...] = ()
    path: str | None = None
    rules: Mapping[str, tuple[str, str]] = field(default_factory=dict)


def canonical_json(data: object) -> str:
    """Return `data` as JSON with sorted keys and no spaces: one text per value, for hashing."""
    return _CANONICAL.encode(data)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in an identity")


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_plain)


@dataclass(frozen=True)
class Identity:
    """Who judges: everything that was requested, hashed. Two identities never share an answer.

    `fields` holds backend, model, endpoint, every prompt text, questions, reader, sampling parameters and
    remedies, as plain data. `name` is for people and is not hashed.
    """

    name: str
    fields: Mapping[str, object]

    @cached_property
    def fingerprint(self) -> str:
        """Return 64 hexadecimal digits: SHA-256 of the canonical JSON of `fields`."""
        return hashlib.sha256(canonical_json(self.fields).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Cost:
    """What one call may use at worst. `money` in US dollars; None: no price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    money: float | None = None


@dataclass(frozen=True)
class Request:
    """One rendered call about one item: canonical JSON of all that is sent, and its worst case.

    `expected` is what a call of this size usually uses, `worst` what it can use at most (every byte a token, the
    full output limit): the budget reserves the latter. `too_long`: the reason why it cannot be sent, else None.
    """

    item_id: str
    body: str
    expected: Cost = Cost()
    worst: Cost = Cost()
    too_long: str | None = None

    @cached_property
    def digest(self) -> str:
        """Return 64 hexadecimal digits: SHA-256 of the body."""
        return hashlib.sha256(self.body.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Usage:
    """Tokens as the server counted them; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True)
class Answer:
    """What came back for one request, unread.

    `raw` is the answer's text exactly as received. `missing_because` is set when there is none to read (refusal,
    truncated, ...). `failed`: the call never got an answer (timeout, server errors): asked again in the next run.
    `served`: the snapshot that the server says it used. `extra`: plain data worth keeping (request id, ...).
    """

    raw: str = ""
    missing_because: str | None = None
    failed: bool = False
    usage: Usage = Usage()
    money: float | None = None
    served: str | None = None
    seconds: float | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """One answer to one question: a value, or the reason why there is none.

    `value`: a number (Score: in its range; Predicate, Checklist: in [0, 1]) or an option's name (Choice).
    `probabilities`: by option, level ('0', '1', ...) or 'yes' and 'no', as received; `label_mass` the share of
    the model's probability that lay on these labels at all; `probability_source` names where they come from.
    """

    item_id: str
    question_id: str
    value: float | str | None
    raw: str = ""
    missing_because: str | None = None
    probabilities: Mapping[str, float] | None = None
    probability_source: str | None = None
    label_mass: float | None = None
    confidence: float | None = None
    repeat: int = 0
    served: str | None = None
    usage: Usage = Usage()
    money: float | None = None
    judge: str = ""


@dataclass(frozen=True)
class Reading:
    """What a reader made of one answer to one question: a value, or the reason why there is none."""

    value: float | str | None
    missing_because: str | None = None
    probabilities: Mapping[str, float] | None = None
    probability_source: str | None = None
    label_mass: float | None = None


class Pace(Protocol):
    """How fast a judge may be asked. A backend hands over each single attempt and owns no limit itself."""

    async def send(self, attempt: Callable[[], Awaitable[Answer]]) -> Answer:
        """Run `attempt` when there is room; again where it raises TryAgain and that may heal."""
        ...


class Judge(Protocol):
    """Anything that can be asked about an item."""

    @property
    def identity(self) -> Identity:
        """Who answers: hashed into every ledger key."""
        ...

    @property
    def asking(self) -> Asking:
        """What it is asked."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether its settings promise the same answer to the same request."""
        ...

    @property
    def rules(self) -> Mapping[str, tuple[str, str]]:
        """Its own wordings of a probe's rule question, plain and negated, by the probe's name."""
        ...

    def reasking(self, asking: Asking, *, name: str = "") -> Judge:
        """Return the same backend and model, asked something else: another identity."""
        ...

    def render(self, item: Item) -> Request:
        """Return the call for this item; UsageError where the prompt names a part the item lacks."""
        ...

    async def ask(self, request: Request, *, repeat: int, pace: Pace) -> Answer:
        """Send one request. Raises QuotaError or JudgeError where no further call can be answered."""
        ...

    def read(self, request: Request, answer: Answer, *, repeat: int) -> tuple[Verdict, ...]:
        """Return one verdict per question, in the order of the questions. Pure."""
        ...

    async def close(self) -> None:
        """Free what is held: connections, processes, a loaded model."""
        ...


# --- what we conclude -------------------------------------------------------------------------------


def one_of(unit: str) -> str:
    """Return a unit as one of them is called: 'case' of 'cases', 'repeat of each version' of 'repeats of each version'."""
    noun, gap, rest = unit.partition(" ")
    return f"{noun.removesuffix('s')}{gap}{rest}"


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, its n and its method.

    `low`, `high`: interval at `level`; None where none can be given (`note` says why) or none is needed
    (`exact`: known without sampling error). `inner_low`, `inner_high`: the 90 % interval that equivalence uses.
    `p_value`: two-sided test of no shift. `missing` and `asked`: answers by arm. `bounds`: the value with all
    missing answers at their worst and at their best. What two examinations are compared by: `by_unit`, the value of
    each item or case (None: it could not be read), `read_by_unit`, the share of its answers that could be read, and of a
    single case `by_arm`, the scores of each version; empty where they are not known.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int = 0
    unit: str = ""
    method: str = ""
    inner_low: float | None = None
    inner_high: float | None = None
    p_value: float | None = None
    missing: Mapping[str, int] = field(default_factory=dict)
    asked: Mapping[str, int] = field(default_factory=dict)
    bounds: tuple[float, float] | None = None
    exact: bool = False
    note: str = ""
    by_unit: Mapping[str, float | None] = field(default_factory=dict)
    read_by_unit: Mapping[str, float] = field(default_factory=dict)
    by_arm: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def counted(self) -> str:
        """Return n with its unit in the right number: '1 case', '3 cases'; n alone where the unit is ''."""
        noun, gap, rest = one_of(self.unit).partition(" ")
        return f"{self.n:,} {noun if self.n == 1 else noun + 's'}{gap}{rest}" if self.unit else f"{self.n:,}"


class Ruling(StrEnum):
    """The conclusion of a finding."""

    HOLDS = "holds"
    LEAKS = "leaks"
    BLIND = "blind"
    PERMITTED = "permitted"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True)
class StatedRule:
    """What the judge said about its own rule, asked in both wordings.

    `permits`: True or False where at least 8 of 10 answers agree across wordings; None: no stated rule, and
    `note` says why (cannot be asked, inconsistent, unreadable).
    """

    permits: bool | None
    agree: int
    asked: int
    missing: int
    note: str = ""
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """One measured contrast before any ruling: what `conclude` takes.

    `subject`: a case's id, or 'judge' for the judge in general. `check`: a further estimate that must be shown to
    move before `holds` may be said (the outcome was read), with `check_line`.
    `withheld`: why no ruling is given whatever the numbers (too few cases). `settles`: sentence on what would
    settle it, used when unresolved.
    """

    probe: str
    subject: str
    estimate: Estimate
    line: Line
    expect: Expectation = Expectation.INVARIANT
    unit: Unit = Unit.ITEM
    control: Estimate | None = None
    control_line: Line | None = None
    control_expect: Expectation = Expectation.LOWER
    check: Estimate | None = None
    check_line: Line | None = None
    check_expect: Expectation = Expectation.HIGHER
    withheld: str = ""
    settles: str = ""
    rule: StatedRule | None = None
    flags: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    references: tuple[str, ...] = ()


class FindingKind(StrEnum):
    """Which of the three kinds of work a finding comes from."""

    PROBE = "probe"
    AUDIT = "audit"
    REMEDY = "remedy"


@dataclass(frozen=True)
class Finding:
    """What we conclude, with the estimates it rests on. `ruling` None: a description without a rule to break.

    `expect`: what the variant ought to do.
    """

    id: str
    kind: FindingKind
    name: str
    subject: str
    judge: str
    sentence: str
    ruling: Ruling | None = None
    estimate: Estimate | None = None
    line: Line | None = None
    control: Estimate | None = None
    control_line: Line | None = None
    check: Estimate | None = None
    check_line: Line | None = None
    p_adjusted: float | None = None
    family: str = ""
    family_size: int = 0
    rule: StatedRule | None = None
    settles: str = ""
    flags: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    references: tuple[str, ...] = ()
    expect: Expectation = Expectation.INVARIANT


@dataclass(frozen=True)
class Account:
    """What a run asked, paid and missed. Counts of answers; money in US dollars, None: no price is known.

    `planned`: calls that were needed; `at_most`: those that the plan foresaw before it was known what would come, 0
    where there was none; `fewer_because`: why fewer were needed, if so. `read`: answers about items that gave a value;
    None: not counted.
    """

    planned: int = 0
    asked: int = 0
    cached: int = 0
    failed: int = 0
    unreadable: Mapping[str, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    money: float | None = None
    seconds: float = 0.0
    partial: str | None = None
    served: Mapping[str, int] = field(default_factory=dict)
    at_most: int = 0
    fewer_because: str = ""
    read: int | None = None


@dataclass(frozen=True)
class SelfCheck:
    """One planted judge on one probe: what it was planted to be, what we ruled, and whether that is right."""

    probe: str
    planted: str
    expected: tuple[str, ...]
    ruled: str
    passed: bool


@dataclass(frozen=True)
class Examination:
    """All findings about one or more judges in one run: what the page shows and a gate compares.

    `items`: the digest of each item's texts, by id; empty where no items were asked about.
    """

    title: str
    judges: Sequence[Identity]
    findings: Sequence[Finding]
    account: Account
    self_checks: Sequence[SelfCheck] = ()
    notes: Sequence[str] = ()
    made: str = ""
    version: str = ""
    items: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)


@dataclass(frozen=True)
class VerdictTable:
    """Verdicts joined with ground truth, one row per verdict, as a polars frame.

    Columns an audit may ask for in its NEEDS: item, task, author, harness, judge, question, value, order,
    repeat, missing_because, truth_status, truth_passed, and whatever else an importer knows.
    """

    frame: pl.DataFrame

    def require(self, *columns: str) -> None:
        """Raise DataError naming the columns that are not there."""
        absent = [name for name in columns if name not in self.frame.columns]
        if absent:
            raise DataError(
                f"the table has no column {', '.join(repr(name) for name in absent)}, only {self.frame.columns}",
                hint="name the columns so, or choose another audit",
            )
