"""Asks a judge its own rule about a change, before the change is tried on it.

Half of the answers are to the negated wording, so that a judge that agrees with everything has no stated rule.
"""

from collections.abc import Sequence
from dataclasses import replace

from voirdire.engine.forms import asking_in_form, form_of
from voirdire.lines import IDENTICAL_TO_STOP, RULE_SHARE
from voirdire.model import Item, Judge, Message, Probe, StatedRule, Verdict
from voirdire.questions import Choice

QUESTION = Choice("rule", "Answer yes or no.", ("yes", "no"))
SYSTEM = "You are asked about your own rule for giving scores. Answer yes or no."


def rule_judges(judge: Judge, probe: Probe) -> tuple[Judge, Judge]:
    """Return the judge asked its rule in the plain and in the negated wording, its own wordings if it brings any."""
    plain, negated = judge.rules.get(probe.name, (probe.rule, probe.rule_negated))
    return _asked(judge, plain), _asked(judge, negated)


def _asked(judge: Judge, wording: str) -> Judge:
    messages = (Message("system", SYSTEM), Message("user", wording.replace("{{", "{ {")))
    asking = asking_in_form(messages, (QUESTION,), form_of(judge.asking))
    return judge.reasking(replace(asking, about=judge.identity.fingerprint))


def rule_item(probe: Probe) -> Item:
    """Return the item under which answers about the rule are kept."""
    return Item(id=f"rule of {probe.name}", parts={})


def stated_rule(plain: Sequence[Verdict], negated: Sequence[Verdict], *, deterministic: bool) -> StatedRule:
    """Read the answers: yes to the plain wording and no to the negated one permit the shift.

    Needs 8 of 10 answers that agree across both wordings, unreadable ones counted as not agreeing. A deterministic
    judge is asked a few times only; it must agree in both wordings.
    """
    votes = [_permits(verdict, yes=True) for verdict in plain] + [
        _permits(verdict, yes=False) for verdict in negated
    ]
    asked, missing = len(votes), votes.count(None)
    permit, forbid = votes.count(True), votes.count(False)
    agree = max(permit, forbid)
    quotes = tuple(verdict.raw for verdict in (*plain[:2], *negated[:2]) if verdict.raw)
    if asked == 0 or missing == asked:
        reasons = sorted({verdict.missing_because or "" for verdict in (*plain, *negated)})
        said = f": {reasons[0]}" if reasons else ""
        return StatedRule(
            None, 0, asked, missing, note=f"the judge could not be asked its rule{said}", quotes=quotes
        )
    if agree < RULE_SHARE * asked:
        split = (
            f"{permit} of {asked} answers allow the shift, {forbid} forbid it, {missing} could not be read"
        )
        return StatedRule(None, agree, asked, missing, note=f"no stated rule: {split}", quotes=quotes)
    note = "deterministic: asked a few times in each wording" if deterministic else ""
    return StatedRule(permit > forbid, agree, asked, missing, note=note, quotes=quotes)


def _permits(verdict: Verdict, *, yes: bool) -> bool | None:
    if verdict.value not in ("yes", "no"):
        return None
    return (verdict.value == "yes") == yes


def rule_repeats(repeats: int, *, deterministic: bool) -> int:
    """Return how often each wording is asked: half of the repeats, or three times where answers cannot differ."""
    return IDENTICAL_TO_STOP if deterministic else max(1, (repeats + 1) // 2)
