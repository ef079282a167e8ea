"""What goes with over-scoring: features of the answers that pass nothing, by system and within systems.

At the level of systems there are as many points as systems, which is few: every correlation has its interval, and too few
systems are named as such. Within systems the same feature is held against the score beside tasks and systems.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voirdire.audits._halo_spread import effects_of
from voirdire.audits._halo_table import RANKED_FROM, Answers, Grouping, Stratum, columns, ranked_groups
from voirdire.blocks import Block, Cell, TableBlock, TextBlock
from voirdire.errors import DataError, VoirdireError
from voirdire.languages.code_style import Feature, is_patch, patch_style, program_style
from voirdire.languages.parsing import Parsers
from voirdire.lines import ALPHA, SYSTEMS_FOR_CORRELATE
from voirdire.model import Estimate, Finding, FindingKind

if TYPE_CHECKING:
    import polars as pl

NAME = "halo_correlates"

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Correlate:
    """One feature of zero-pass answers. `share`: of answers that have any; `median`: over all of them.

    `pearson`, `spearman`: over systems, the system's mean against its over-scoring; `p_adjusted`: of the first, over all
    features (Benjamini and Hochberg). `within`: score points a standard deviation of the feature, beside tasks and systems.
    """

    feature: Feature
    share: float
    median: float
    pearson: Estimate
    spearman: Estimate
    within: Estimate
    p_adjusted: float | None = None


@dataclass(frozen=True)
class Explained:
    """All correlates, over so many systems and answers; `unread`: answers whose style could not be counted."""

    correlates: tuple[Correlate, ...]
    systems: int
    answers: int
    unread: int


def styles_of(
    texts: Sequence[str], languages: Sequence[str | None], *, parsers: Parsers
) -> list[dict[str, float] | None]:
    """Return the counts of every text, patch or program; None for a program that does not parse or an unknown language."""
    found: dict[tuple[str, str], dict[str, float] | None] = {}
    programs: dict[str, list[str]] = {}
    for text, language in dict.fromkeys(zip(texts, (one or "python" for one in languages), strict=True)):
        if is_patch(text):
            found[text, language] = dict(patch_style(text))
        else:
            programs.setdefault(language, []).append(text)
    for language, codes in programs.items():
        found |= {
            (code, language): style
            for code, style in zip(codes, _programs(codes, language, parsers), strict=True)
        }
    return [found[text, language or "python"] for text, language in zip(texts, languages, strict=True)]


def _programs(codes: Sequence[str], language: str, parsers: Parsers) -> list[dict[str, float] | None]:
    try:
        parses = parsers.parses(codes, language)
    except VoirdireError:
        return [None] * len(codes)
    styles: list[dict[str, float] | None] = []
    for code, ok in zip(codes, parses, strict=True):
        try:
            styles.append(dict(program_style(code, language)) if ok else None)
        except VoirdireError:
            styles.append(None)
    return styles


def explained(answers: Answers) -> Explained | str:
    """Return what goes with over-scoring where nothing passes, or why nothing can be said."""
    stratum = answers.stratum(Stratum.ZERO_TARGET, near_misses=False)
    ranked = ranked_groups(stratum, Grouping.SYSTEM)
    frame = stratum.filter(stratum["system"].is_in(ranked) & stratum["text"].is_not_null())
    if len(ranked) < 3:
        return f"fewer than three systems have {RANKED_FROM} answers that pass nothing"
    if not frame.height:
        return "the table has no text of the answers (column 'code' or 'patch')"
    with Parsers(workers=1) as parsers:
        styles = styles_of(frame["text"].to_list(), frame["language"].to_list(), parsers=parsers)
    read = np.array([style is not None for style in styles])
    kept = frame.filter(read)
    known = [style for style in styles if style is not None]
    over = effects_of(answers, kept, Grouping.SYSTEM, ranked_groups(kept, Grouping.SYSTEM), way="within task")
    if isinstance(over, str):
        return over
    effects = dict(zip(over.systems, over.effects.tolist(), strict=True))
    correlates = []
    for feature in Feature:
        if not any(feature in style for style in known):
            continue
        values = np.array([float(style.get(feature, 0.0)) for style in known])
        correlates.append(_correlate(feature, values, kept, effects))
    return Explained(tuple(_ranked(correlates)), len(effects), len(known), int((~read).sum()))


def _ranked(correlates: Sequence[Correlate]) -> list[Correlate]:
    from voirdire.stats.multiplicity import benjamini_hochberg

    tested = [one for one in correlates if one.pearson.p_value is not None]
    adjusted = benjamini_hochberg([one.pearson.p_value or 0.0 for one in tested])
    by_feature = {one.feature: p for one, p in zip(tested, adjusted, strict=True)}
    corrected = [replace(one, p_adjusted=by_feature.get(one.feature)) for one in correlates]
    return sorted(corrected, key=lambda one: -abs(one.pearson.value or 0.0))


def _correlate(
    feature: Feature, values: Vector, frame: "pl.DataFrame", effects: dict[str, float]
) -> Correlate:
    from voirdire.stats.correlation import pearson, spearman

    systems = np.asarray(frame["system"].to_list())
    means = [float(values[systems == name].mean()) for name in effects]
    return Correlate(
        feature=feature,
        share=float((values > 0).mean()),
        median=float(np.median(values)),
        pearson=pearson(means, list(effects.values())),
        spearman=spearman(means, list(effects.values())),
        within=_within(values, frame),
    )


def _within(values: Vector, frame: "pl.DataFrame") -> Estimate:
    from voirdire.stats.system_effects import slope_beside

    spread = float(values.std())
    if spread == 0:
        return Estimate(None, unit="tasks", note="all answers have the same")
    given = columns(frame, Grouping.SYSTEM)
    try:
        return slope_beside(given.group, given.task, values / spread, given.value)
    except DataError as error:
        return Estimate(None, unit="tasks", note=str(error))


# --- findings -----------------------------------------------------------------------------------------


def findings(answers: Answers) -> list[Finding]:
    """Return one finding: what goes with over-scoring, with the warning that it wants."""
    found = explained(answers)
    blocks: tuple[Block, ...] = ()
    flags: tuple[str, ...] = ()
    if isinstance(found, str):
        sentence = f"What goes with over-scoring cannot be said: {found}."
    else:
        sentence, blocks = _sentence(found), _blocks(found)
        flags = (_warning(found),) if found.systems < SYSTEMS_FOR_CORRELATE else ()
    return [
        Finding(
            id=f"{NAME}/judge/{answers.judge}",
            kind=FindingKind.AUDIT,
            name=NAME,
            subject="judge",
            judge=answers.judge,
            sentence=sentence,
            blocks=blocks,
            flags=flags,
        )
    ]


def _sentence(found: Explained) -> str:
    shown = [one for one in found.correlates if one.p_adjusted is not None and one.p_adjusted <= ALPHA]
    if not shown:
        said = "no feature was shown to go with over-scoring over systems"
    else:
        listed = ", ".join(
            f"{one.feature} (r {one.pearson.value or 0:+.2f}, in {100 * one.share:.0f} % of answers)"
            for one in shown[:3]
        )
        said = f"over-scoring goes over systems with {listed}; that is no cause"
    few = f"; {_warning(found)}" if found.systems < SYSTEMS_FOR_CORRELATE else ""
    return f"Among {found.systems} systems, {said}{few}."


def _warning(found: Explained) -> str:
    return f"{found.systems} systems are too few for a correlation between them to mean anything"


def _blocks(found: Explained) -> tuple[Block, ...]:
    rows: list[list[Cell]] = [
        [
            *(one.feature.value, one.share, one.median),
            *(one.pearson.value, one.pearson.low, one.pearson.high, one.p_adjusted),
            *(one.spearman.value, one.spearman.low, one.spearman.high),
            *(one.within.value, one.within.low, one.within.high),
            one.pearson.note or one.within.note,
        ]
        for one in found.correlates
    ]
    table = TableBlock(
        title="What goes with over-scoring where nothing passes",
        columns=(
            *("feature", "answers that have it", "median", "r over systems", "low", "high", "p, corrected"),
            *("rank correlation", "rho, low", "rho, high"),
            *("points a deviation, within systems", "within, low", "within, high", "note"),
        ),
        rows=rows,
        note=(
            f"{found.answers:,} answers of {found.systems} systems; {found.unread} could not be counted. Over systems: the mean of the "
            "feature against the score beside tasks; p corrected by Benjamini and Hochberg over all features. Within systems: "
            "score points for one standard deviation of the feature, beside tasks and systems; where only the first is large, the "
            "feature marks the system and may do nothing by itself."
        ),
    )
    if found.systems >= SYSTEMS_FOR_CORRELATE:
        return (table,)
    return (
        TextBlock(
            f"{_warning(found)}: fewer than {SYSTEMS_FOR_CORRELATE}.".capitalize(), title="Read with care"
        ),
        table,
    )
