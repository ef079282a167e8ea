"""From samples to the replay table: parse each text once, read answers in other ways, join truth and verdicts."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from voirdire.execution.tasks import Proof
from voirdire.languages.brackets import first_fault, scan
from voirdire.languages.fences import Reading, extract
from voirdire.languages.language import language_named
from voirdire.languages.parsing import BRACKET_KINDS, Parse, Parsers
from voirdire.model import CodeSample, CodeTask, GroundTruth, TruthStatus, VerdictTable

if TYPE_CHECKING:
    import polars as pl

NEAREST_LOOKED_AT = 40
"""Of the bracket faults of one set of samples, so many (drawn) are measured by their distance to a parsing text."""

NO_ENTRY_POINT = "no_entry_point"
"""Status of a sample that lacks the function that the tests call, whatever else it would do."""

UNKNOWN = frozenset({TruthStatus.NOT_RUN, TruthStatus.INFRASTRUCTURE, TruthStatus.NOT_APPLIED})
"""Statuses that say nothing about the code."""


@dataclass(frozen=True)
class SampleSet:
    """The samples of one checkpoint in one pass. `account`: what of its file was left out, and why."""

    author: str
    run: str
    samples: Sequence[CodeSample]
    account: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return what to call it."""
        return f"{self.author}, {self.run}" if self.run else self.author


Key = tuple[str, str, str, int]
"""Checkpoint, pass, task and number of a sample."""


@dataclass(frozen=True)
class Truth:
    """What came of running one sample. `passed` None: nothing is known. `renamed`: with its function renamed.

    `apart`: whether it passed with its tests in a process of their own; None: not known how they were run.
    """

    status: str
    passed: bool | None
    renamed: bool | None = None
    apart: bool | None = None


def truth_of(
    ground: GroundTruth | None, *, no_entry_point: bool = False, renamed: bool | None = None
) -> Truth:
    """Return what the table holds of a ground truth; nothing is known of what was not run or broke down."""
    if ground is None or ground.status in UNKNOWN:
        return Truth("not_run" if ground is None else ground.status.value, None)
    passed = ground.status is TruthStatus.PASSED
    status = NO_ENTRY_POINT if no_entry_point and not passed else ground.status.value
    return Truth(status, passed, passed if renamed is None else renamed)


def passed_apart(passed: object, proof: object) -> bool | None:
    """Return whether a sample passed with its tests in a process of their own; None: not known how they were run."""
    if not isinstance(passed, bool) or (passed and proof is None):
        return None
    return passed and proof == Proof.SEPARATE.value


@dataclass(frozen=True)
class Table:
    """One row per sample, and what was parsed on the way: by text and language."""

    frame: "pl.DataFrame"
    parses: Mapping[tuple[str, str], Parse] = field(repr=False)


def sample_table(
    sets: Sequence[SampleSet],
    tasks: Mapping[str, CodeTask],
    *,
    parsers: Parsers,
    truth: Callable[[Key, CodeSample], Truth],
    seed: int = 0,
) -> Table:
    """Return the replay table without verdicts: every sample of every set, in order."""
    import polars as pl

    parsed = _parsed(sets, parsers)
    frames = [_set_frame(one, tasks, parsed, truth) for one in sets if one.samples]
    frame = pl.concat(frames)
    readings = _readings(sets, parsers, parsed)
    near = _distances(sets, parsed, parsers, seed=seed)
    return Table(frame.with_columns(*readings, pl.Series("edits_away", near, dtype=pl.Int64)), parsed)


def suite_of(task: str) -> str:
    """Return the suite that a task id names before its first slash, or ''."""
    return task.partition("/")[0] if "/" in task else ""


def _parsed(sets: Sequence[SampleSet], parsers: Parsers) -> dict[tuple[str, str], Parse]:
    """Parse every distinct text once."""
    by_language: dict[str, dict[str, None]] = {}
    for one in sets:
        for sample in one.samples:
            by_language.setdefault(sample.language, {})[sample.code] = None
    return {
        (code, language): said
        for language, codes in by_language.items()
        for code, said in zip(codes, parsers.parse(list(codes), language), strict=True)
    }


def _set_frame(
    one: SampleSet,
    tasks: Mapping[str, CodeTask],
    parsed: Mapping[tuple[str, str], Parse],
    truth: Callable[[Key, CodeSample], Truth],
) -> "pl.DataFrame":
    import polars as pl

    said = [parsed[sample.code, sample.language] for sample in one.samples]
    known = [truth((one.author, one.run, sample.task, sample.number), sample) for sample in one.samples]
    return pl.DataFrame(
        {
            "author": pl.Series([one.author] * len(said), dtype=pl.String),
            "pass": pl.Series([one.run] * len(said), dtype=pl.String),
            "suite": [suite_of(sample.task) for sample in one.samples],
            "task": [sample.task for sample in one.samples],
            "sample": [sample.number for sample in one.samples],
            "language": [sample.language for sample in one.samples],
            "parses": [parse.ok for parse in said],
            "parse_kind": [parse.kind.value for parse in said],
            "evidence": pl.Series([_shown(parse.evidence) for parse in said], dtype=pl.String),
            "truncated": [parse.truncated for parse in said],
            "grammar": [parse.grammar for parse in said],
            "truth_status": [each.status for each in known],
            "truth_passed": pl.Series([each.passed for each in known], dtype=pl.Boolean),
            "truth_passed_renamed": pl.Series([each.renamed for each in known], dtype=pl.Boolean),
            "truth_apart": pl.Series([each.apart for each in known], dtype=pl.Boolean),
            "no_entry_point": [each.status == NO_ENTRY_POINT for each in known],
            "has_task": [sample.task in tasks for sample in one.samples],
            "length": [len(sample.code) for sample in one.samples],
            "balanced": [_balanced(sample.code, sample.language) for sample in one.samples],
        }
    )


