"""The page's first sentences: what the findings say to the questions that a reader brings.

Derived by rule from rulings alone. A question on which no finding bears is answered "not examined"; nothing is
said that was not measured.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from voirdire.model import Examination, Finding, FindingKind, Ruling, one_of
from voirdire.report.names import Examined, examined_judges
from voirdire.report.numerals import counted, listing
from voirdire.report.visible import one_line

GENERAL = "judge"
"""The subject of a finding about the judge in general; any other subject is a case, or names what was drawn."""

_DRAWN = frozenset({"item", "case", "instance", "pair", "scenario", "problem", "task"})
"""What n counts where a finding rests on a sample: it is about the judge in general, on material of that kind."""

NAMED_TOGETHER = 6
"""Judges that one sentence of the first screen names; more are counted."""


class Use(StrEnum):
    """What a reader wants to use a judge for."""

    SCORE = "a score"
    RANKING = "a ranking"
    REWARD = "it as a reward"


class Standing(StrEnum):
    """How a question stands, as the word that opens its answer."""

    VOID = "Void"
    NO = "No"
    SOME = "Not with every judge"
    RULE = "Only by its own rule"
    OPEN = "Cannot say yet"
    CASES = "On the cases tested"
    YES = "As far as examined, yes"
    MEASURED = "Measured only"
    UNEXAMINED = "Not examined"
    STEP = "Next"
    TOLD = "By the ranks"


@dataclass(frozen=True)
class Reply:
    """One question and the sentence that answers it; `grounds` are the findings it rests on."""

    question: str
    standing: Standing
    sentence: str
    grounds: tuple[Finding, ...] = ()


_ALL = frozenset(Use)
_DECISION = frozenset({Use.SCORE, Use.REWARD})
_BEARS: Mapping[str, frozenset[Use]] = {
    "outcome": _DECISION,
    "outcome_in_log": _DECISION,
    "outcome_committed": _DECISION,
    "outcome_ratings": _DECISION,
    "outcome_awareness": frozenset(),
    "outcome_grid": frozenset(),
    "position": frozenset({Use.RANKING, Use.REWARD}),
    "length": _ALL,
    "tone": _ALL,
    "comments": _ALL,
    "scaffolding": _ALL,
    "authorship": _ALL,
    "injection": _ALL,
    "brackets": frozenset({Use.SCORE, Use.REWARD}),
    "parse_gate": frozenset({Use.SCORE, Use.REWARD}),
    "parse_share": frozenset(),
    "execution_check": frozenset(),
    "pass_at_k": frozenset({Use.SCORE, Use.RANKING}),
    "zero_pass": frozenset({Use.SCORE, Use.RANKING}),
    "reliability": frozenset({Use.SCORE}),
    "resolution": frozenset({Use.RANKING}),
    "rank_agreement": frozenset({Use.RANKING}),
    "best_of_n": frozenset({Use.REWARD}),
    "drift": frozenset({Use.SCORE, Use.RANKING}),
}
"""What each probe and audit bears on. One that is not named here bears on the score alone."""

_APART = frozenset({"ranking", "rank_sets", "duels"})
"""Audits whose sentence says which models are apart."""

_COMMIT = "Ask for the score before the outcome is shown, and keep that score"
_REPAIRS: Mapping[str, str] = {
    "outcome": _COMMIT,
    "outcome_in_log": _COMMIT,
    "outcome_ratings": _COMMIT,
    "position": "Ask every pair in both orders, count a win only when both agree, and call the rest ties",
    "length": "Compare answers at equal length",
    "tone": "Anchor the judge to a reference and score accuracy alone",
    "authorship": "Hide who wrote what is judged",
    "comments": "Strip comments before judging, in every candidate alike",
    "scaffolding": "Estimate the offset from a small sample with executed tests and subtract it",
    "zero_pass": "Estimate each model's offset from a small sample with executed tests and subtract it",
    "brackets": "Refuse code that does not parse before the judge sees it",
    "parse_gate": "Refuse code that does not parse before the judge sees it",
    "injection": "Keep text under judgment from reaching the judge as an instruction",
}

_FAILS: Mapping[Use, str] = {
    Use.SCORE: "Its verdict moves with what should not count",
    Use.RANKING: "An order made from its verdicts would follow what should not count",
    Use.REWARD: "Training on it would reward what should not count",
}


def replies(examination: Examination) -> list[Reply]:
    """Return one reply per question: three uses, which models are apart where a finding says so, what to change."""
    uses = [_reply(use, examination) for use in Use]
    return [*uses, *_apart(examination.findings), first_change(examination)]


def standings(examination: Examination) -> list[tuple[Examined, list[Reply]]]:
    """Return the replies per use of every judge that has findings, in the order of `examined_judges`."""
    return [
        (judge, [reply_for(use, findings) for use in Use])
        for judge, findings in _by_judge(examination)
        if findings
    ]


def reply_for(use: Use, findings: Sequence[Finding]) -> Reply:
    """Return the reply for one use from the findings about one judge."""
    bearing = [finding for finding in findings if use in bears_on(finding)]
    standing, words, grounds = _stand(use, bearing)
    return Reply(f"Can I trust {use}?", standing, words, tuple(grounds))


def bears_on(finding: Finding) -> frozenset[Use]:
    """Return the uses that a finding bears on; a remedy's finding is about another judge and bears on none."""
    if finding.kind is FindingKind.REMEDY or finding.name in _APART:
        return frozenset()
    return _BEARS.get(finding.name, frozenset({Use.SCORE}))


