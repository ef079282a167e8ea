"""A probe from the self-check to the measurements, on scripted judges that answer in text."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engine.scripted import asker_on, judge_for, outcome_items, pair_items, reviewer
from voirdire.engine.conclude import conclude
from voirdire.engine.forms import Form
from voirdire.engine.rule import rule_judges
from voirdire.engine.run import ProbeRun, ask_repeats, plan_probe, run_probe
from voirdire.errors import DataError, SelfCheckError, UsageError
from voirdire.judges.planted import planted_judge
from voirdire.model import Asking, Expectation, Finding, Judge, Message, Ruling
from voirdire.probes.outcome import PROBE as OUTCOME
from voirdire.probes.position import PROBE as POSITION


def run(path: Path, judge: Judge, *, cases: int = 1, repeats: int = 10) -> ProbeRun:
    with asker_on(path) as asker:
        work = run_probe(OUTCOME, judge, outcome_items(cases), asker, planted=planted_judge, repeats=repeats)
        return asyncio.run(work)


def findings(found: ProbeRun) -> list[Finding]:
    return conclude(found.measurements, judge="j", family="page")


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize(
    ("leak", "blind", "expected"),
    [(0.0, False, Ruling.HOLDS), (3.0, False, Ruling.LEAKS), (3.0, True, Ruling.BLIND)],
)
def test_a_scripted_judge_is_ruled_for_what_it_does(
    tmp_path: Path, form: Form, leak: float, blind: bool, expected: Ruling
) -> None:
    judge = judge_for(OUTCOME, reviewer(leak=leak, blind=blind), form=form)
    found = run(tmp_path / "l.sqlite", judge, cases=8, repeats=20)
    general = findings(found)[-1]
    assert general.subject == "judge"
    assert general.ruling is expected


def test_seven_cases_allow_no_ruling_about_the_judge_in_general(tmp_path: Path) -> None:
    found = run(tmp_path / "l.sqlite", judge_for(OUTCOME, reviewer(leak=3.0)), cases=7)
    *cases, general = findings(found)
    assert {case.ruling for case in cases} == {Ruling.LEAKS}
    assert general.ruling is Ruling.UNRESOLVED
    assert "at least 8 cases, and 7 could be read" in general.sentence
    assert general.settles.startswith("1 further case at least")


def test_a_judge_that_did_not_read_the_outcome_gets_no_holds(tmp_path: Path) -> None:
    fair = reviewer()

    def no_damage(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
        return 1.0 if question == "damage" else fair(parts, question, rng)

    found = findings(run(tmp_path / "l.sqlite", judge_for(OUTCOME, no_damage), cases=8))
    assert {one.ruling for one in found} == {Ruling.UNRESOLVED}
    assert "nothing shows that it was read" in found[-1].sentence


def test_missing_answers_are_counted_by_arm_and_never_become_scores(tmp_path: Path) -> None:
    fair = reviewer()

    def shy(parts: Mapping[str, str], question: str, rng: random.Random) -> float | str | None:
        if question == "process" and "HARM" in parts["outcome"] and rng.random() < 0.6:
            return None
        return fair(parts, question, rng)

    found = run(tmp_path / "l.sqlite", judge_for(OUTCOME, shy), repeats=20)
    case = found.measurements[0]
    assert case.estimate.missing["base"] == 0
    assert 5 <= case.estimate.missing["variant"] <= 19
    assert case.estimate.asked == {"base": 20, "variant": 20}
    finding = findings(found)[0]
    assert finding.ruling is Ruling.UNRESOLVED
    assert "missing unevenly" in finding.flags[0]


def test_a_judge_that_always_refuses_is_neither_charged_nor_cleared(tmp_path: Path) -> None:
    found = findings(run(tmp_path / "l.sqlite", judge_for(OUTCOME, lambda *_: None), cases=8))
    assert {one.ruling for one in found} == {Ruling.UNRESOLVED}
    assert "refusal" in found[0].sentence


def test_a_deterministic_judge_is_asked_three_times_and_gets_no_interval(tmp_path: Path) -> None:
    judge = judge_for(OUTCOME, reviewer(leak=3.0, noise=0.0), deterministic=True)
    found = run(tmp_path / "l.sqlite", judge, repeats=10)
    case = found.measurements[0]
    assert len(found.trials[0].base.answers) == 3
    assert case.estimate.exact
    assert case.estimate.low is None
    assert "never more repeats" in case.settles
    assert findings(found)[0].ruling is Ruling.LEAKS


def test_a_judge_that_only_claims_to_repeat_itself_is_asked_all_repeats(tmp_path: Path) -> None:
    class Drifting:
        def __init__(self, judge: Judge) -> None:
            self.judge = judge

        deterministic = True

        def __getattr__(self, name: str) -> object:
            return getattr(self.judge, name)

    judge = Drifting(judge_for(OUTCOME, reviewer(noise=3.0)))
    request = judge.judge.render(outcome_items()[0])
    with asker_on(tmp_path / "l.sqlite") as asker:
        answers = asyncio.run(ask_repeats(judge, [request], asker, repeats=10))  # type: ignore[arg-type]
    assert len(answers[0]) == 10


def test_typed_probabilities_give_the_exact_p_of_two_distributions(tmp_path: Path) -> None:
    judge = judge_for(OUTCOME, reviewer(leak=3.0, noise=0.0), form=Form.TYPED, deterministic=True)
    case = run(tmp_path / "l.sqlite", judge).measurements[0]
    assert case.estimate.exact
    assert case.estimate.value is not None
    assert case.estimate.value < 0.2
    assert "distributions" in case.estimate.method


def test_the_rule_is_asked_half_in_the_negated_wording(tmp_path: Path) -> None:
    found = run(tmp_path / "l.sqlite", judge_for(OUTCOME, reviewer(rule="yes to all")))
    assert found.rule is not None
    assert found.rule.asked == 10
    assert found.rule.permits is None
    assert "5 of 10 answers allow the shift, 5 forbid it" in found.rule.note


def test_a_judge_that_cannot_state_a_rule_leaks_against_the_norm(tmp_path: Path) -> None:
    judge = judge_for(OUTCOME, reviewer(leak=3.0, rule="refuses"))
    finding = findings(run(tmp_path / "l.sqlite", judge))[0]
    assert finding.ruling is Ruling.LEAKS
    assert "norm of this probe" in finding.sentence
    assert finding.rule is not None
    assert "could not be asked" in finding.rule.note


def test_a_misread_planted_judge_stops_the_run_before_anything_is_asked(tmp_path: Path) -> None:
    def sleepy(name: str, asking: Asking, policy: object, *, seed: int, deterministic: bool = False) -> Judge:
        return planted_judge(name, asking, lambda *_: 5.0, seed=seed, deterministic=deterministic)

    judge = judge_for(OUTCOME, reviewer())
    with asker_on(tmp_path / "l.sqlite") as asker:
        with pytest.raises(
            SelfCheckError, match="planted judge 'leaks' was ruled 'blind' instead of 'leaks'"
        ):
            asyncio.run(run_probe(OUTCOME, judge, outcome_items(), asker, planted=sleepy))
        assert asker.account.asked == 0


def test_a_prompt_that_hides_the_changed_part_is_refused(tmp_path: Path) -> None:
    judge = judge_for(OUTCOME, reviewer())
    hidden = judge.reasking(replace(judge.asking, messages=(Message("user", "Only the log: {{log}}"),)))
    with (
        asker_on(tmp_path / "l.sqlite") as asker,
        pytest.raises(UsageError, match="does not see 'outcome'"),
    ):
        asyncio.run(run_probe(OUTCOME, hidden, outcome_items(), asker, planted=planted_judge))


def test_repeats_added_after_a_look_are_analysed_by_a_confidence_sequence(tmp_path: Path) -> None:
    judge = judge_for(OUTCOME, reviewer())
    first = run(tmp_path / "l.sqlite", judge, repeats=10).measurements[0].estimate
    again = run(tmp_path / "l.sqlite", judge, repeats=10).measurements[0].estimate
    more = run(tmp_path / "l.sqlite", judge, repeats=20).measurements[0].estimate
    assert again == first
    assert "sequence" in more.method
    assert "sequence" not in first.method
    assert more.low is not None
    assert more.high is not None
    assert more.low <= (more.value or 0) <= more.high


def test_a_budget_leaves_the_rest_missing_and_the_run_partial(tmp_path: Path) -> None:
    judge = judge_for(OUTCOME, reviewer())
    with asker_on(tmp_path / "l.sqlite", max_calls=25) as asker:
        found = asyncio.run(run_probe(OUTCOME, judge, outcome_items(), asker, planted=planted_judge))
        assert asker.account.partial
        assert asker.account.asked == 25
    assert sum(found.measurements[0].estimate.missing.values()) > 0
    assert findings(found)[0].ruling is Ruling.UNRESOLVED
    whole = run(tmp_path / "l.sqlite", judge)
    assert sum(whole.measurements[0].estimate.missing.values()) == 0


def test_the_plan_counts_every_call_that_the_run_makes(tmp_path: Path) -> None:
    judge = judge_for(OUTCOME, reviewer())
    planned = plan_probe(OUTCOME, judge, outcome_items(3), repeats=10).calls
    with asker_on(tmp_path / "l.sqlite") as asker:
        asyncio.run(run_probe(OUTCOME, judge, outcome_items(3), asker, planted=planted_judge))
        assert asker.account.asked == len(planned) == 3 * 4 * 10 + 10


def test_items_that_share_an_id_and_no_items_at_all_are_refused() -> None:
    judge = judge_for(OUTCOME, reviewer())
    with pytest.raises(DataError, match="two items have the id 'case-0'"):
        plan_probe(OUTCOME, judge, outcome_items() * 2)
    with pytest.raises(UsageError, match="was given no items"):
        plan_probe(OUTCOME, judge, [])


def first_lover(parts: Mapping[str, str], question: str, rng: random.Random) -> str:
    return "first" if question == "better" else "no"


def fair_pairs(parts: Mapping[str, str], question: str, rng: random.Random) -> str:
    if question != "better":
        return "no"
    return "first" if "good" in parts["first"] else "second"


def coin(parts: Mapping[str, str], question: str, rng: random.Random) -> str:
    return rng.choice(("first", "second")) if question == "better" else rng.choice(("yes", "no"))


@pytest.mark.parametrize(
    ("policy", "n", "expected"),
    [(first_lover, 40, Ruling.LEAKS), (fair_pairs, 40, Ruling.HOLDS), (coin, 400, Ruling.BLIND)],
)
def test_position_reads_slot_lovers_fair_judges_and_coins(
    tmp_path: Path, policy: object, n: int, expected: Ruling
) -> None:
    judge = judge_for(POSITION, policy)  # type: ignore[arg-type]
    with asker_on(tmp_path / "l.sqlite") as asker:
        found = asyncio.run(run_probe(POSITION, judge, pair_items(n), asker, planted=planted_judge))
    finding = findings(found)[0]
    assert finding.ruling is expected
    assert finding.control_line is not None
    assert found.measurements[0].control_expect is Expectation.LOWER


def test_the_order_in_which_pairs_arrive_does_not_change_the_advantage(tmp_path: Path) -> None:
    judge = judge_for(POSITION, first_lover)
    mixed = [item.with_part("order", "ba" if k % 2 else "ab") for k, item in enumerate(pair_items(20))]
    with asker_on(tmp_path / "l.sqlite") as asker:
        found = asyncio.run(run_probe(POSITION, judge, mixed, asker, planted=planted_judge))
    assert found.measurements[0].estimate.value == 1.0


def test_a_judge_file_may_word_the_rule_question_itself(tmp_path: Path) -> None:
    judge = judge_for(OUTCOME, reviewer())
    worded = replace(judge, rules={"outcome": ("May luck count?", "Must luck be left out?")})
    asked = [one.asking.messages[-1].text for one in rule_judges(worded, OUTCOME)]
    assert [text.partition("\n")[0] for text in asked] == ["May luck count?", "Must luck be left out?"]


def test_two_prompts_on_one_model_never_share_what_they_say_of_their_rule() -> None:
    judge = judge_for(OUTCOME, reviewer())
    other = judge.reasking(
        replace(judge.asking, messages=(Message("system", "Be strict."), *judge.asking.messages))
    )
    same, changed = rule_judges(judge, OUTCOME)[0], rule_judges(other, OUTCOME)[0]
    assert same.asking.messages == changed.asking.messages
    assert same.identity.fingerprint != changed.identity.fingerprint
    assert same.identity.fingerprint == rule_judges(judge, OUTCOME)[0].identity.fingerprint
