"""Runs one probe on one judge: self-check, own rule, every version asked, everything measured.

Conclusions are drawn afterwards and once, over all measurements of a page, because the correction needs them all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from voirdire.engine.ask import Asker, Call
from voirdire.engine.fit import check_asking, check_items, check_requests
from voirdire.engine.measure import measure
from voirdire.engine.rule import rule_item, rule_judges, rule_repeats, stated_rule
from voirdire.engine.selfcheck import PlantedFactory, self_check
from voirdire.lines import IDENTICAL_TO_STOP
from voirdire.model import (
    Item,
    Judge,
    Measurement,
    Probe,
    Request,
    SelfCheck,
    Side,
    StatedRule,
    Trial,
    Verdict,
)


@dataclass(frozen=True)
class ProbeRun:
    """What one probe gave on one judge, before any ruling."""

    probe: Probe
    judge: Judge
    trials: Sequence[Trial]
    rule: StatedRule | None
    measurements: Sequence[Measurement]
    self_checks: Sequence[SelfCheck]


@dataclass(frozen=True)
class ProbePlan:
    """What a probe will ask: every call at most (a deterministic judge may need fewer)."""

    calls: Sequence[Call]


ROLES = ("base", "variant", "control_base", "control_variant")


def plan_probe(probe: Probe, judge: Judge, items: Sequence[Item], *, repeats: int | None = None) -> ProbePlan:
    """Return every call the probe may make on these items, its rule question included; asks nothing.

    Raises UsageError where there are no items, the prompt names a part that an item lacks or hides one that the probe
    reads, or the judge is not asked what the probe compares; DataError where a contrast differs in more than its part,
    and for items that are copies of one another.
    """
    check_items(probe, items)
    wanted = repeats or probe.repeats
    by_item = [[judge.render(version) for version in versions(probe, item).values()] for item in items]
    check_asking(probe, judge.asking)
    check_requests(items, by_item)
    calls = [
        Call(judge, request, repeat)
        for requests in by_item
        for request in requests
        for repeat in range(wanted)
    ]
    return ProbePlan([*_rule_calls(probe, judge, wanted), *calls])


def versions(probe: Probe, item: Item) -> Mapping[str, Item]:
    """Return the four versions of an item by role; DataError where a pair differs in more than its part."""
    contrast, control = probe.contrast(item), probe.control_contrast(item)
    return dict(zip(ROLES, (contrast.base, contrast.variant, control.base, control.variant), strict=True))


async def run_probe(
    probe: Probe,
    judge: Judge,
    items: Sequence[Item],
    asker: Asker,
    *,
    planted: PlantedFactory,
    repeats: int | None = None,
) -> ProbeRun:
    """Check ourselves on planted judges, ask the judge its rule, then every version; measure.

    Raises SelfCheckError before anything is asked where a planted judge is misread. What a budget, a quota or
    Ctrl-C left unasked is missing, and the asker's account says so.
    """
    plan_probe(probe, judge, items, repeats=repeats)
    with asker.busy("checking the instrument on planted judges"):
        checks = await self_check(probe, judge, items, planted)
    wanted = repeats or probe.repeats
    rule = await ask_rule(probe, judge, asker, repeats=wanted)
    trials = await ask_trials(probe, judge, items, asker, repeats=wanted)
    looks = {item.id: asker.earlier_look(judge, _family(probe, item)) for item in items}
    measurements = measure(
        probe,
        trials,
        questions=judge.asking.questions,
        deterministic=judge.deterministic,
        rule=rule,
        earlier_looks=looks,
    )
    for trial in trials:
        asker.record_look(judge, _family(probe, trial.item), len(trial.base.answers))
    return ProbeRun(probe, judge, trials, rule, measurements, checks)


async def ask_rule(probe: Probe, judge: Judge, asker: Asker, *, repeats: int) -> StatedRule:
    """Ask the judge its own rule in both wordings and read what it said."""
    calls = _rule_calls(probe, judge, repeats)
    answers = [answer[0] for answer in await asker.ask(calls)]
    half = len(answers) // 2
    return stated_rule(answers[:half], answers[half:], deterministic=judge.deterministic)


def _rule_calls(probe: Probe, judge: Judge, repeats: int) -> list[Call]:
    wanted = rule_repeats(repeats, deterministic=judge.deterministic)
    item = rule_item(probe)
    return [
        Call(asked, asked.render(item), repeat, about_itself=True)
        for asked in rule_judges(judge, probe)
        for repeat in range(wanted)
    ]


async def ask_trials(
    probe: Probe, judge: Judge, items: Sequence[Item], asker: Asker, *, repeats: int
) -> list[Trial]:
    """Ask every version of every item and return the trials, in the order of the items."""
    by_item = [versions(probe, item) for item in items]
    requests = [judge.render(version) for by_role in by_item for version in by_role.values()]
    answers = await ask_repeats(judge, requests, asker, repeats=repeats)
    sides = [
        Side(version, answer)
        for version, answer in zip((v for by_role in by_item for v in by_role.values()), answers, strict=True)
    ]
    width = len(ROLES)
    return [Trial(item, *sides[width * k : width * (k + 1)]) for k, item in enumerate(items)]


async def ask_repeats(
    judge: Judge, requests: Sequence[Request], asker: Asker, *, repeats: int
) -> list[list[tuple[Verdict, ...]]]:
    """Return the answers to each request, repeat by repeat.

    A judge that is deterministic by its settings is asked three times; where the three raw answers are identical no
    further repeat is asked, since it could not differ.
    """
    first = min(repeats, IDENTICAL_TO_STOP) if judge.deterministic else repeats
    answers = await _ask_range(judge, requests, asker, range(first))
    if first < repeats:
        open_ = [k for k, got in enumerate(answers) if not identical(got)]
        same = [request for request, got in zip(requests, answers, strict=True) if identical(got)]
        spared = [Call(judge, request, repeat) for request in same for repeat in range(first, repeats)]
        asker.spare(spared, because="this judge is deterministic")
        more = await _ask_range(judge, [requests[k] for k in open_], asker, range(first, repeats))
        for k, got in zip(open_, more, strict=True):
            answers[k].extend(got)
    return answers


async def _ask_range(
    judge: Judge, requests: Sequence[Request], asker: Asker, repeats: range
) -> list[list[tuple[Verdict, ...]]]:
    calls = [Call(judge, request, repeat) for request in requests for repeat in repeats]
    answers = await asker.ask(calls)
    width = len(repeats)
    return [list(answers[width * k : width * (k + 1)]) for k in range(len(requests))]


def identical(answers: Sequence[Sequence[Verdict]]) -> bool:
    """Whether all raw answers are the same and something was answered."""
    raws = {verdict.raw for answer in answers for verdict in answer[:1]}
    return len(raws) == 1 and all(verdict.raw for answer in answers for verdict in answer[:1])


def _family(probe: Probe, item: Item) -> str:
    return f"{probe.name}/{item.id}"
