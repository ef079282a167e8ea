"""Effect sizes of the outcome-bias ratings, recomputed from the ratings.

Source: github.com/jql-123/outcome-bias-llm-eval, data as of commit ba25511, its table of Cohen's d by model (harm less
no harm); the shares are P(superiority) over all pairs of completions, recomputed from the same data.
"""

import pytest

from voirdire.audits.outcome_ratings import (
    Comparison,
    comparisons,
    families,
    pooled_superiority,
    standardised_difference,
)
from voirdire.engine.conclude import conclude
from voirdire.lines import CASES_FOR_GENERAL
from voirdire.model import FindingKind, Ruling
from voirdire.studies._material import outcome_ratings

Key = tuple[str, str, str]


@pytest.fixture(scope="module")
def compared() -> dict[Key, Comparison]:
    return {(one.judge, one.study, one.question): one for one in comparisons(outcome_ratings())}


@pytest.mark.parametrize(
    ("judge", "scale", "plain", "expert"),
    [
        ("gpt4o", "Negligent", 4.028, 4.263),
        ("gpt4o", "Blame", 5.525, 5.677),
        ("deepseekr1", "Negligent", 2.035, 1.785),
        ("deepseekr1", "Blame", 3.757, 2.643),
        ("o1mini", "Negligent", 2.093, 1.209),
    ],
)
def test_cohens_d_equals_the_published_table(
    compared: dict[Key, Comparison], judge: str, scale: str, plain: float, expert: float
) -> None:
    found = [standardised_difference(compared[judge, study, scale]).value for study in ("study 1", "study 5")]
    assert found == pytest.approx([plain, expert], abs=5e-4)


@pytest.mark.parametrize(("judge", "share"), [("gpt4o", 0.996), ("deepseekr1", 0.947), ("o1mini", 0.915)])
def test_share_of_pairs_in_which_harm_is_rated_more_negligent(
    compared: dict[Key, Comparison], judge: str, share: float
) -> None:
    assert pooled_superiority(compared[judge, "study 1", "Negligent"]).value == pytest.approx(share, abs=5e-4)


def test_nothing_is_missing_and_every_cell_has_three_completions(compared: dict[Key, Comparison]) -> None:
    assert len(compared) == 3 * 2 * 4
    for one in compared.values():
        assert one.missing == {"no harm": 0, "harm": 0}
        for arm in (one.no_harm, one.harm):
            assert len(arm) == 10 >= CASES_FOR_GENERAL
            assert {len(scores) for scores in arm.values()} == {3}


def test_the_judges_leak() -> None:
    findings = [
        finding
        for judge, family in families(outcome_ratings()).items()
        for finding in conclude(family, judge=judge, family=f"ratings of {judge}", kind=FindingKind.AUDIT)
    ]
    rulings = {finding.subject: finding.ruling for finding in findings}
    leaking = [subject for subject, ruling in rulings.items() if ruling is Ruling.LEAKS]
    others = {subject: ruling for subject, ruling in rulings.items() if ruling is not Ruling.LEAKS}
    assert {finding.family_size for finding in findings} == {8}
    assert len(leaking) == 23
    assert others == {"o1mini, study 5, Reckless": Ruling.UNRESOLVED}
