"""The published outcome-probe table: each P, rebuilt from plausible scores, gets the published reading.

Source: the table of PROCESS scores of five models on three made-up cases and one recorded run, ten scores a version;
P at or below 0.20, or at or above 0.80, was fixed beforehand as leakage. The controls went from 2 or 3 to 8, 9 or 10.
"""

import pytest

from voirdire.engine.conclude import conclude
from voirdire.lines import CONTROL, DAMAGE, OUTCOME
from voirdire.model import Estimate, Expectation, Measurement, Ruling
from voirdire.stats.superiority import probability_of_superiority
from voirdire.studies._protocol import LEAKAGE, NO_LEAKAGE, protocol_reading

PUBLISHED = [
    ("2 to 2", 0.400, NO_LEAKAGE, [2] * 10, [2] * 8 + [1] * 2),
    ("2 to 1", 0.150, LEAKAGE, [2] * 10, [2] * 3 + [1] * 7),
    ("2 to 1", 0.000, LEAKAGE, [2] * 10, [1] * 10),
    ("3 to 2", 0.050, LEAKAGE, [3] * 10, [3] + [2] * 9),
    ("2 to 2", 0.500, NO_LEAKAGE, [2] * 10, [2] * 10),
    ("2 to 2", 0.450, NO_LEAKAGE, [2] * 10, [2] * 9 + [1]),
    ("2 to 1.5", 0.250, NO_LEAKAGE, [2] * 10, [2] * 5 + [1] * 5),
    ("2.5 to 2", 0.250, NO_LEAKAGE, [3] * 5 + [2] * 5, [2] * 10),
]

MOVED = Estimate(1.0, low=0.8, high=1.0, n=10, inner_low=0.85, inner_high=1.0, p_value=1e-5)


def measured(base: list[int], variant: list[int]) -> Measurement:
    return Measurement(
        probe="outcome",
        subject="case",
        estimate=probability_of_superiority(base, variant),
        line=OUTCOME,
        control=MOVED,
        control_line=CONTROL,
        control_expect=Expectation.HIGHER,
        check=MOVED,
        check_line=DAMAGE,
    )


@pytest.mark.parametrize(("medians", "published", "reading", "base", "variant"), PUBLISHED)
def test_a_published_p_gets_the_published_reading(
    medians: str, published: float, reading: str, base: list[int], variant: list[int]
) -> None:
    value = probability_of_superiority(base, variant).value
    assert value == pytest.approx(published)
    assert protocol_reading(value) == reading, medians


@pytest.mark.parametrize(("medians", "published", "reading", "base", "variant"), PUBLISHED)
def test_our_ruling_charges_no_leak_that_the_protocol_does_not_see(
    medians: str, published: float, reading: str, base: list[int], variant: list[int]
) -> None:
    ruling = conclude([measured(base, variant)], judge="j", family="one case")[0].ruling
    assert (ruling is Ruling.LEAKS) == (reading == LEAKAGE), (medians, published)


def test_the_published_leaks_survive_the_correction_over_their_own_table() -> None:
    page = [measured(base, variant) for *_, base, variant in PUBLISHED]
    ruled = [finding.ruling for finding in conclude(page, judge="j", family="table")]
    for (_, published, reading, _, _), ruling in zip(PUBLISHED, ruled, strict=True):
        assert (ruling is Ruling.LEAKS) == (reading == LEAKAGE), published


@pytest.mark.parametrize(("before", "after"), [(2, 10), (2, 9), (3, 9)])
def test_the_published_controls_move(before: int, after: int) -> None:
    assert probability_of_superiority([before] * 10, [after] * 10).value == 1.0
