import numpy as np
import pytest
from scipy import stats as oracle

from voirdire.errors import DataError
from voirdire.stats.effect import cohens_d

GENERATOR = np.random.default_rng(28)


def test_a_variant_that_scores_higher_has_a_d_above_0() -> None:
    assert cohens_d([1, 2, 3], [2, 3, 4]).value == pytest.approx(1.0)
    assert cohens_d([2, 3, 4], [1, 2, 3]).value == pytest.approx(-1.0)


def test_p_is_the_pooled_t_tests() -> None:
    base, variant = GENERATOR.normal(size=12), GENERATOR.normal(0.5, 2, 9)
    assert cohens_d(base, variant).p_value == pytest.approx(oracle.ttest_ind(variant, base).pvalue)


def test_interval_inverts_the_noncentral_t() -> None:
    base, variant = GENERATOR.normal(size=14), GENERATOR.normal(0.8, 1, 11)
    found = cohens_d(base, variant)
    scale = (1 / 14 + 1 / 11) ** 0.5
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    t = found.value / scale
    assert oracle.nct.cdf(t, 23, found.low / scale) == pytest.approx(0.975, abs=1e-5)
    assert oracle.nct.cdf(t, 23, found.high / scale) == pytest.approx(0.025, abs=1e-5)


def test_an_enormous_effect_still_has_an_interval() -> None:
    found = cohens_d([1, 1, 1, 2] * 8, [7, 7, 7, 6] * 8)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 9 < found.low < found.value < found.high < 16


def test_scores_that_never_vary_have_no_d() -> None:
    found = cohens_d([2, 2], [3, 3])
    assert (found.value, found.low, found.p_value) == (None, None, None)
    assert "undefined" in found.note


def test_one_score_an_arm_is_too_few() -> None:
    with pytest.raises(DataError, match="'variant': it holds 1 of at least 2"):
        cohens_d([1, 2], [3])
