"""The first sentences: derived from rulings alone, and never more than was measured."""

from dataclasses import replace

import pytest

from tests.report.samples import (
    CASES,
    account,
    audit,
    checks,
    empty,
    examination,
    fair_judge,
    judge,
    leaking_judge,
    misread_check,
    outcome,
    position,
    several_judges,
)
from voirdire.model import Account, Examination, FindingKind, Ruling
from voirdire.report.answers import Reply, Standing, Use, first_change, replies, reply_for, standings

ONE = judge()


def _by_question(one: Examination) -> dict[str, Reply]:
    return {reply.question: reply for reply in replies(one)}


def _stands(one: Examination) -> list[Standing]:
    return [reply.standing for reply in replies(one)[:3]]


def test_leaks_deny_what_they_bear_on() -> None:
    answers = _by_question(leaking_judge())
    score = answers["Can I trust a score?"]
    assert score.standing is Standing.NO
    assert score.sentence == "Its verdict moves with what should not count: outcome (support and operations)."
    assert [finding.subject for finding in score.grounds] == ["support", "operations"]
    assert "position" in answers["Can I trust a ranking?"].sentence
    assert "outcome" not in answers["Can I trust a ranking?"].sentence
    assert "position" in answers["Can I trust it as a reward?"].sentence


def test_general_holds_affirm_within_what_was_examined() -> None:
    assert _stands(fair_judge()) == [Standing.YES] * 3


def test_holds_on_cases_say_nothing_in_general() -> None:
    reply = reply_for(Use.SCORE, [outcome(case, 0.5, Ruling.HOLDS, ONE) for case in CASES[:3]])
    assert reply.standing is Standing.CASES
    assert "nothing about the judge in general" in reply.sentence


@pytest.mark.parametrize(
    ("rulings", "standing"),
    [
        ((), Standing.UNEXAMINED),
        ((Ruling.LEAKS, Ruling.HOLDS, Ruling.UNRESOLVED), Standing.NO),
        ((Ruling.BLIND, Ruling.HOLDS, Ruling.PERMITTED), Standing.NO),
        ((Ruling.PERMITTED, Ruling.HOLDS, Ruling.UNRESOLVED), Standing.RULE),
        ((Ruling.UNRESOLVED, Ruling.HOLDS), Standing.OPEN),
    ],
)
def test_gravest_ruling_decides(rulings: tuple[Ruling, ...], standing: Standing) -> None:
    findings = [outcome(case, 0.5, ruling, ONE) for case, ruling in zip(CASES, rulings, strict=False)]
    assert reply_for(Use.SCORE, findings).standing is standing


@pytest.mark.parametrize("ruling", [Ruling.PERMITTED, Ruling.UNRESOLVED, Ruling.BLIND, Ruling.LEAKS])
def test_only_holds_ever_gives_a_yes(ruling: Ruling) -> None:
    for use in Use:
        reply = reply_for(use, [outcome("judge", 0.5, ruling, ONE), outcome("judge", 0.5, Ruling.HOLDS, ONE)])
        assert reply.standing not in (Standing.YES, Standing.CASES)


def test_what_nothing_bears_on_is_not_examined() -> None:
    reply = reply_for(Use.RANKING, [outcome("judge", 0.5, Ruling.HOLDS, ONE)])
    assert (reply.standing, reply.sentence) == (Standing.UNEXAMINED, "Nothing in this run bears on it.")
    assert _stands(empty()) == [Standing.UNEXAMINED] * 3


def test_description_is_measured_but_draws_no_line() -> None:
    assert reply_for(Use.SCORE, [audit(ONE)]).standing is Standing.MEASURED


def test_finding_about_a_remedy_says_nothing_about_the_judge() -> None:
    repaired = replace(outcome("judge", 0.5, Ruling.HOLDS, ONE), kind=FindingKind.REMEDY)
    assert reply_for(Use.SCORE, [repaired]).standing is Standing.UNEXAMINED


def test_unknown_fault_is_not_passed_over() -> None:
    strange = replace(outcome("judge", 0.0, Ruling.LEAKS, ONE), name="seniority")
    assert reply_for(Use.SCORE, [strange]).standing is Standing.NO


def test_misread_planted_judge_voids_every_answer() -> None:
    assert _stands(misread_check()) == [Standing.VOID] * 3
    assert "Nothing about the judge" in first_change(misread_check()).sentence


def test_models_are_apart_only_where_a_finding_says_so() -> None:
    assert "Which models are truly apart?" not in _by_question(leaking_judge())
    ranks = replace(audit(ONE), name="ranking", sentence="A and B are apart; C is not.")
    reply = _by_question(examination("t", [ONE], [ranks]))["Which models are truly apart?"]
    assert reply.sentence == "A and B are apart; C is not."


def test_several_judges_are_told_apart() -> None:
    answers = _by_question(several_judges())
    score = answers["Can I trust a score?"]
    assert score.standing is Standing.SOME
    assert score.sentence == (
        "openai:careful-1 holds on outcome; local:smollm2-135m leaks on outcome; openai:hasty-2 is unresolved on "
        "outcome; recorded: gpt-4 on LLMBar is described only, on pair accuracy."
    )
    assert answers["Can I trust a ranking?"].sentence == "local:smollm2-135m leaks on position."
    first = answers["What should I change first?"].sentence
    assert first.startswith("For local:smollm2-135m: ask every pair in both orders")