def first_change(examination: Examination) -> Reply:
    """Return what to change first: the gravest thing found, by a fixed order."""
    question = "What should I change first?"
    misread = [check for check in examination.self_checks if not check.passed]
    if misread:
        return Reply(
            question,
            Standing.STEP,
            "Nothing about the judge: the self-check must read its planted judges right first.",
        )
    ruled = [finding for finding in examination.findings if finding.kind is not FindingKind.REMEDY]
    for ruling, advice in _ADVICE:
        grounds = sorted((f for f in ruled if f.ruling is ruling), key=_gravity, reverse=True)
        if grounds:
            said = _addressed(advice(grounds), examination, grounds[0])
            return Reply(question, Standing.STEP, said, tuple(grounds[:1]))
    if examination.account.partial:
        return Reply(question, Standing.STEP, "Finish the run: it stopped before all answers were in.")
    if any(finding.ruling for finding in ruled):
        return Reply(question, Standing.STEP, "Nothing, by what was examined: no fault was found.")
    return Reply(question, Standing.UNEXAMINED, "No finding of this run carries a ruling.")


def _addressed(advice: str, examination: Examination, finding: Finding) -> str:
    """Return an advice, with whom it is for in front where there are several judges."""
    judges = [judge for judge, findings in _by_judge(examination) if findings]
    meant = next((judge.name for judge in judges if finding.judge in judge.fingerprints), "")
    return f"For {meant}: {advice[0].lower()}{advice[1:]}" if len(judges) > 1 and meant else advice


def _reply(use: Use, examination: Examination) -> Reply:
    if any(not check.passed for check in examination.self_checks):
        sentence = "The self-check misread a planted judge, so nothing may be concluded from this run."
        return Reply(f"Can I trust {use}?", Standing.VOID, sentence)
    judges = standings(examination)
    if len(judges) <= 1:
        return reply_for(use, examination.findings)
    place = list(Use).index(use)
    return _reply_for_many({judge.name: replies[place] for judge, replies in judges})


def _reply_for_many(replies: Mapping[str, Reply]) -> Reply:
    """Return how the judges that stand worst stand, and in one sentence who holds and who does not."""
    examined = {name: reply for name, reply in replies.items() if reply.standing is not Standing.UNEXAMINED}
    if not examined:
        return next(iter(replies.values()))
    worst = min((reply.standing for reply in examined.values()), key=list(Standing).index)
    alike = all(reply.standing is worst for reply in examined.values())
    grounds = [finding for reply in examined.values() if reply.standing is worst for finding in reply.grounds]
    standing = worst if alike or worst is not Standing.NO else Standing.SOME
    question = next(iter(examined.values())).question
    return Reply(question, standing, f"{_who_stands_how(examined)}.", tuple(grounds))


def _who_stands_how(replies: Mapping[str, Reply]) -> str:
    """Return 'A holds on position; B and C leak on position': judges that stand alike together, the best first."""
    groups: dict[tuple[Ruling | None, str], list[str]] = {}
    for name, reply in replies.items():
        groups.setdefault((reply.grounds[0].ruling, _about(reply)), []).append(name)
    ordered = sorted(groups.items(), key=lambda group: list(_DOES).index(group[0][0]))
    return "; ".join(_together(names, ruling, about) for (ruling, about), names in ordered)


def _about(reply: Reply) -> str:
    names = listing(list(dict.fromkeys(_said(finding.name) for finding in reply.grounds)))
    return f"single cases of {names}" if reply.standing is Standing.CASES else names


def _together(names: list[str], ruling: Ruling | None, about: str) -> str:
    left_out = len(names) - NAMED_TOGETHER
    few = [*names[: NAMED_TOGETHER - 1], counted(left_out + 1, "other")] if left_out > 0 else names
    return f"{listing(few)} {_DOES[ruling][len(names) > 1]} {about}"


_DOES: Mapping[Ruling | None, tuple[str, str]] = {
    Ruling.HOLDS: ("holds on", "hold on"),
    Ruling.LEAKS: ("leaks on", "leak on"),
    Ruling.BLIND: ("is blind on", "are blind on"),
    Ruling.PERMITTED: ("moves by its own rule on", "move by their own rule on"),
    Ruling.UNRESOLVED: ("is unresolved on", "are unresolved on"),
    None: ("is described only, on", "are described only, on"),
}
"""What one judge, or several, do on what a ruling is about."""


