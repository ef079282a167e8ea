"""Pass@k: laws, refusals, missing answers, and the three quantities with three names."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import DataError
from voirdire.stats.bootstrap import draw
from voirdire.stats.paired import paired_mean
from voirdire.stats.passk import (
    Problems,
    Tally,
    corrected_pass_at_k,
    pass_at_k,
    pass_at_k_differences,
    pass_at_k_exactly,
    pass_at_k_of_counts,
    pass_by_problem,
    pass_table,
    saturation_ceiling,
    selected_pass_at_1,
    tally,
    within_problem_variance,
)

COUNTS = st.integers(1, 40).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


def of(counts: list[tuple[int, int]]) -> Tally:
    totals, hits = (np.array(column, dtype=np.int64) for column in zip(*counts, strict=True))
    return Tally(tuple(f"p{number}" for number in range(len(counts))), totals, hits, np.zeros_like(totals))


# --- one problem ------------------------------------------------------------------------------------


@given(COUNTS)
def test_the_product_form_is_the_exact_fraction(counts: tuple[int, int, int]) -> None:
    assert pass_at_k_of_counts(*counts) == pytest.approx(float(pass_at_k_exactly(*counts)), abs=1e-13)


@given(COUNTS)
def test_more_hits_and_more_samples_never_lower_it(counts: tuple[int, int, int]) -> None:
    n, c, k = counts
    table = pass_table(n, range(1, n + 1))
    assert (np.diff(table, axis=0) >= -1e-15).all()
    assert (np.diff(table, axis=1) >= -1e-15).all()
    assert table[c, 0] == pytest.approx(c / n)
    assert table[c, n - 1] == float(c > 0)
    assert 0 <= table[c, k - 1] <= 1


@pytest.mark.parametrize(("n", "k"), [(3, 2), (6, 3), (5, 5)])
def test_it_is_the_share_of_draws_that_hold_a_hit(n: int, k: int) -> None:
    for c in range(n + 1):
        draws = list(itertools.combinations(range(n), k))
        share = Fraction(sum(min(draw) < c for draw in draws), len(draws))
        assert pass_at_k_exactly(n, c, k) == share


@pytest.mark.parametrize("k", [0, 11, -1])
def test_a_k_beyond_the_samples_is_refused(k: int) -> None:
    with pytest.raises(DataError, match=f"Pass@{k} cannot be estimated from 10"):
        pass_at_k_of_counts(10, 3, k)


def test_more_hits_than_samples_are_refused() -> None:
    with pytest.raises(DataError, match="11 hits among 10"):
        pass_at_k_of_counts(10, 11, 1)


@pytest.mark.parametrize(("n", "k", "p"), [(10, 3, 0.2), (8, 4, 0.5), (6, 1, 0.9)])
def test_the_variance_within_a_problem_is_unbiased(n: int, k: int, p: float) -> None:
    chance = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    values = [pass_at_k_of_counts(n, c, k) for c in range(n + 1)]
    mean = math.fsum(w * v for w, v in zip(chance, values, strict=True))
    truth = math.fsum(w * (v - mean) ** 2 for w, v in zip(chance, values, strict=True))
    found = math.fsum(w * (within_problem_variance(n, c, k) or 0.0) for c, w in enumerate(chance))
    assert mean == pytest.approx(1 - (1 - p) ** k)
    assert found == pytest.approx(truth, rel=1e-12)


@given(COUNTS)
def test_the_variance_is_never_negative_and_unknown_beyond_half(counts: tuple[int, int, int]) -> None:
    n, _, k = counts
    variance = within_problem_variance(*counts)
    assert (variance is None) == (2 * k > n)
    assert variance is None or variance >= 0


# --- tallies ----------------------------------------------------------------------------------------


def test_a_tally_counts_missing_answers_apart() -> None:
    found = tally(["b", "a", "b", "a", "c"], [1, 0, float("nan"), 1, float("nan")])
    assert found.problems == ("b", "a")
    assert (found.totals.tolist(), found.hits.tolist(), found.missing.tolist()) == ([1, 2], [1, 1], [1, 0])
    assert dict(found.unanswered) == {"c": 1}
    assert found.fewest == 1


def test_missing_answers_are_counted_and_bounded() -> None:
    (estimate,) = pass_at_k(tally(["a", "a", "b", "b", "c"], [1, math.nan, 0, 0, math.nan]), (1,))
    assert estimate.value == 0.5
    assert estimate.missing == {"samples": 2, "problems": 1}
    assert estimate.asked == {"samples": 5, "problems": 3}
    assert estimate.bounds is not None
    assert list(estimate.bounds) == pytest.approx([0.5 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("problems", "hits", "match"),
    [
        (["a"], [2], "something else"),
        (["a"], [1, 0], "shape"),
        ([], [], "shape"),
        (["a"], [math.nan], "no sample"),
    ],
)
def test_a_tally_of_something_else_is_refused(problems: list[str], hits: list[float], match: str) -> None:
    with pytest.raises(DataError, match=match):
        tally(problems, hits)


# --- several problems -------------------------------------------------------------------------------


def test_each_problem_uses_its_own_number_of_samples() -> None:
    values = pass_by_problem(of([(10, 3), (5, 0), (7, 7)]), (1, 5))
    assert values.tolist() == [
        [pytest.approx(0.3), pytest.approx(0.91666667)],
        [0.0, 0.0],
        [1.0, 1.0],
    ]


def test_a_k_beyond_the_poorest_problem_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="'p1' has 5") as error:
        pass_at_k(of([(10, 3), (5, 0)]), (1, 6))
    assert "up to 5" in error.value.hint


def test_the_two_intervals_have_two_names_and_sizes() -> None:
    counts = of([(20, c) for c in (0, 1, 5, 12, 20, 3, 0, 7)])
    (these,) = pass_at_k(counts, (4,), about=Problems.THESE)
    (like,) = pass_at_k(counts, (4,), about=Problems.LIKE_THESE)
    assert "these problems" in these.method
    assert "problems like these" in like.method
    assert these.value == like.value
    variances = [within_problem_variance(20, int(c), 4) or 0.0 for c in counts.hits]
    assert these.low is not None
    assert these.high is not None
    assert like.low is not None
    assert like.high is not None
    assert these.high - these.low == pytest.approx(
        2 * 1.959964 * math.sqrt(math.fsum(variances)) / 8, rel=1e-6
    )
    assert like.high - like.low > these.high - these.low


def test_no_interval_about_these_problems_beyond_half_of_the_samples() -> None:
    (found,) = pass_at_k(of([(10, 3), (10, 5)]), (6,), about=Problems.THESE)
    assert (found.low, found.high) == (None, None)
    assert "12 samples" in found.note


def test_problems_that_are_all_alike_are_no_certainty() -> None:
    (none,) = pass_at_k(of([(5, 0)] * 100), (5,))
    assert (none.value, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.05 ** (1 / 100))
    (every,) = pass_at_k(of([(5, 5)] * 100), (5,))
    assert every.high == 1.0
    assert every.low == pytest.approx(0.05 ** (1 / 100))


def test_the_name_of_the_quantity_stands_in_the_method() -> None:
    (found,) = pass_at_k(of([(5, 2), (5, 3)]), (2,), name="gated judge Pass")
    assert found.method.startswith("gated judge Pass@2")


# --- differences ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pair() -> tuple[Tally, Tally]:
    generator = np.random.default_rng(3)
    hard = generator.beta(0.6, 0.9, size=60)
    base = of([(32, int(generator.binomial(32, p))) for p in hard])
    variant = of([(128, int(generator.binomial(128, 0.8 * p))) for p in hard])
    return base, variant


def test_differences_for_every_k_at_once_are_those_of_the_paired_t(pair: tuple[Tally, Tally]) -> None:
    ks = tuple(range(1, 33))
    found = pass_at_k_differences(*pair, ks, resampling=draw(60, seed=1))
    for at in (0, 7, 31):
        values = pass_by_problem(pair[1], (ks[at],))[:, 0] - pass_by_problem(pair[0], (ks[at],))[:, 0]
        expected = paired_mean(values, span=1.0)
        t, resampled = found[at].t, found[at].percentile
        assert (found[at].k, t.n) == (ks[at], 60)
        assert [t.value, t.low, t.high] == pytest.approx([expected.value, expected.low, expected.high])
        assert resampled.value == pytest.approx(expected.value)
        assert "percentile" in resampled.method
        assert t.low is not None
        assert resampled.low == pytest.approx(t.low, abs=0.02)


def test_where_every_difference_is_zero_the_interval_is_about_three_over_n() -> None:
    same = of([(8, 2)] * 421)
    (found,) = pass_at_k_differences(same, same, (4,), resampling=draw(421, seed=1, resamples=100))
    for estimate in (found.t, found.percentile):
        assert estimate.value == 0
        assert estimate.high == pytest.approx(3 / 421, rel=0.01)
        assert estimate.low == pytest.approx(-3 / 421, rel=0.01)
    assert found.t.p_value == 1.0


def test_only_common_problems_are_compared_and_the_others_are_counted() -> None:
    base, variant = of([(4, 1), (4, 2), (4, 3)]), of([(4, 1), (4, 4)])
    (found,) = pass_at_k_differences(base, variant, (1,), resampling=draw(2, seed=1, resamples=50))
    assert found.t.value == pytest.approx(0.25)
    assert found.t.missing == {"base only": 1, "variant only": 0}
    with pytest.raises(DataError, match="no problem in common"):
        pass_at_k_differences(
            base,
            Tally(("x",), base.totals[:1], base.hits[:1], base.missing[:1]),
            (1,),
            resampling=draw(1, seed=1),
        )


def test_problems_of_one_source_count_once(pair: tuple[Tally, Tally]) -> None:
    clusters = [number // 2 for number in range(60)]
    resampling = draw(60, seed=1, clusters=clusters)
    (found,) = pass_at_k_differences(*pair, (8,), resampling=resampling, clusters=clusters)
    values = pass_by_problem(pair[1], (8,))[:, 0] - pass_by_problem(pair[0], (8,))[:, 0]
    expected = paired_mean(values, clusters=clusters, span=1.0)
    assert [found.t.low, found.t.high] == pytest.approx([expected.low, expected.high])
    assert "30 clusters" in found.t.unit


# --- a judge ----------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=7), st.data())
def test_the_chosen_sample_is_that_of_every_draw(samples: list[tuple[int, int]], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(samples)))
    draws = list(itertools.combinations(samples, k))
    expected = sum(
        (Fraction(sum(right for score, right in best), len(best)) for best in map(_best, draws)), Fraction(0)
    ) / len(draws)
    scores, passed = zip(*samples, strict=True)
    assert selected_pass_at_1(scores, passed, (k,))[0] == pytest.approx(float(expected))


def _best(drawn: tuple[tuple[int, int], ...]) -> list[tuple[int, int]]:
    top = max(score for score, _ in drawn)
    return [one for one in drawn if one[0] == top]


def test_a_judge_that_accepts_all_chooses_at_random() -> None:
    assert selected_pass_at_1([1, 1, 1, 1], [1, 0, 0, 0], (1, 2, 4)).tolist() == pytest.approx([0.25] * 3)
    assert selected_pass_at_1([1, 0, 0, 0], [1, 0, 0, 0], (1, 2, 4)).tolist() == pytest.approx(
        [0.25, 0.5, 1.0]
    )


def test_a_missing_score_is_refused_in_a_choice() -> None:
    with pytest.raises(DataError, match="do not match"):
        selected_pass_at_1([1, math.nan], [1, 0], (1,))


def test_false_acceptances_alone_saturate() -> None:
    assert saturation_ceiling([0.0, 0.0], (1, 128)).tolist() == [0.0, 0.0]
    assert saturation_ceiling([0.0, 1.0], (1, 128)).tolist() == [0.5, 0.5]
    with pytest.raises(DataError, match="outside 0 to 1"):
        saturation_ceiling([1.2], (1,))


def test_the_correction_is_withheld_where_it_says_nothing() -> None:
    generator = np.random.default_rng(0)
    accepted = of([(32, int(a)) for a in generator.binomial(32, 0.42, size=200)])
    found = corrected_pass_at_k(accepted, 1, sensitivity=0.9, specificity=0.7)
    assert found.value == pytest.approx((accepted.hits.mean() / 32 - 0.3) / 0.6)
    assert found.low is not None
    few = of([(32, int(a)) for a in accepted.hits[:20]])
    withheld = corrected_pass_at_k(few, 8, sensitivity=0.9, specificity=0.7)
    assert (withheld.value, withheld.low) == (None, None)
    assert "above the bound of 0.05" in withheld.note
    with pytest.raises(DataError, match="no better than chance"):
        corrected_pass_at_k(accepted, 1, sensitivity=0.4, specificity=0.6)


def test_a_perfect_judge_needs_no_correction() -> None:
    counts = of([(10, c) for c in (0, 3, 5, 10)])
    found = corrected_pass_at_k(counts, 4, sensitivity=1.0, specificity=1.0, largest_error=1.0)
    (plain,) = pass_at_k(counts, (4,))
    assert found.value == pytest.approx(plain.value)
