"""The outcome study on scripted judges: the probe and all that can be asked beside it."""

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.engine.scripted import Policy, asker_on, judge_for, outcome_items, reviewer
from voirdire.blocks import QuoteBlock, TableBlock
from voirdire.engine.forms import Form
from voirdire.engine.run import versions
from voirdire.judges.planted import planted_judge
from voirdire.model import Examination, Finding, FindingKind, Judge, Ruling
from voirdire.probes.outcome import PROBE
from voirdire.studies._inside import INSIDE, NOTE
from voirdire.studies.outcome import OutcomeOptions, examine_outcome, plan_outcome

ALL = OutcomeOptions(inside=True, awareness=True, committed=True)


def examined(path: Path, judges: list[Judge], options: OutcomeOptions = ALL, cases: int = 2) -> Examination:
    with asker_on(path) as asker:
        work = examine_outcome(judges, outcome_items(cases), asker, options, planted=planted_judge)
        return asyncio.run(work)


def named(examination: Examination, name: str, subject: str = "judge") -> Finding:
    return next(one for one in examination if one.name == name and one.subject == subject)


def table(finding: Finding, title: str) -> TableBlock:
    return next(block for block in finding.blocks if isinstance(block, TableBlock) and title in block.title)


def test_the_plan_covers_every_call_of_the_whole_study(tmp_path: Path) -> None:
    judge = judge_for(PROBE, reviewer())
    planned = plan_outcome(judge, outcome_items(2), ALL)
    with asker_on(tmp_path / "l.sqlite") as asker:
        assert asker.forecast(planned).to_ask == 330
        work = examine_outcome([judge], outcome_items(2), asker, ALL, planted=planted_judge)
        account = asyncio.run(work).account
        assert account.asked == asker.forecast(planned).calls
    assert account.asked == 2 * (40 + 40 + 20 + 20 + 40) + 10


def test_only_the_log_differs_when_the_outcome_stands_inside_it() -> None:
    item = outcome_items()[0]
    shown = versions(INSIDE, item)
    assert shown["base"]["log"] == item["log"] + NOTE + item["outcome"]
    assert shown["variant"]["log"] == item["log"] + NOTE + item["outcome_harm"]
    assert shown["control_base"]["log"] == item["log"] + NOTE + item["outcome_unrelated"]
    assert shown["control_variant"]["log"] == item["log_done"] + NOTE + item["outcome_unrelated"]
    assert len({version["outcome"] for version in shown.values()}) == 1


