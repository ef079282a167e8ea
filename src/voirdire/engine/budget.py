"""Hard stops: a number of calls and an amount of money that a run never passes.

Before a call is sent its worst case is reserved; afterwards what it really cost is settled. What is reserved and
what is spent never pass a limit together, however many calls are in flight.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from voirdire.errors import UsageError
from voirdire.model import Cost, Request

_ROUNDING = 1e-9


class Budget:
    """`max_calls`: requests sent, retries of a request that may have been answered included. `max_cost`: US dollars.

    None: no limit. Raises UsageError for a negative limit.
    """

    def __init__(self, max_calls: int | None = None, max_cost: float | None = None) -> None:
        for name, limit in (("--max-calls", max_calls), ("--max-cost", max_cost)):
            if limit is not None and not limit >= 0:
                raise UsageError(
                    f"{name} is {limit}", hint="give a number that is not negative, or leave it out"
                )
        self.max_calls = max_calls
        self.max_cost = max_cost
        self.calls = 0
        self.money = 0.0
        self._calls_in_flight = 0
        self._money_in_flight = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limited(self) -> bool:
        """Whether there is any limit to keep."""
        return self.max_calls is not None or self.max_cost is not None

    @property
    def limit(self) -> str:
        """Name the limits, as the options that set them."""
        calls = [] if self.max_calls is None else [f"--max-calls {self.max_calls}"]
        cost = [] if self.max_cost is None else [f"--max-cost {self.max_cost:g}"]
        return " and ".join(calls + cost)

    def check(self, requests: Iterable[Request]) -> None:
        """Raise UsageError where money is limited and a request has no known price."""
        if self.max_cost is None:
            return
        unpriced = next((request for request in requests if request.worst.money is None), None)
        if unpriced is not None:
            raise UsageError(
                f"--max-cost {self.max_cost:g} cannot be kept: '{unpriced.item_id}' is asked at no known price",
                hint="give `price_in` and `price_out`, US dollars per million tokens, at the top of the judge file, "
                "where `voirdire init` has them; or limit the run with --max-calls",
            )

    async def reserve(self, worst: Cost) -> bool:
        """Set aside what one call may cost at worst; False where it does not fit and nothing in flight can free it.

        Waits while it does not fit but calls in flight may turn out cheaper than their worst case.
        """
        while not self._fits(worst):
            if not self._calls_in_flight:
                return False
            change = asyncio.get_running_loop().create_future()
            self._waiting.append(change)
            await change
        self._calls_in_flight += 1
        self._money_in_flight += worst.money or 0.0
        return True

    def settle(self, worst: Cost, *, spent: float | None) -> None:
        """End a reservation by a call that was, or may have been, answered. `spent` None: unknown, so the worst."""
        self.calls += 1
        self.money += (worst.money or 0.0) if spent is None else spent
        self._free(worst)

    def release(self, worst: Cost) -> None:
        """End a reservation by a call that surely cost nothing."""
        self._free(worst)

    def _fits(self, worst: Cost) -> bool:
        calls = self.calls + self._calls_in_flight + 1
        money = self.money + self._money_in_flight + (worst.money or 0.0)
        return (self.max_calls is None or calls <= self.max_calls) and (
            self.max_cost is None or money <= self.max_cost + _ROUNDING
        )

    def _free(self, worst: Cost) -> None:
        self._calls_in_flight -= 1
        self._money_in_flight = self._money_in_flight - (worst.money or 0.0) if self._calls_in_flight else 0.0
        while self._waiting:
            change = self._waiting.popleft()
            if not change.done():
                change.set_result(None)
