"""Judges and calls that the tests of this room share."""

from collections.abc import Mapping

from voirdire.engine.ask import Asker
from voirdire.engine.budget import Budget
from voirdire.engine.ledger import Ledger
from voirdire.engine.pace import AdaptivePace
from voirdire.engine.plan import Call, calls_for
from voirdire.engine.progress import NoProgress
from voirdire.judges import open_judge
from voirdire.judges._prompted import PromptedJudge
from voirdire.model import Asking, Item, JudgeSpec, Message, ReaderSpec
from voirdire.questions import Score

ASKING = Asking(
    messages=(Message("user", "Score this from 0 to 10: {{response}}"),),
    questions=(Score("SCORE", "How good is it?"),),
    reader=ReaderSpec("first_line"),
)


def chat_judge(
    url: str,
    *,
    asking: Asking = ASKING,
    model: str = "m",
    sampling: Mapping[str, object] | None = None,
    remedies: tuple[Mapping[str, object], ...] = (),
    **options: object,
) -> PromptedJudge:
    """Open a chat judge at `url`."""
    spec = JudgeSpec(
        name="test",
        backend="openai",
        model=model,
        asking=asking,
        sampling=sampling or {},
        options={"base_url": url, **options},
        remedies=remedies,
    )
    return open_judge(spec)


def items(n: int) -> list[Item]:
    """Return `n` items, all different."""
    return [Item(f"item-{k}", {"response": f"answer number {k}"}) for k in range(n)]


def calls(judge: PromptedJudge, n: int, *, repeats: int = 1) -> list[Call]:
    """Return the calls that ask about `n` items."""
    return calls_for(judge, items(n), repeats=repeats)


def asker(
    ledger: Ledger, *, budget: Budget | None = None, pace: AdaptivePace | None = None, grace: float = 5.0
) -> Asker:
    """Return an asker that is quick to give up."""
    return Asker(
        ledger=ledger,
        pace=pace or quick_pace(),
        budget=budget or Budget(),
        progress=NoProgress(),
        grace=grace,
        poll=0.02,
    )


def quick_pace(concurrency: int = 8, *, attempts: int = 3, timeout: float = 20.0) -> AdaptivePace:
    """Return a pace that waits hardly at all between attempts."""
    return AdaptivePace(
        concurrency=concurrency,
        attempts=attempts,
        timeout=timeout,
        first_wait=0.001,
        longest_wait=0.01,
        seed=1,
    )