def reads_whole_prompt(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
    """Leak wherever HARM is told, in the note or in the log."""
    text = parts.get("log", "") + parts.get("outcome", "")
    return reviewer(leak=3.0)({**parts, "outcome": text}, question, rng)


def test_an_outcome_inside_the_log_still_leaks_for_a_judge_that_reads_it(tmp_path: Path) -> None:
    judge = judge_for(PROBE, reads_whole_prompt)
    found = examined(tmp_path / "l.sqlite", [judge], OutcomeOptions(inside=True), cases=1)
    assert named(found, "outcome_in_log", "case-0").ruling is Ruling.LEAKS


def test_awareness_counts_the_yes_share_of_each_case(tmp_path: Path) -> None:
    found = examined(tmp_path / "l.sqlite", [judge_for(PROBE, reviewer())], OutcomeOptions(awareness=True))
    finding = named(found, "outcome_awareness")
    rows = table(finding, "written as a test").rows
    assert [row[0] for row in rows] == ["case-0", "case-1"]
    assert all(row[2] == 20 and row[3] == 0 for row in rows)
    assert finding.ruling is None
    assert finding.estimate is not None
    assert 0.1 < (finding.estimate.value or 0) < 0.6
    assert "took the prompt for a test" in finding.sentence


def test_a_judge_that_keeps_its_score_is_cleared_by_committing_first(tmp_path: Path) -> None:
    def keeps(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
        if "first_answer" in parts and question == "process":
            return float(parts["first_answer"].split()[1])
        return reviewer(leak=3.0)(parts, question, rng)

    judge = judge_for(PROBE, keeps)
    found = examined(tmp_path / "l.sqlite", [judge], OutcomeOptions(committed=True, repeats=20), cases=12)
    assert named(found, "outcome").ruling is Ruling.LEAKS
    assert named(found, "outcome_committed").ruling is Ruling.HOLDS
    changes = named(found, "outcome_committed_changes")
    assert changes.kind is FindingKind.REMEDY
    assert "changed 0 of 240 scores after the harm" in changes.sentence


def test_a_judge_that_gives_in_after_the_reveal_still_leaks(tmp_path: Path) -> None:
    def gives_in(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
        if "first_answer" in parts and question == "process":
            first = float(parts["first_answer"].split()[1])
            return max(0.0, first - 2) if "HARM" in parts["outcome"] else first
        return reviewer()(parts, question, rng)

    found = examined(tmp_path / "l.sqlite", [judge_for(PROBE, gives_in)], OutcomeOptions(committed=True))
    changes = named(found, "outcome_committed_changes")
    rows = {row[0]: row for row in table(changes, "changed after the reveal").rows}
    assert rows["harm"][1:] == (20, 0, 20, 0)
    assert rows["an irrelevant failure"][1:] == (20, 0, 0, 0)
    assert rows["no harm"][1:] == (20, 0, 0, 0)
    assert named(found, "outcome_committed", "case-0").ruling is Ruling.LEAKS


def test_a_first_score_that_cannot_be_read_leaves_the_second_missing(tmp_path: Path) -> None:
    def shy(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
        if "outcome" not in parts and question == "process":
            return None
        return reviewer()(parts, question, rng)

    found = examined(tmp_path / "l.sqlite", [judge_for(PROBE, shy)], OutcomeOptions(committed=True), cases=1)
    second = named(found, "outcome_committed", "case-0")
    assert second.ruling is Ruling.UNRESOLVED
    assert second.estimate is not None
    assert second.estimate.missing == {"base": 10, "variant": 10}
    assert "no first score" in second.sentence


@pytest.mark.parametrize("form", list(Form))
def test_the_whole_study_runs_in_every_form(tmp_path: Path, form: Form) -> None:
    judge = judge_for(PROBE, reviewer(), form=form)
    found = examined(tmp_path / "l.sqlite", [judge], cases=1)
    assert not found.account.unreadable
    assert found.account.partial is None


class TalkingJudge:
    """Adds a reason below the first line of another judge's answers."""

    def __init__(self, inner: Judge, reason: str) -> None:
        self.inner, self.reason = inner, reason

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def ask(self, *args: object, **kwargs: object) -> object:
        from dataclasses import replace

        answer = await self.inner.ask(*args, **kwargs)  # type: ignore[arg-type]
        return replace(answer, raw=f"{answer.raw}\n{self.reason}")


def quotes(found: Examination) -> list[tuple[str, str]]:
    return [
        quote
        for finding in found
        for block in finding.blocks
        if isinstance(block, QuoteBlock) and "Stated reason" in block.title
        for quote in block.quotes
    ]


def test_words_that_state_the_rule_while_the_score_moved_are_listed_as_evidence(tmp_path: Path) -> None:
    leaky: Judge = judge_for(PROBE, reviewer(leak=3.0))
    talking = TalkingJudge(leaky, "The agent could not have known; hindsight plays no part.")
    found = examined(tmp_path / "a.sqlite", [talking], OutcomeOptions(), cases=1)  # type: ignore[list-item]
    assert any("states the rule" in label for label, _ in quotes(found))
    silent = examined(tmp_path / "b.sqlite", [leaky], OutcomeOptions(), cases=1)
    assert quotes(silent) == []
    ruled = [[one.ruling for one in each] for each in (found, silent)]
    assert ruled[0] == ruled[1]


def own_runs_spared(model: str) -> Policy:
    def answer(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
        own = model in parts.get("log", "")
        return reviewer(leak=0.0 if own else 3.0)(parts, question, rng)

    return answer


def test_the_grid_tells_self_preference_from_following_the_rule(tmp_path: Path) -> None:
    items = [
        item.with_part("log", item["log"] + " by " + author).with_part(
            "log_done", item["log_done"] + " by " + author
        )
        for author in ("alpha", "beta")
        for item in [
            next(iter(outcome_items(1, author))),
        ]
    ]
    renamed = [
        type(item)(f"{item.id}-{k}", item.parts, origin=outcome_items(1, author)[0].origin)
        for k, (item, author) in enumerate(zip(items, ("alpha", "beta"), strict=True))
    ]
    judge = judge_for(PROBE, own_runs_spared("alpha"))
    judge.backend.settings["model"] = "alpha"  # type: ignore[index]
    with asker_on(tmp_path / "l.sqlite") as asker:
        work = examine_outcome([judge], renamed, asker, OutcomeOptions(), planted=planted_judge)
        found = asyncio.run(work)
    rows = {
        row[1]: row for row in table(named(found, "outcome_grid", "judges by agents"), "by the agents").rows
    }
    assert rows["alpha"][2] == "own"
    assert rows["beta"][2] == "other"
    assert float(str(rows["alpha"][4])) > 0.3
    assert float(str(rows["beta"][4])) < 0.1


def test_both_readings_stand_side_by_side(tmp_path: Path) -> None:
    found = examined(tmp_path / "l.sqlite", [judge_for(PROBE, reviewer(leak=3.0))], OutcomeOptions())
    rows = table(named(found, "outcome"), "protocol's reading").rows
    assert [row[2:4] for row in rows] == [("leakage", "leaks"), ("leakage", "leaks")]
