"""What the judge tests share: an item, an asking, a pace without limits, one question asked from end to end."""

import asyncio
from collections.abc import Awaitable, Callable

from voirdire.judges import open_judge
from voirdire.model import (
    Answer,
    Asking,
    Item,
    Judge,
    JudgeSpec,
    Message,
    ReaderSpec,
    Verdict,
)
from voirdire.questions import Question, Score

PROCESS = Score("process", "How good were the decisions?", 0, 10)
DAMAGE = Score("damage", "How much harm came about?", 0, 10)
ITEM = Item("support-3", {"log": "the agent skipped the test e-mail", "outcome": "nothing happened"})
RULE_ITEM = Item("rule", {})


class AtOnce:
    """A pace without limits or second attempts."""

    async def send(self, attempt: Callable[[], Awaitable[Answer]]) -> Answer:
        return await attempt()


def asking(
    reader: str = "typed",
    questions: tuple[Question, ...] = (PROCESS, DAMAGE),
    prompt: str = "{{log}} {{outcome}}",
) -> Asking:
    return Asking((Message("user", prompt),), questions, ReaderSpec(reader))


def spec(backend: str, model: str, **options: object) -> JudgeSpec:
    return JudgeSpec(name=f"{backend}:{model}", backend=backend, model=model, options=options)


async def ask(judge: Judge, item: Item = ITEM, repeat: int = 0) -> tuple[Verdict, ...]:
    request = judge.render(item)
    answer = await judge.ask(request, repeat=repeat, pace=AtOnce())
    return judge.read(request, answer, repeat=repeat)


def ask_once(of: JudgeSpec, what: Asking, item: Item = ITEM, repeat: int = 0) -> dict[str, Verdict]:
    """Open, ask one item once, close."""

    async def run() -> tuple[Verdict, ...]:
        judge = open_judge(of, what)
        try:
            return await ask(judge, item, repeat)
        finally:
            await judge.close()

    return {verdict.question_id: verdict for verdict in asyncio.run(run())}
