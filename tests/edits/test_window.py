"""Windows: the first user turn, the steps around the decision, the final report.

What is left out is counted.
"""

import pytest

from voirdire.edits.run_log import Actor, LogStep, Passage, RunLog
from voirdire.edits.window import Window, through
from voirdire.errors import DataError


def log(steps: int) -> RunLog:
    def step(number: int) -> LogStep:
        source = Actor.SYSTEM if number == 0 else Actor.USER if number == 1 else Actor.AGENT
        return LogStep(source, (Passage(str(source), f"step {number}"),))

    return RunLog(tuple(step(number) for number in range(steps)))


def shown(windowed: RunLog) -> list[str]:
    return [passage.text for passage in windowed.passages()]


def test_first_user_turn_decision_and_report_stay_and_gaps_are_counted() -> None:
    seen = through(log(100), [50], Window(before=2, after=1))
    assert shown(seen.log) == [
        *("step 0", "step 1", "[… 46 steps not shown …]"),
        *("step 48", "step 49", "step 50", "step 51", "[… 47 steps not shown …]", "step 99"),
    ]
    assert seen.steps_not_shown == 93
    assert "\n\n[… 46 steps not shown …]\n\n" in seen.log.text()


def test_one_step_is_one_step() -> None:
    seen = through(log(6), [3], Window(before=0, after=1))
    assert shown(seen.log)[2] == "[… 1 step not shown …]"


def test_all_steps_of_a_decision_stay() -> None:
    seen = through(log(30), [10, 11, 12], Window(before=0, after=0))
    assert shown(seen.log)[3:6] == ["step 10", "step 11", "step 12"]


def test_a_log_that_fits_is_shown_whole() -> None:
    seen = through(log(5), [3], Window())
    assert seen.log == log(5)
    assert (seen.steps_not_shown, seen.characters_not_shown) == (0, 0)


def test_a_report_that_is_not_the_last_step_stays_and_what_follows_is_counted() -> None:
    steps = (*log(20).steps, LogStep(Actor.USER, (Passage("user", "thanks"),)))
    seen = through(RunLog(steps), [5], Window(before=0, after=0))
    assert shown(seen.log)[-2:] == ["step 19", "[… 1 step not shown …]"]


def test_a_long_passage_loses_its_middle_and_the_loss_is_counted() -> None:
    words = " ".join(str(number) for number in range(2000))
    steps = (
        LogStep(Actor.USER, (Passage("user", words),)),
        LogStep(Actor.AGENT, (Passage("agent", "done"),)),
    )
    seen = through(RunLog(steps), [1], Window(characters=400))
    text = shown(seen.log)[0]
    head, marker, tail = text.split("\n")
    assert words.startswith(head)
    assert words.endswith(tail)
    assert marker == f"[… {seen.characters_not_shown} characters not shown …]"
    assert len(head) + len(tail) + seen.characters_not_shown == len(words)
    assert len(head) + len(tail) <= 400


@pytest.mark.parametrize("decision", [[], [7], [-1]])
def test_a_decision_that_is_not_in_the_log_is_refused(decision: list[int]) -> None:
    with pytest.raises(DataError, match="the log has 5 steps"):
        through(log(5), decision, Window())


def test_the_rule_says_itself() -> None:
    assert "3 steps before and 2 after the decision" in str(Window())
