"""Which calls a run will make, and what they will take. Planned before anything is asked."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from voirdire.model import Cost, Item, Judge, Request


@dataclass(frozen=True)
class Call:
    """One question to a judge: a rendered request, and which repeat of it this is (0 is the first).

    `about_itself`: it asks the judge's own rule, so whether it can be read tells nothing about the items.
    """

    judge: Judge
    request: Request
    repeat: int = 0
    about_itself: bool = False


@dataclass(frozen=True)
class Forecast:
    """What a batch of calls will take. Counts are of distinct calls; money in US dollars, None: no price is known.

    `cached` are already in the ledger, `too_long` cannot be sent, `to_ask` is the rest: tokens and money are theirs,
    `expected` and at `worst`. `seconds`: time that earlier answers of the same judges let expect, None: none yet.
    """

    calls: int
    cached: int
    too_long: int
    to_ask: int
    expected: Cost
    worst: Cost
    seconds: float | None = None


def calls_for(judge: Judge, items: Iterable[Item], *, repeats: int) -> list[Call]:
    """Return every call that asks `judge` about each item `repeats` times; repeats of one item stand together."""
    return [
        Call(judge, request, repeat)
        for request in (judge.render(item) for item in items)
        for repeat in range(repeats)
    ]


def total(costs: Sequence[Cost]) -> Cost:
    """Return the sum; its money is None where one of them has no known price."""
    prices = [cost.money for cost in costs if cost.money is not None]
    return Cost(
        input_tokens=sum(cost.input_tokens for cost in costs),
        output_tokens=sum(cost.output_tokens for cost in costs),
        money=sum(prices) if len(prices) == len(costs) else None,
    )
