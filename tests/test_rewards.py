"""A judge behind the gate as a reward: the signature that TRL calls, the gate first, missing answers as None."""

import asyncio
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from voirdire.errors import UsageError
from voirdire.judges._prompted import PromptedJudge
from voirdire.judges.planted import planted_judge
from voirdire.languages.fences import Reading
from voirdire.model import Asking, Message, ReaderSpec
from voirdire.questions import Score
from voirdire.rewards import GatedReward, gated
from voirdire.studies._replay_judge import read_prompt

GOOD, BAD, BROKEN = "def f(x):\n    return x", "def f(x):\n    return wrong", "def f(x):\n    return x)"
ASKED: list[str] = []


def policy(parts: Mapping[str, str], question: str, rng: Random) -> str | None:
    """Accept whatever is not wrong; refuse to answer about what is called odd. Every candidate is noted."""
    ASKED.append(parts["candidate"])
    if "odd" in parts["candidate"]:
        return None
    return "0" if "wrong" in parts["candidate"] else "1"


def judge() -> PromptedJudge:
    return planted_judge("not wrong", read_prompt(None).asking("planted"), policy, seed=1, deterministic=True)


@pytest.fixture
def reward() -> Iterator[GatedReward]:
    ASKED.clear()
    made = gated(judge())
    yield made
    made.close()


def test_it_meets_the_signature_that_trl_calls(reward: GatedReward) -> None:
    """As GRPOTrainer does: keywords, a list per column, further arguments of its own; a name for the log."""
    completions = [GOOD, BAD, BROKEN, ""]
    rewards = reward(
        prompts=["Return x."] * 4,
        completions=completions,
        completion_ids=[[1, 2]] * 4,
        trainer_state=SimpleNamespace(global_step=3),
        log_extra=None,
        gold=[GOOD] * 4,
    )
    assert rewards == [1.0, 0.0, 0.0, 0.0]
    assert all(isinstance(one, float) for one in rewards)
    assert reward.__name__ == "gated_judge"
    assert callable(reward)
    assert not inspect.iscoroutinefunction(reward)


def test_conversations_are_read_by_their_messages(reward: GatedReward) -> None:
    prompts = [[{"role": "system", "content": "Code."}, {"role": "user", "content": "Return x."}]] * 2
    said = [f"Here it is.\n\n```python\n{code}\n```\n" for code in (GOOD, BROKEN)]
    completions = [[{"role": "assistant", "content": text}] for text in said]
    assert reward(prompts, completions, gold=[GOOD] * 2) == [1.0, 0.0]
    assert [f"{GOOD}\n"] == ASKED


def test_the_judge_is_never_asked_about_what_cannot_run(reward: GatedReward) -> None:
    reward(["p"] * 3, [BROKEN, "", GOOD], gold=[GOOD] * 3)
    assert ASKED == [GOOD]
    assert (reward.refused, reward.asked, reward.missing) == (2, 1, 0)


def test_a_missing_answer_is_none_and_never_zero(reward: GatedReward) -> None:
    assert reward(["p"] * 2, ["odd = 1", GOOD], gold=[GOOD] * 2) == [None, 1.0]
    assert reward.missing == 1


def test_a_batch_without_any_answer_is_said_once_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "says_yes.py"
    path.write_text("def judge(problem, candidate):\n    return 'yes'\n")
    made = gated(f"{path}:judge")
    try:
        with pytest.warns(UserWarning, match="no reward for any of 2 completions: not one of 1, 0"):
            assert made(["p"] * 2, [GOOD, BAD], gold=[GOOD] * 2) == [None, None]
        assert made(["p"], ["x = 3"], gold=[GOOD]) == [None]
    finally:
        made.close()


@pytest.mark.parametrize(
    ("returned", "value"), [("1", 1.0), ("0", 0.0), ("True", 1.0), ("0.0", 0.0), ("'1'", 1.0)]
)
def test_a_function_may_return_one_and_zero_as_numbers(tmp_path: Path, returned: str, value: float) -> None:
    path = tmp_path / "plain.py"
    path.write_text(f"def judge(problem, candidate):\n    return {returned}\n")
    made = gated(f"{path}:judge")
    try:
        assert made(["p"], [GOOD], gold=[GOOD]) == [value]
    finally:
        made.close()


def test_it_works_inside_a_running_loop(reward: GatedReward) -> None:
    async def train() -> list[float | None]:
        return reward(["p"], [GOOD], gold=[GOOD])

    assert asyncio.run(train()) == [1.0]
    assert reward(["p"], [BAD], gold=[GOOD]) == [0.0]


def test_what_was_answered_is_not_asked_again(reward: GatedReward) -> None:
    for _ in range(3):
        reward(["p"] * 2, [GOOD, GOOD], gold=[GOOD] * 2)
    assert ASKED == [GOOD]


def test_an_empty_batch_is_empty(reward: GatedReward) -> None:
    assert reward([], [], gold=[]) == []


def test_a_limit_leaves_the_rest_missing() -> None:
    made = gated(judge(), max_calls=1, concurrency=1)
    try:
        rewards = made(["p"] * 3, [f"a = {number}" for number in range(3)], gold=["a"] * 3)
        assert sorted(rewards, key=str) == [1.0, None, None]
    finally:
        made.close()


def test_columns_that_are_not_there_are_named(reward: GatedReward) -> None:
    with pytest.raises(UsageError, match="no column 'gold'"):
        reward(["p"], [GOOD])
    with pytest.raises(UsageError, match="2 values for 1 completions"):
        reward(["p"], [GOOD], gold=["a", "b"])
    with pytest.raises(UsageError, match="2 prompts for 1 completions"):
        reward(["p", "q"], [GOOD], gold=["a"])


def test_the_problem_can_come_from_a_column_and_the_code_from_another_block() -> None:
    made = gated(judge(), problem="question", reading=Reading.FIRST)
    try:
        answer = f"```python\n{BAD}\n```\n\n```text\nan output (\n```\n"
        assert made(["p"], [answer], gold=["g"], question=["Return x."]) == [0.0]
        assert made.asked == 1
    finally:
        made.close()


def test_a_judge_with_another_question_is_refused() -> None:
    asking = Asking(
        (Message("user", "{{candidate}}"),), (Score("quality", "How good?"),), ReaderSpec("typed")
    )
    with pytest.raises(UsageError, match="not asked one question that is answered 1 or 0"):
        gated(planted_judge("scores", asking, lambda *_: 5.0, seed=1))


def test_an_address_opens_a_judge_and_a_ledger_keeps_its_answers(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    made = gated("planted:always_first", ledger=path)
    assert made(["p"], [GOOD], gold=[GOOD]) == [1.0]
    made.close()
    assert path.exists()
    with pytest.raises(UsageError, match="was closed"):
        made(["p"], [GOOD], gold=[GOOD])
