import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from voirdire.errors import DataError
from voirdire.stats.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm


@pytest.mark.parametrize(
    ("adjust", "name"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh"), (benjamini_yekutieli, "fdr_by")]
)
def test_adjusted_values_are_statsmodels_in_any_order(adjust: object, name: str) -> None:
    assert callable(adjust)
    raw = np.random.default_rng(26).uniform(0, 0.2, 15)
    assert adjust(raw) == pytest.approx(multipletests(raw, method=name)[1])


def test_none_gives_none_and_one_stays() -> None:
    assert holm([]) == benjamini_hochberg([]) == benjamini_yekutieli([]) == ()
    assert holm([0.03]) == benjamini_hochberg([0.03]) == (0.03,)


def test_ties_get_the_same_value() -> None:
    assert holm([0.02, 0.02, 0.5]) == pytest.approx((0.06, 0.06, 0.5))


def test_what_is_no_p_value_is_refused() -> None:
    with pytest.raises(DataError, match=r"'p_values' reaches from 0\.1 to 1\.2"):
        holm([0.1, 1.2])
    with pytest.raises(DataError, match="not finite"):
        benjamini_hochberg([0.1, float("nan")])
