"""Damage in a known share of one checkpoint's samples: seeded, verified, and each sample damaged in one way only.

Doses are nested: what is damaged at 10 % is damaged at 20 % too, by the same edit at the same place, so that a judge is
asked about each damaged text once whatever the number of doses.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.edits.corruptions import (
    Corrupted,
    Corruption,
    chosen_for_dose,
    cut_off,
    deleted_return,
    extra_bracket,
    renamed_entry_point,
)
from voirdire.errors import DataError, UsageError
from voirdire.languages.parsing import Parsers
from voirdire.model import CodeSample, CodeTask, VerdictTable
from voirdire.studies._replay_table import SampleSet

if TYPE_CHECKING:
    import polars as pl

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
MUST_MOVE = (Corruption.CUT_OFF, Corruption.DELETED_RETURN, Corruption.RENAMED_ENTRY_POINT)
LEAVES_NO_PROGRAM = frozenset({Corruption.EXTRA_BRACKET, Corruption.CUT_OFF})

Answers = Mapping[tuple[str, str], tuple[float | None, str | None]]
"""By task and text: the verdict, or None and why there is none."""


@dataclass(frozen=True)
class Damage:
    """One edit of the samples of a set. `codes`: the damaged text by the sample's place; `refused`: places where the
    edit could not be done, with the reason. `doses`: shares of samples, each with the places that are damaged at it.
    """

    edit: Corruption
    codes: Mapping[int, str]
    refused: Mapping[int, str]
    doses: Mapping[float, frozenset[int]]


@dataclass(frozen=True)
class Dose:
    """A set of samples and everything that is done to it."""

    set: SampleSet
    parses: Sequence[bool]
    damages: Sequence[Damage]

    def texts(self) -> list[tuple[str, str]]:
        """Return every (task, text) that a judge is asked about: undamaged and damaged."""
        plain = [(sample.task, sample.code) for sample in self.set.samples]
        damaged = [
            (self.set.samples[place].task, code)
            for damage in self.damages
            for place, code in damage.codes.items()
        ]
        return list(dict.fromkeys([*plain, *damaged]))

    def notes(self) -> tuple[str, ...]:
        """Return what the page says of damage that could not be done."""
        return tuple(
            f"{damage.edit}: {len(damage.codes):,} samples of {self.set.name} damaged, "
            f"{len(damage.refused):,} left as they were ({_most_frequent(damage.refused.values())})"
            for damage in self.damages
            if damage.refused
        )


def _most_frequent(reasons: Sequence[str] | object) -> str:
    from collections import Counter

    return Counter(reasons).most_common(1)[0][0]  # type: ignore[arg-type]


def prepare_dose(
    chosen: SampleSet,
    tasks: Mapping[str, CodeTask],
    *,
    parsers: Parsers,
    shares: Sequence[float] = SHARES,
    edits: Sequence[Corruption] = (Corruption.EXTRA_BRACKET, *MUST_MOVE),
    seed: int = 0,
) -> Dose:
    """Damage a set: brackets at every share, every other edit at the largest one. Errors as for `chosen_for_dose`.

    A sample that does not parse, or that an edit cannot be done to, stays as it is and is counted.
    """
    samples = chosen.samples
    if not samples or not shares:
        raise UsageError("there is nothing to damage", hint="give samples and at least one share")
    parses = _parses(samples, parsers)
    return Dose(
        set=chosen,
        parses=parses,
        damages=[
            _damage(edit, samples, parses, tasks, parsers, shares=_shares_of(edit, shares), seed=seed)
            for edit in edits
        ],
    )


def _shares_of(edit: Corruption, shares: Sequence[float]) -> Sequence[float]:
    return shares if edit is Corruption.EXTRA_BRACKET else (max(shares),)


def _parses(samples: Sequence[CodeSample], parsers: Parsers) -> list[bool]:
    languages = dict.fromkeys(sample.language for sample in samples)
    good = {
        (code, language): fine
        for language in languages
        for codes in [[sample.code for sample in samples if sample.language == language]]
        for code, fine in zip(codes, parsers.parses(codes, language), strict=True)
    }
    return [good[sample.code, sample.language] for sample in samples]


def _damage(
    edit: Corruption,
    samples: Sequence[CodeSample],
    parses: Sequence[bool],
    tasks: Mapping[str, CodeTask],
    parsers: Parsers,
    *,
    shares: Sequence[float],
    seed: int,
) -> Damage:
    doses = {share: chosen_for_dose(len(samples), share, seed=seed) for share in shares}
    codes: dict[int, str] = {}
    refused: dict[int, str] = {}
    for place in sorted(doses[max(shares)]):
        sample = samples[place]
        if not parses[place]:
            refused[place] = "it does not parse already"
            continue
        try:
            codes[place] = _edited(
                edit, sample, tasks.get(sample.task), parsers, seed=_own_seed(seed, sample)
            ).code
        except DataError as why:
            refused[place] = str(why)
    kept = {share: frozenset(places & codes.keys()) for share, places in doses.items()}
    return Damage(edit, codes, refused, kept)


def _edited(
    edit: Corruption, sample: CodeSample, task: CodeTask | None, parsers: Parsers, *, seed: int
) -> Corrupted:
    parses: Callable[[Sequence[str]], Sequence[bool]] = lambda texts: parsers.parses(texts, sample.language)  # noqa: E731
    if edit is Corruption.EXTRA_BRACKET:
        return extra_bracket(sample.code, seed=seed, parses=parses, language=sample.language)
    if edit is Corruption.CUT_OFF:
        return cut_off(sample.code, seed=seed, parses=parses, language=sample.language)
    if sample.language != "python":
        raise DataError(f"'{edit}' is done to Python alone", hint="leave it out")
    if edit is Corruption.DELETED_RETURN:
        return deleted_return(sample.code, seed=seed)
    if task is None or task.entry_point is None:
        raise DataError("the task names no function", hint="leave it out")
    return renamed_entry_point(sample.code, task.entry_point)


def _own_seed(seed: int, sample: CodeSample) -> int:
    text = f"{seed}|{sample.task}|{sample.number}|{sample.code}"
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big")


# --- the table ----------------------------------------------------------------------------------------


def dose_table(dose: Dose, answers: Mapping[str, Answers]) -> VerdictTable:
    """Return the table of `audits.replay_dose`. `answers`: by the judge's name, what it said of every text."""
    import polars as pl

    frames = []
    for judge, said in answers.items():
        frames.append(_level(dose, judge, said, edit="", share=0.0, codes={}))
        for damage in dose.damages:
            for share, places in damage.doses.items():
                codes = {place: damage.codes[place] for place in places}
                frames.append(_level(dose, judge, said, edit=damage.edit.value, share=share, codes=codes))
    return VerdictTable(pl.concat(frames))


def _level(
    dose: Dose, judge: str, said: Answers, *, edit: str, share: float, codes: Mapping[int, str]
) -> "pl.DataFrame":
    import polars as pl

    samples = dose.set.samples
    read = [said[sample.task, codes.get(place, sample.code)] for place, sample in enumerate(samples)]
    broken = edit in LEAVES_NO_PROGRAM
    return pl.DataFrame(
        {
            "task": [sample.task for sample in samples],
            "sample": [sample.number for sample in samples],
            "edit": pl.Series([edit] * len(samples), dtype=pl.String),
            "dose": pl.Series([share] * len(samples), dtype=pl.Float64),
            "damaged": [place in codes for place in range(len(samples))],
            "parses": [fine and not (broken and place in codes) for place, fine in enumerate(dose.parses)],
            "judge": pl.Series([judge] * len(samples), dtype=pl.String),
            "value": pl.Series([value for value, _ in read], dtype=pl.Float64),
            "missing_because": pl.Series([reason for _, reason in read], dtype=pl.String),
        }
    )
