import asyncio
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.engine.budget import Budget
from voirdire.errors import UsageError
from voirdire.model import Cost, Request


def spend(
    budget: Budget, calls: list[tuple[float, float, str]], *, in_flight: int, seed: int
) -> tuple[float, int]:
    """Run calls of (worst, share of it that is used, how it ends); return the most ever spent or at risk."""
    chance = random.Random(seed)
    at_risk = 0.0
    sent = 0
    most = [0.0, 0]

    async def work(numbers: Iterator[int]) -> None:
        nonlocal at_risk, sent
        for k in numbers:
            worst, share, end = calls[k]
            cost = Cost(money=worst)
            if not await budget.reserve(cost):
                return
            at_risk += worst
            sent += 1
            most[0] = max(most[0], at_risk)
            most[1] = max(most[1], sent)
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            if end == "free":
                budget.release(cost)
                at_risk -= worst
                sent -= 1
            else:
                budget.settle(cost, spent=None if end == "unknown" else worst * share)
                at_risk -= 0 if end == "unknown" else worst * (1 - share)

    async def run() -> None:
        numbers = iter(range(len(calls)))
        await asyncio.wait_for(asyncio.gather(*(work(numbers) for _ in range(in_flight))), 10)

    asyncio.run(run())
    return most[0], int(most[1])


CALLS = st.lists(
    st.tuples(
        st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.sampled_from(["paid", "paid", "paid", "unknown", "free"])
    ),
    max_size=40,
)


@given(CALLS, st.floats(0.0, 5.0), st.integers(1, 16), st.integers(0, 1000))
def test_money_is_never_passed_however_many_are_in_flight(
    calls: list[tuple[float, float, str]], limit: float, in_flight: int, seed: int
) -> None:
    most, _ = spend(Budget(max_cost=limit), calls, in_flight=in_flight, seed=seed)
    assert most <= limit + 1e-6


@given(CALLS, st.integers(0, 30), st.integers(1, 16), st.integers(0, 1000))
def test_calls_are_never_passed_and_all_are_used(
    calls: list[tuple[float, float, str]], limit: int, in_flight: int, seed: int
) -> None:
    budget = Budget(max_calls=limit)
    _, most = spend(budget, calls, in_flight=in_flight, seed=seed)
    assert most <= limit
    charged = sum(end != "free" for _, _, end in calls)
    assert budget.calls == min(limit, charged)


def test_what_does_not_fit_waits_for_a_call_in_flight_to_turn_out_cheaper() -> None:
    async def run() -> None:
        budget = Budget(max_cost=1.0)
        worst = Cost(money=0.6)
        assert await budget.reserve(worst)
        second = asyncio.create_task(budget.reserve(worst))
        await asyncio.sleep(0)
        assert not second.done()
        budget.settle(worst, spent=0.1)
        assert await second
        budget.settle(worst, spent=0.6)
        assert not await budget.reserve(worst)
        assert budget.money == pytest.approx(0.7)

    asyncio.run(run())


def test_an_unknown_cost_counts_as_the_worst() -> None:
    async def run() -> None:
        budget = Budget(max_cost=1.0)
        assert await budget.reserve(Cost(money=0.6))
        budget.settle(Cost(money=0.6), spent=None)
        assert not await budget.reserve(Cost(money=0.6))

    asyncio.run(run())


def test_money_cannot_be_limited_where_no_price_is_known() -> None:
    unpriced = [Request("item-1", "{}")]
    Budget(max_calls=3).check(unpriced)
    with pytest.raises(UsageError, match="no known price") as error:
        Budget(max_cost=1.0).check(unpriced)
    assert "price_in" in error.value.hint
    assert "judge file" in error.value.hint


@pytest.mark.parametrize("limits", [{"max_calls": -1}, {"max_cost": -0.1}, {"max_cost": float("nan")}])
def test_negative_limits_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        Budget(**limits)  # type: ignore[arg-type]