def test_judges_that_stand_alike_are_named_together_and_many_are_counted() -> None:
    judges = [judge(f"openai:j{number}", f"j{number}") for number in range(9)]
    findings = [
        position(
            0.6 if one is not judges[0] else 0.0, Ruling.HOLDS if one is judges[0] else Ruling.LEAKS, one
        )
        for one in judges
    ]
    reply = _by_question(examination("t", judges, findings))["Can I trust a ranking?"]
    assert reply.standing is Standing.SOME
    assert reply.sentence == (
        "openai:j0 holds on position; openai:j1, openai:j2, openai:j3, openai:j4, openai:j5 and 3 others leak on position."
    )


def test_judges_that_all_fail_are_told_apart_by_how() -> None:
    one, other = judge("openai:a", "a"), judge("openai:b", "b")
    findings = [outcome("judge", 0.0, Ruling.LEAKS, one), outcome("judge", 0.5, Ruling.BLIND, other)]
    reply = _by_question(examination("t", [one, other], findings))["Can I trust a score?"]
    assert (reply.standing, reply.sentence) == (
        Standing.NO,
        "openai:a leaks on outcome; openai:b is blind on outcome.",
    )


def test_judge_that_holds_on_single_cases_is_not_said_to_hold() -> None:
    one, other = judge("openai:a", "a"), judge("openai:b", "b")
    findings = [outcome("coding", 0.5, Ruling.HOLDS, one), outcome("judge", 0.5, Ruling.HOLDS, other)]
    reply = _by_question(examination("t", [one, other], findings))["Can I trust a score?"]
    assert reply.standing is Standing.CASES
    assert reply.sentence == "openai:a holds on single cases of outcome; openai:b holds on outcome."


def test_one_model_asked_two_questions_is_one_judge() -> None:
    first = judge()
    second = replace(first, fields={**first.fields, "questions": [{"id": "better", "kind": "choice"}]})
    findings = [
        outcome("judge", 0.0, Ruling.LEAKS, first),
        replace(position(0.0, Ruling.HOLDS, second), subject="LLMBar Natural, 16 pairs"),
    ]
    both = examination("t", [first, second], findings)
    ((examined, _),) = standings(both)
    assert examined.with_prompts == "local:smollm2-135m (2 prompts)"
    assert _by_question(both)["Can I trust it as a reward?"].standing is Standing.NO
    assert "For local" not in first_change(both).sentence


def test_finding_about_several_judges_is_not_about_another_one() -> None:
    both = several_judges()
    table = replace(audit(judge()), judge="", name="outcome_grid")
    added = replace(both, findings=(*both.findings, table))
    assert [one.name for one, _ in standings(added)] == [one.name for one, _ in standings(both)]


def test_sample_that_a_finding_names_is_no_case() -> None:
    held = replace(position(0.0, Ruling.HOLDS, ONE), subject="LLMBar Natural, 100 pairs")
    reply = reply_for(Use.RANKING, [held])
    assert reply.standing is Standing.YES
    assert reply.sentence == "It stays within the margin: position (LLMBar Natural, 100 pairs)."
    many = [replace(held, subject=f"sample {number}") for number in range(4)]
    assert reply_for(Use.RANKING, many).sentence == "It stays within the margin: position (4 samples)."


def test_first_change_follows_the_gravest_finding() -> None:
    findings = [
        outcome("coding", 0.15, Ruling.LEAKS, ONE),
        position(0.97, Ruling.LEAKS, ONE),
        outcome("support", 0.5, Ruling.BLIND, ONE),
        outcome("judge", 0.1, Ruling.PERMITTED, ONE),
        outcome("access", 0.4, Ruling.UNRESOLVED, ONE),
    ]
    said = []
    for gone in (None, Ruling.BLIND, Ruling.LEAKS, Ruling.PERMITTED, Ruling.UNRESOLVED):
        findings = [finding for finding in findings if finding.ruling is not gone]
        said.append(first_change(examination("t", [ONE], findings)).sentence)
    starts = (
        "Change the judge or its prompt",
        "Ask every pair in both orders",
        "Decide whether you share",
        "about 14 more",
    )
    assert [sentence.startswith(start) for sentence, start in zip(said, starts, strict=False)] == [True] * 4
    assert said[4] == "No finding of this run carries a ruling."


def test_first_change_of_a_clean_run_is_nothing_and_of_a_partial_one_to_finish() -> None:
    assert first_change(fair_judge()).sentence.startswith("Nothing, by what was examined")
    stopped = replace(fair_judge(), account=account(partial="Ctrl-C"))
    assert first_change(stopped).sentence.startswith("Finish the run")


def test_self_check_that_passed_changes_nothing() -> None:
    plain = Examination("t", (ONE,), (outcome("judge", 0.5, Ruling.HOLDS, ONE),), Account())
    assert _stands(plain) == _stands(replace(plain, self_checks=checks()))
