"""Reward functions for training loops: a judge behind the parse gate.

    from voirdire.rewards import gated
    trainer = GRPOTrainer(..., reward_funcs=[gated("openai:MODEL")])

A reward has the signature that TRL calls: `reward(prompts, completions, **columns) -> list[float | None]`, with texts or
with conversations; every column of the data set comes as a list. Code that does not parse gets 0 and the judge is never
asked about it. An answer that cannot be read gives None, never 0: TRL then leaves the sample out of that reward.
"""

from __future__ import annotations

import asyncio
import atexit
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from voirdire.errors import UsageError
from voirdire.languages.fences import Reading

if TYPE_CHECKING:
    from voirdire.engine.ask import Asker
    from voirdire.languages.gate import Admission
    from voirdire.languages.parsing import Parsers
    from voirdire.model import Judge

Message = dict[str, Any]
Text = str | Sequence[Message]
"""A prompt or a completion: a text, or messages with `role` and `content`."""

Made = TypeVar("Made")

REFUSED = 0.0
"""What the gate gives code that does not parse."""


class Reward(Protocol):
    """A batched reward function as TRL calls it."""

    __name__: str

    def __call__(
        self, prompts: Sequence[Text], completions: Sequence[Text], **columns: Any
    ) -> list[float | None]:
        """Return one reward per completion, in order; None where there is none."""
        ...


def gated(
    judge: str | Judge,
    *,
    gold: str = "gold",
    problem: str | None = None,
    language: str = "python",
    reading: Reading | None = None,
    ledger: Path | None = None,
    max_calls: int | None = None,
    max_cost: float | None = None,
    concurrency: int = 32,
    prompt: Path | None = None,
) -> GatedReward:
    """Return a reward: 0 for code that does not parse, else the judge's 1 or 0, else None.

    judge: an address, a judge file, or an open judge. gold: the column with the gold answers; where the judge's prompt
    does not show it, none is needed. problem: the column with the problems; None: the prompts. reading: which fenced
    block of a completion is the code; None: the last, or the whole completion where there is no fence. ledger: where
    answers are kept; None: in a file that ends with the process. prompt: a file in place of the prompt that ships.
    Raises UsageError for a judge that is not asked one question answered 1 or 0.
    """
    return GatedReward(
        judge,
        gold=gold,
        problem=problem,
        language=language,
        reading=reading,
        ledger=ledger,
        limits=(max_calls, max_cost),
        concurrency=concurrency,
        prompt=prompt,
    )


