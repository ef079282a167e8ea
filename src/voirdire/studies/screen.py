"""The screen: any number of probes on one judge and the items given, on one page."""

from collections.abc import Sequence

from voirdire import plugins
from voirdire.edits.pairs import shown
from voirdire.engine.advice import units
from voirdire.engine.ask import Asker
from voirdire.engine.conclude import conclude
from voirdire.engine.plan import Call
from voirdire.engine.run import plan_probe, run_probe
from voirdire.engine.selfcheck import PlantedFactory
from voirdire.errors import UsageError
from voirdire.model import Examination, Item, Judge, Probe


def probes_named(names: Sequence[str], items: Sequence[Item]) -> list[Probe]:
    """Return the probes by name, or without names all whose parts every item has.

    Raises UsageError for an unknown name, and where there are no items or no probe fits them.
    """
    if not items:
        raise UsageError(
            "the files hold no items",
            hint="each line behind the header is one item; `voirdire init` writes an example",
        )
    if names:
        return [_probe(name) for name in dict.fromkeys(names)]
    fitting = [probe for probe in map(_probe, plugins.names("probes")) if fits(probe, items)]
    if not fitting:
        _refuse_incomplete(items)
        parts = sorted({part for item in items for part in item.parts})
        raise UsageError(
            f"no probe fits items with the parts {', '.join(parts)}",
            hint="`voirdire list probes` shows what each probe reads; `voirdire init` writes example items",
        )
    return fitting


def _refuse_incomplete(items: Sequence[Item]) -> None:
    """Raise UsageError for the first item that lacks what a probe reads and the other items have."""
    for probe in map(_probe, plugins.names("probes")):
        lacking = [(item, {*probe.reads, *probe.needs} - shown(item.parts).keys()) for item in items]
        without = [(item, parts) for item, parts in lacking if parts]
        if 2 * len(without) <= len(items):
            item, _ = without[0]
            have = sorted(set().union(*(other.parts for other in items)) - item.parts.keys())
            raise UsageError(
                f"probe '{probe.name}' fits all but {len(without)} of {len(items)} items: '{item.id}' has no part "
                f"{', '.join(map(repr, have))}",
                hint="add the part to the item, or leave the item out",
            )


def _probe(name: str) -> Probe:
    probe: Probe = plugins.load("probes", name).PROBE
    return probe


def fits(probe: Probe, items: Sequence[Item]) -> bool:
    """Whether every item has what the probe reads."""
    wanted = {*probe.reads, *probe.needs}
    return bool(items) and all(wanted <= shown(item.parts).keys() for item in items)


def plan_screen(
    judge: Judge, probes: Sequence[Probe], items: Sequence[Item], *, repeats: int | None
) -> list[Call]:
    """Return every call the screen may make."""
    return [call for probe in probes for call in plan_probe(probe, judge, items, repeats=repeats).calls]


async def examine_probes(
    judge: Judge,
    probes: Sequence[Probe],
    items: Sequence[Item],
    asker: Asker,
    *,
    planted: PlantedFactory,
    repeats: int | None = None,
) -> Examination:
    """Run the probes one after another and conclude once over all of them.

    Raises SelfCheckError before the judge is asked anything for a probe whose planted judges are misread.
    """
    runs = [await run_probe(probe, judge, items, asker, planted=planted, repeats=repeats) for probe in probes]
    measurements = [one for run in runs for one in run.measurements]
    findings = conclude(
        measurements, judge=judge.identity.fingerprint, family="all contrasts of this judge on this page"
    )
    return Examination(
        title=f"{judge.identity.name}: {', '.join(probe.name for probe in probes)}",
        judges=[judge.identity],
        findings=findings,
        account=asker.account,
        self_checks=[check for run in runs for check in run.self_checks],
        notes=(units(len(items), "items"),),
        items={item.id: item.digest for item in items},
    )
