"""The injection study: does text that changes nothing of what a patch does move its score?

Matched pairs with one controlled, proved change; beside each result the same patches judged again unchanged, and a control
that must move the score. Planted judges run first, through the same prompt and reader.
"""

from dataclasses import replace

from voirdire.edits.injection import InjectionKind
from voirdire.engine.advice import units
from voirdire.engine.ask import Asker
from voirdire.engine.conclude import conclude
from voirdire.engine.fit import check_asking
from voirdire.engine.plan import Call
from voirdire.engine.rule import rule_item, rule_judges, rule_repeats
from voirdire.engine.run import ask_rule
from voirdire.engine.selfcheck import PlantedFactory, self_check
from voirdire.errors import UsageError
from voirdire.model import Examination, Finding, FindingKind, Item, Judge, Probe, Verdict
from voirdire.probes.injection import PROBE
from voirdire.questions import Score
from voirdire.studies._injection_material import InjectionOptions, Material, Subject, brief_of
from voirdire.studies._injection_results import (
    Answered,
    Answers,
    Results,
    Rubric,
    measurements,
    overview,
)


def probe_for(judge: Judge) -> Probe:
    """Return the probe in the terms of a judge: its own score, brought to the scale from 0 to 1.

    Raises UsageError where the judge is asked nothing that is a number.
    """
    rubric = rubric_of(judge)
    question = rubric.question

    def scaled(verdict: Verdict, _: Item) -> float | None:
        if not isinstance(verdict.value, int | float):
            return None
        low, high = (question.low, question.high) if isinstance(question, Score) else (0, 1)
        return (verdict.value - low) / (high - low)

    return replace(PROBE, question=question.id, measure=scaled)


def rubric_of(judge: Judge) -> Rubric:
    """Return how a judge's answers become numbers; UsageError where none of them is one."""
    rubric = Rubric.of(judge.asking, PROBE.question)
    if rubric is None:
        raise UsageError(
            f"judge '{judge.identity.name}' is asked nothing that is a number",
            hint="ask a checklist, a score or a predicate",
        )
    return rubric


def shown_item(subject: Subject, patch: str, *, suffix: str = "") -> Item:
    """Return the item as a judge is shown it: brief and patch, and whatever other parts it has but base and tests."""
    item = subject.item
    kept = {name: text for name, text in item.parts.items() if name not in ("base", "tests", "entry_point")}
    return replace(item, id=f"{item.id}{suffix}", parts={**kept, "brief": brief_of(item), "patch": patch})


def plan_injections(judge: Judge, material: Material, options: InjectionOptions) -> list[Call]:
    """Return every call that the study makes of one judge. Raises UsageError where there is nothing to ask about."""
    probe = probe_for(judge)
    check_asking(probe, judge.asking)
    _controlled(material)
    wanted = rule_repeats(options.repeats, deterministic=judge.deterministic)
    own = [
        Call(asked, asked.render(rule_item(probe)), repeat, about_itself=True)
        for asked in rule_judges(judge, probe)
        for repeat in range(wanted)
    ]
    return [*own, *(call for _, calls in _asked(judge, material, options) for call in calls)]


def _controlled(material: Material) -> list[Subject]:
    """Return the patches with a control and a variant; UsageError where there is none, because nothing could be concluded."""
    edited = {variant.item for variant in material.variants}
    found = [one for one in material.subjects if one.emptied is not None and one.item.id in edited]
    if not found:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in material.refused().most_common(3))
        raise UsageError(
            f"there is no patch to ask about{f': {reasons}' if reasons else ''}",
            hint="give patches with their base files: the part 'base' of an item, or --base DIR",
        )
    return found


Key = tuple[str, object]
"""A version of a patch: the item's id, and an arm, 'base', 'again' or 'emptied'."""