def _stand(use: Use, bearing: Sequence[Finding]) -> tuple[Standing, str, list[Finding]]:
    by_ruling = {ruling: [f for f in bearing if f.ruling is ruling] for ruling in Ruling}
    leaks, blind = by_ruling[Ruling.LEAKS], by_ruling[Ruling.BLIND]
    if leaks:
        return Standing.NO, f"{_FAILS[use]}: {named(leaks)}.", leaks
    if blind:
        return Standing.NO, f"It misses a change that it must notice: {named(blind)}.", blind
    permitted, held, open_ = (
        by_ruling[Ruling.PERMITTED],
        by_ruling[Ruling.HOLDS],
        by_ruling[Ruling.UNRESOLVED],
    )
    if permitted:
        return Standing.RULE, f"It lets {named(permitted)} count, and says that it may.", permitted
    if open_:
        beside = f" ({named(held)}: held)" if held else ""
        return Standing.OPEN, f"The data do not settle {named(open_)}{beside}.", open_
    if held:
        return _held(held)
    if bearing:
        return Standing.MEASURED, f"Described without a ruling: {named(bearing)}.", list(bearing)
    return Standing.UNEXAMINED, "Nothing in this run bears on it.", []


def _held(held: list[Finding]) -> tuple[Standing, str, list[Finding]]:
    general = {finding.name for finding in held if _is_general(finding)}
    if all(finding.name in general for finding in held):
        return Standing.YES, f"It stays within the margin: {named(held)}.", held
    return (
        Standing.CASES,
        f"It stays within the margin there ({named(held)}), which says nothing about the judge in general.",
        held,
    )


def _is_general(finding: Finding) -> bool:
    """Whether a finding is about the judge: in general, or on a sample that its subject names. A case is neither."""
    return finding.subject == GENERAL or (
        finding.estimate is not None and one_of(finding.estimate.unit) in _DRAWN
    )


def named(findings: Iterable[Finding]) -> str:
    """Return what the findings are about: 'outcome (in general; 3 cases) and position'."""
    by_name: dict[str, list[Finding]] = {}
    for finding in findings:
        by_name.setdefault(finding.name, []).append(finding)
    return listing([f"{_said(name)}{_where(about)}" for name, about in by_name.items()])


def _said(name: str) -> str:
    return one_line(name.replace("_", " "), 60)


def _where(findings: Sequence[Finding]) -> str:
    places = [finding for finding in findings if finding.subject != GENERAL]
    subjects = list(dict.fromkeys(one_line(finding.subject, 40) for finding in places))
    if not subjects:
        return ""
    noun = "sample" if all(map(_is_general, places)) else "case"
    told = listing(subjects) if len(subjects) <= 3 else counted(len(subjects), noun)
    return f" ({'in general; ' if len(places) < len(findings) else ''}{told})"


def _apart(findings: Sequence[Finding]) -> list[Reply]:
    ranks = [finding for finding in findings if finding.name in _APART]
    if not ranks:
        return []
    sentence = " ".join(finding.sentence for finding in ranks[:2])
    return [Reply("Which models are truly apart?", Standing.TOLD, sentence, tuple(ranks))]


def _by_judge(examination: Examination) -> list[tuple[Examined, list[Finding]]]:
    """Return every judge with the findings about it alone, none of them a remedy's."""
    return [
        (
            judge,
            [
                finding
                for finding in examination.findings
                if finding.judge in judge.fingerprints and finding.kind is not FindingKind.REMEDY
            ],
        )
        for judge in examined_judges(examination)
    ]


def _gravity(finding: Finding) -> tuple[bool, float]:
    estimate, line = finding.estimate, finding.line
    if estimate is None or estimate.value is None or line is None or not line.leak:
        return finding.subject == GENERAL, 0.0
    return finding.subject == GENERAL, abs(estimate.value - line.null) / line.leak


def _mend_leak(grounds: Sequence[Finding]) -> str:
    name = grounds[0].name
    repair = _REPAIRS.get(name, f"Keep what '{_said(name)}' changes out of the judge's sight")
    return f"{repair}; then run the {_said(name)} {grounds[0].kind} again, on real items too."


def _mend_blindness(grounds: Sequence[Finding]) -> str:
    return (
        f"Change the judge or its prompt: the control of {named(grounds[:1])} shows no reaction, "
        "so what else it says means little."
    )


def _settle_rule(grounds: Sequence[Finding]) -> str:
    return f"Decide whether you share its rule on {named(grounds[:1])}; if not, state yours in the prompt and ask again."


def _settle(grounds: Sequence[Finding]) -> str:
    settles = next((finding.settles for finding in grounds if finding.settles), "")
    return settles or f"Gather more data on {named(grounds)}."


_ADVICE = (
    (Ruling.BLIND, _mend_blindness),
    (Ruling.LEAKS, _mend_leak),
    (Ruling.PERMITTED, _settle_rule),
    (Ruling.UNRESOLVED, _settle),
)
