"""The parse gate: empty code, or code that does not parse, cannot be accepted.

What passes it has been shown to parse and nothing else: not to compile, not to run, not to be right.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from voirdire.errors import UsageError
from voirdire.languages.fences import Reading, extract
from voirdire.languages.language import language_named
from voirdire.languages.parsing import Parse, Parsers, shared_parsers
from voirdire.model import GroundTruth, TruthStatus


@dataclass(frozen=True)
class Admission:
    """Whether one sample may be accepted at all, with what the parser said; `why` is '' where it may."""

    code: str
    parse: Parse

    @property
    def accepted(self) -> bool:
        """Whether the code parses."""
        return self.parse.ok

    @property
    def why(self) -> str:
        """Return the reason for a refusal, with one line of evidence (untrusted text)."""
        if self.parse.ok:
            return ""
        place = f", line {self.parse.line}: {self.parse.evidence}" if self.parse.line else ""
        return f"{self.parse.kind}{place}"


def gate(
    text: str, language: str = "python", *, reading: Reading = Reading.LAST, parsers: Parsers | None = None
) -> Admission:
    """Return whether one answer may be accepted; for several, `gate_all` is faster.

    `text`: an answer with fenced code, or plain code where `reading` is WHOLE.
    """
    return gate_all([text], language, reading=reading, parsers=parsers)[0]


def gate_all(
    texts: Sequence[str],
    language: str = "python",
    *,
    reading: Reading = Reading.LAST,
    parsers: Parsers | None = None,
) -> list[Admission]:
    """Return for each answer whether it may be accepted, in the same order.

    Under ANY, an answer is represented by its last block that parses, or by its last block where none does.
    """
    parsers = parsers or shared_parsers()
    tags = language_named(language).tags
    considered = [extract(text, tags=tags).candidates(reading) or ("",) for text in texts]
    flat = [code for codes in considered for code in codes]
    said = iter(parsers.parse(flat, language))
    tried = [[Admission(code, next(said)) for code in codes] for codes in considered]
    return [next((one for one in some if one.accepted), some[0]) for some in tried]


def gated(verdicts: Sequence[float | None], parses: Sequence[bool]) -> list[float | None]:
    """Return a judge's verdicts behind the gate: 0 for what does not parse, whatever the judge said of it.

    A verdict that is missing stays missing where the code parses, and is 0 where it does not: no answer could have
    let it pass. Raises UsageError where the two do not match.
    """
    if len(verdicts) != len(parses):
        raise UsageError(
            f"{len(verdicts)} verdicts for {len(parses)} samples", hint="give one of each, in the same order"
        )
    return [verdict if passes else 0.0 for verdict, passes in zip(verdicts, parses, strict=True)]


@dataclass(frozen=True)
class ReadingShares:
    """How many of `n` answers parse under each reading, and how many change between the default and another one."""

    n: int
    parsing: Mapping[Reading, int]
    changed: Mapping[Reading, int]
    differing: tuple[int, ...]


def compare_readings(
    answers: Sequence[str], language: str = "python", *, parsers: Parsers | None = None
) -> ReadingShares:
    """Return the parse share of the same answers under every reading of fenced code.

    `differing`: the indexes of answers whose parsing hangs on the reading.
    """
    parsers = parsers or shared_parsers()
    tags = language_named(language).tags
    found = [extract(answer, tags=tags) for answer in answers]
    readings = (Reading.LAST, Reading.LAST_TAGGED, Reading.FIRST, Reading.ANY)
    texts = sorted({code for one in found for reading in readings for code in one.candidates(reading)})
    parses = dict(zip(texts, parsers.parses(texts, language), strict=True))
    read = [
        {reading: any(parses[code] for code in one.candidates(reading)) for reading in readings}
        for one in found
    ]
    return ReadingShares(
        n=len(answers),
        parsing={reading: sum(one[reading] for one in read) for reading in readings},
        changed={reading: sum(one[reading] != one[Reading.LAST] for one in read) for reading in readings},
        differing=tuple(index for index, one in enumerate(read) if len(set(one.values())) > 1),
    )


def kinds(parses: Sequence[Parse]) -> Mapping[str, int]:
    """Return how often each kind occurs, the most frequent first."""
    return dict(Counter(one.kind.value for one in parses).most_common())


def truth_with_parse(truth: GroundTruth | None, parse: Parse) -> GroundTruth | None:
    """Return a truth that says `unparsable` where tests failed on code that does not parse.

    A recorded pass stays a pass: code that does not parse and has credit is a fault of the harness, which
    `contradicts` finds and nobody may hide.
    """
    if truth is None or parse.ok or truth.status not in (TruthStatus.FAILED, TruthStatus.ERROR):
        return truth
    return replace(truth, status=TruthStatus.UNPARSABLE)


def contradicts(truth: GroundTruth | None, parse: Parse) -> bool:
    """Whether a sample that does not parse has execution credit: the harness, or our reading of the file, is wrong."""
    return truth is not None and truth.status is TruthStatus.PASSED and not parse.ok