def _shown(evidence: str) -> str | None:
    """Return a line as a table can hold it: half characters as escapes."""
    return evidence.encode("utf-8", "backslashreplace").decode("utf-8") or None


def _balanced(code: str, language: str) -> bool:
    return (
        first_fault([bracket.char for bracket in scan(code, language_named(language).skip).brackets]) is None
    )


# --- other readings -----------------------------------------------------------------------------------


READ_BESIDE = {"parses_tagged": Reading.LAST_TAGGED, "parses_first": Reading.FIRST, "parses_any": Reading.ANY}


def _readings(
    sets: Sequence[SampleSet], parsers: Parsers, parsed: Mapping[tuple[str, str], Parse]
) -> list["pl.Series"]:
    """Return whether each sample parses under other readings of its answer; [] where no answer has a fence."""
    import polars as pl

    samples = [sample for one in sets for sample in one.samples]
    if not any("```" in sample.text or "~~~" in sample.text for sample in samples):
        return []
    found = [_candidates(sample) for sample in samples]
    by_language: dict[str, dict[str, None]] = {}
    for sample, read in zip(samples, found, strict=True):
        for codes in (read or {}).values():
            by_language.setdefault(sample.language, {}).update(dict.fromkeys(codes))
    good = {
        (code, language): fine
        for language, texts in by_language.items()
        for code, fine in zip(texts, parsers.parses(list(texts), language), strict=True)
    }
    return [
        pl.Series(
            name,
            [
                parsed[sample.code, sample.language].ok
                if read is None
                else any(good[code, sample.language] for code in read[reading])
                for sample, read in zip(samples, found, strict=True)
            ],
            dtype=pl.Boolean,
        )
        for name, reading in READ_BESIDE.items()
    ]


def _candidates(sample: CodeSample) -> dict[Reading, tuple[str, ...]] | None:
    """Return the texts that each reading considers; None where the answer has no fenced block."""
    found = extract(sample.text, tags=language_named(sample.language).tags) if sample.text else None
    if found is None or not found.blocks:
        return None
    return {reading: found.candidates(reading) for reading in READ_BESIDE.values()}


def _distances(
    sets: Sequence[SampleSet],
    parsed: Mapping[tuple[str, str], Parse],
    parsers: Parsers,
    *,
    seed: int,
) -> list[int | None]:
    """Return how many bracket edits away the nearest parsing text is, for some of the bracket faults of each set."""
    near: list[int | None] = []
    for one in sets:
        faulty = [
            place
            for place, sample in enumerate(one.samples)
            if parsed[sample.code, sample.language].kind in BRACKET_KINDS
        ]
        chosen = set(random.Random(seed).sample(faulty, min(len(faulty), NEAREST_LOOKED_AT)))
        near += [
            parsers.nearest(sample.code, sample.language).edits if place in chosen else None
            for place, sample in enumerate(one.samples)
        ]
    return near


# --- verdicts -----------------------------------------------------------------------------------------


def with_verdicts(table: Table, verdicts: Sequence["pl.DataFrame"]) -> VerdictTable:
    """Return one row per sample and judge. `verdicts`: columns author, pass, task, sample, judge, value,
    missing_because; a sample that a judge has no row for is missing as 'not judged'. Without verdicts, one row a sample.
    """
    import polars as pl

    if not verdicts:
        return VerdictTable(
            table.frame.with_columns(
                pl.lit(None, dtype=pl.String).alias("judge"),
                pl.lit(None, dtype=pl.Float64).alias("value"),
                pl.lit(None, dtype=pl.String).alias("missing_because"),
            )
        )
    keys = ["author", "pass", "task", "sample"]
    joined = []
    for frame in verdicts:
        for part in frame.partition_by("judge", maintain_order=True):
            asked = table.frame.join(
                part.select(*keys, "judge").select("author", "pass").unique(),
                on=["author", "pass"],
                how="semi",
                maintain_order="left",
            )
            joined.append(_joined(asked, part, keys))
    return VerdictTable(pl.concat(joined))


def _joined(asked: "pl.DataFrame", part: "pl.DataFrame", keys: Sequence[str]) -> "pl.DataFrame":
    import polars as pl

    judge = part["judge"][0]
    said = part.select(*keys, pl.col("value").cast(pl.Float64), pl.col("missing_because").cast(pl.String))
    return asked.join(said, on=list(keys), how="left", maintain_order="left", validate="1:1").with_columns(
        pl.lit(judge, dtype=pl.String).alias("judge"),
        pl.when(pl.col("value").is_null())
        .then(pl.col("missing_because").fill_null("not judged"))
        .otherwise(None)
        .alias("missing_because"),
    )