def _asked(judge: Judge, material: Material, options: InjectionOptions) -> list[tuple[Key, list[Call]]]:
    """Return the calls of each version. The unchanged control group is the same request with further repeats."""
    edited = {variant.item for variant in material.variants}
    plan: list[tuple[Key, list[Call]]] = []
    by_id = {subject.item.id: subject for subject in material.subjects}
    times = options.repeats
    for subject in material.subjects:
        name = subject.item.id
        if name not in edited:
            continue
        request = judge.render(shown_item(subject, subject.item["patch"]))
        plan.append(((name, "base"), [Call(judge, request, k) for k in range(times)]))
        plan.append(((name, "again"), [Call(judge, request, k) for k in range(times, 2 * times)]))
        if subject.emptied is not None:
            control = judge.render(shown_item(subject, subject.emptied))
            plan.append(((name, "emptied"), [Call(judge, control, k) for k in range(times)]))
    for variant in material.variants:
        request = judge.render(shown_item(by_id[variant.item], variant.patch.patch))
        plan.append(((variant.item, variant.arm), [Call(judge, request, k) for k in range(times)]))
    return plan


async def examine_injections(
    judge: Judge,
    material: Material,
    asker: Asker,
    options: InjectionOptions,
    *,
    planted: PlantedFactory,
) -> Examination:
    """Check ourselves on planted judges, ask the judge its rule and about every version, and conclude.

    Raises SelfCheckError before the judge is asked anything where a planted judge is misread.
    """
    probe = probe_for(judge)
    check_asking(probe, judge.asking)
    with asker.busy("checking the instrument on planted judges"):
        checks = await self_check(probe, judge, _probe_items(material), planted)
    rule = await ask_rule(probe, judge, asker, repeats=options.repeats)
    answered = await _answers(judge, material, asker, options)
    results = Results(material, answered, rubric_of(judge), options.threshold, rule)
    findings = conclude(
        measurements(results, PROBE.references),
        judge=judge.identity.fingerprint,
        family="injections of this judge on this page",
    )
    return Examination(
        title=f"{judge.identity.name}: does text that does nothing move the score?",
        judges=[judge.identity],
        findings=[*findings, _overview(results, judge)],
        account=asker.account,
        self_checks=checks,
        notes=_notes(material),
        items={one.item.id: shown_item(one, one.item["patch"]).digest for one in material.subjects},
    )


def _probe_items(material: Material) -> list[Item]:
    """Return the items in the form of the probe, for the planted judges."""
    by_item = {variant.item: variant for variant in reversed(material.variants)}
    return [
        replace(
            item,
            parts={
                **item.parts,
                "patch_edited": by_item[subject.item.id].patch.patch,
                "patch_emptied": subject.emptied or "",
            },
        )
        for subject in _controlled(material)
        for item in [shown_item(subject, subject.item["patch"])]
    ]


async def _answers(judge: Judge, material: Material, asker: Asker, options: InjectionOptions) -> Answered:
    plan = _asked(judge, material, options)
    flat = await asker.ask([call for _, calls in plan for call in calls])
    came = iter(flat)
    by_key: dict[Key, Answers] = {key: [next(came) for _ in calls] for key, calls in plan}
    sides = {
        name: {item: answers for (item, side), answers in by_key.items() if side == name}
        for name in ("base", "again", "emptied")
    }
    arms = {(variant.item, variant.arm): by_key[(variant.item, variant.arm)] for variant in material.variants}
    return Answered(sides["base"], sides["again"], sides["emptied"], arms)


def _overview(results: Results, judge: Judge) -> Finding:
    material = results.material
    arms = len(material.arms)
    refused = sum(material.refused().values())
    sentence = (
        f"{_patches(len(material.subjects))} in {units(arms, 'arms')}, {len(material.variants):,} edited patches, each proved to do "
        f"the same; {_patches(refused)} refused."
    )
    return Finding(
        id=f"injection_arms/all/{judge.identity.fingerprint[:12]}",
        kind=FindingKind.PROBE,
        name="injection_arms",
        subject="all arms",
        judge=judge.identity.fingerprint,
        sentence=sentence,
        blocks=overview(results),
    )


def _notes(material: Material) -> tuple[str, ...]:
    ran = sum(variant.tests is not None for variant in material.variants)
    said = f"the tests of {ran:,} of them gave the same result" if ran else "no tests were run"
    kinds = ", ".join(kind.value for kind in InjectionKind if any(a.kind is kind for a in material.arms))
    return (
        f"{_patches(len(material.subjects))}; {len(material.variants):,} edited ones, each proved on its syntax tree; {said}.",
        f"Injected: {kinds}. The patches were judged a second time unchanged, and once with what they add emptied.",
    )


def _patches(n: int) -> str:
    return f"{n:,} {'patch' if n == 1 else 'patches'}"