class GatedReward:
    """What `gated` returns. `close` ends its judge and its thread; so does the end of the process.

    `refused`, `asked` and `missing` count completions until now: those the gate refused, those put to the judge, and
    those of them without a readable answer. The first batch of which no answer can be read gives a UserWarning that
    names the commonest reason.
    """

    def __init__(
        self,
        judge: str | Judge,
        *,
        gold: str = "gold",
        problem: str | None = None,
        language: str = "python",
        reading: Reading | None = None,
        ledger: Path | None = None,
        limits: tuple[int | None, float | None] = (None, None),
        concurrency: int = 32,
        prompt: Path | None = None,
        gate: bool = True,
    ) -> None:
        self.__name__ = "gated_judge" if gate else "judge"
        self.refused = self.asked = self.missing = 0
        self._judge = _opened(judge, prompt)
        self._gold, self._problem = gold, problem
        self._language, self._reading, self._gate = language, reading, gate
        self._thread = _LoopThread()
        self._limits, self._concurrency = limits, concurrency
        self._folder = None if ledger else tempfile.TemporaryDirectory(prefix="voirdire-rewards-")
        self._ledger = ledger or Path(self._folder.name if self._folder else "") / "ledger.sqlite"
        self._parsers: Parsers | None = None
        self._asker: Asker | None = None
        self._closed = self._warned = False
        self._reasons: list[str] = []
        atexit.register(self.close)

    def __call__(
        self, prompts: Sequence[Text], completions: Sequence[Text], **columns: Any
    ) -> list[float | None]:
        """Return one reward per completion. Raises UsageError where the columns do not match the completions."""
        if self._closed:
            raise UsageError("this reward was closed", hint="make a new one")
        if len(prompts) != len(completions):
            raise UsageError(
                f"{len(prompts)} prompts for {len(completions)} completions",
                hint="give one prompt per completion",
            )
        problems = [_text_of(one) for one in self._column(self._problem, columns, prompts)]
        golds = self._golds(columns, len(completions))
        admissions = self._admitted([_text_of(one) for one in completions])
        rewards: list[float | None] = [REFUSED] * len(completions)
        open_places = [place for place, one in enumerate(admissions) if one.accepted or not self._gate]
        self.refused += len(completions) - len(open_places)
        asked = [(problems[place], golds[place], admissions[place].code) for place in open_places]
        for place, value in zip(
            open_places, self._thread.run(self._ask(asked)) if asked else (), strict=True
        ):
            rewards[place] = value
            self.missing += value is None
        self.asked += len(asked)
        if asked and all(rewards[place] is None for place in open_places):
            self._warn(len(asked))
        return rewards

    def close(self) -> None:
        """End the judge, the parsers and the thread. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        with suppress(Exception):
            self._thread.run(self._end())
        self._thread.close()
        if self._parsers is not None:
            self._parsers.close()
        if self._folder is not None:
            self._folder.cleanup()

    # --- inside

    def _warn(self, asked: int) -> None:
        """Say once that a whole batch was put to the judge and no answer could be read, and the commonest reason."""
        if self._warned:
            return
        self._warned = True
        reason, times = Counter(self._reasons).most_common(1)[0]
        warnings.warn(
            f"the judge gave no reward for any of {asked} completions: {reason} ({times})",
            UserWarning,
            stacklevel=3,
        )

    def _column(self, name: str | None, columns: dict[str, Any], instead: Sequence[Text]) -> Sequence[Text]:
        if name is None:
            return instead
        return self._given(name, columns, len(instead))

    def _golds(self, columns: dict[str, Any], n: int) -> list[str]:
        from voirdire.studies._replay_judge import shows_gold

        if self._gold not in columns and not shows_gold(self._judge):
            return [""] * n
        return [_text_of(one) for one in self._given(self._gold, columns, n)]

    def _given(self, name: str, columns: dict[str, Any], n: int) -> Sequence[Text]:
        values = columns.get(name)
        if values is None:
            known = ", ".join(sorted(columns)) or "none"
            raise UsageError(
                f"there is no column '{name}' beside the completions", hint=f"columns there are: {known}"
            )
        if len(values) != n:
            raise UsageError(
                f"column '{name}' has {len(values)} values for {n} completions",
                hint="give one per completion",
            )
        chosen: Sequence[Text] = values
        return chosen

    def _admitted(self, texts: Sequence[str]) -> list[Admission]:
        from voirdire.languages.gate import gate_all
        from voirdire.languages.parsing import Parsers

        if self._parsers is None:
            self._parsers = Parsers()
        readings = [self._reading or (Reading.LAST if _fenced(text) else Reading.WHOLE) for text in texts]
        admitted: dict[int, Admission] = {}
        for reading in dict.fromkeys(readings):
            places = [place for place, one in enumerate(readings) if one is reading]
            said = gate_all(
                [texts[place] for place in places], self._language, reading=reading, parsers=self._parsers
            )
            admitted.update(zip(places, said, strict=True))
        return [admitted[place] for place in range(len(texts))]

    async def _ask(self, candidates: Sequence[tuple[str, str, str]]) -> list[float | None]:
        from voirdire.engine.plan import Call
        from voirdire.model import Item
        from voirdire.studies._replay_judge import accepted

        if self._asker is None:
            self._asker = self._new_asker()
        items = [
            Item(f"completion-{place}", {"problem": problem, "gold": gold, "candidate": code})
            for place, (problem, gold, code) in enumerate(candidates)
        ]
        verdicts = await self._asker.ask([Call(self._judge, self._judge.render(item)) for item in items])
        said = [accepted(verdict[0]) for verdict in verdicts]
        self._reasons = [reason or "missing" for value, reason in said if value is None]
        return [value for value, _ in said]

    def _new_asker(self) -> Asker:
        from voirdire.engine.ask import Asker
        from voirdire.engine.budget import Budget
        from voirdire.engine.ledger import Ledger
        from voirdire.engine.pace import AdaptivePace
        from voirdire.engine.progress import NoProgress

        self._opened_ledger = Ledger(self._ledger)
        return Asker(
            ledger=self._opened_ledger,
            pace=AdaptivePace(concurrency=self._concurrency),
            budget=Budget(max_calls=self._limits[0], max_cost=self._limits[1]),
            progress=NoProgress(),
        )

    async def _end(self) -> None:
        await self._judge.close()
        if self._asker is not None:
            self._opened_ledger.close()


def _opened(judge: str | Judge, prompt: Path | None) -> Judge:
    from voirdire.studies._replay_judge import check_judge, contract_spec, read_prompt

    opened: Judge
    if isinstance(judge, str):
        from voirdire.judges import open_judge, read_spec

        spec = contract_spec(read_spec(judge))
        opened = open_judge(spec, read_prompt(prompt).asking(spec.backend))
    else:
        opened = judge
    check_judge(opened)
    return opened


def _text_of(text: Text) -> str:
    """Return a text, or the contents of messages one below the other."""
    if isinstance(text, str):
        return text
    return "\n\n".join(_content(message) for message in text)


def _content(message: Message) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content if isinstance(part, dict))


def _fenced(text: str) -> bool:
    from voirdire.languages.fences import blocks

    return ("```" in text or "~~~" in text) and bool(blocks(text))


class _LoopThread:
    """An event loop in a thread of its own, so that a reward works inside a running loop and outside of one."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, Made]) -> Made:
        """Run asynchronous work to its end, whatever this thread is doing."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="voirdire-rewards", daemon=True
                )
                self._thread.start()
            future: Future[Made] = asyncio.run_coroutine_threadsafe(work, self._loop)
            return future.result()

    def close(self) -> None:
        """End the loop and its thread."""
        with self._lock:
            if self._loop is None or self._thread is None:
                return
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None
