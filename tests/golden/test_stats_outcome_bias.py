"""Published outcome-bias ratings: three judges, thirty ratings of each ending, `Negligent` and `Blame` on 1 to 7.

Source: jql-123/outcome-bias-llm-eval at ba25511 (MIT); d is from the table of that repository, P from its ratings.
Each row holds how often each rating from 1 to 7 was given, first without harm, then with harm.
"""

import numpy as np
import pytest

from voirdire.stats.effect import cohens_d
from voirdire.stats.superiority import probability_of_superiority

D_BY_RATINGS = [
    ("gpt4o Negligent", (0, 10, 12, 6, 2, 0, 0), (0, 0, 0, 0, 4, 15, 11), 4.028),
    ("gpt4o Blame", (3, 20, 5, 2, 0, 0, 0), (0, 0, 0, 0, 9, 19, 2), 5.525),
    ("gpt4o Negligent, expert", (0, 9, 11, 8, 2, 0, 0), (0, 0, 0, 0, 1, 18, 11), 4.263),
    ("gpt4o Blame, expert", (3, 17, 8, 2, 0, 0, 0), (0, 0, 0, 0, 6, 23, 1), 5.677),
    ("deepseekr1 Negligent", (0, 5, 0, 9, 6, 10, 0), (0, 0, 0, 0, 1, 7, 22), 2.035),
    ("deepseekr1 Blame", (0, 11, 7, 8, 4, 0, 0), (0, 0, 0, 0, 2, 11, 17), 3.757),
    ("deepseekr1 Negligent, expert", (0, 3, 5, 3, 8, 8, 3), (0, 0, 0, 0, 1, 5, 24), 1.785),
    ("deepseekr1 Blame, expert", (0, 11, 7, 5, 2, 5, 0), (0, 0, 0, 0, 2, 13, 15), 2.643),
    ("o1mini Negligent", (1, 10, 3, 12, 2, 2, 0), (0, 0, 1, 2, 6, 21, 0), 2.093),
    ("o1mini Negligent, expert", (1, 9, 6, 5, 6, 3, 0), (0, 1, 1, 7, 8, 12, 1), 1.209),
]


def ratings(tally: tuple[int, ...]) -> list[int]:
    return np.repeat(np.arange(1, 8), tally).tolist()


@pytest.mark.parametrize(("name", "no_harm", "harm", "published"), D_BY_RATINGS)
def test_published_d(name: str, no_harm: tuple[int, ...], harm: tuple[int, ...], published: float) -> None:
    value = cohens_d(ratings(no_harm), ratings(harm)).value
    assert value == pytest.approx(published, abs=5e-4), name


@pytest.mark.parametrize(("row", "share"), [(0, 0.996), (4, 0.947), (8, 0.915)])
def test_share_of_pairs_in_which_harm_is_rated_higher(row: int, share: float) -> None:
    _, no_harm, harm, _ = D_BY_RATINGS[row]
    estimate = probability_of_superiority(ratings(no_harm), ratings(harm))
    assert estimate.value == pytest.approx(share, abs=5e-4)
    assert estimate.p_value is not None
    assert estimate.p_value < 1e-6
