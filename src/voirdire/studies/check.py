"""The gate: is this scorer still the one of the baseline, and if not, was it examined again and is no worse?

A scorer that changed in any kind (rubric generator, model, served snapshot, prompt, questions, scale, ...) passes only
with a new examination. That one is compared with the baseline's, finding by finding, on the same items.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from voirdire import plugins
from voirdire.audits import drift
from voirdire.engine.advice import units
from voirdire.engine.ask import Asker
from voirdire.engine.compare import Change, Comparison, compare, family_size
from voirdire.engine.conclude import conclude
from voirdire.engine.plan import Call
from voirdire.engine.run import plan_probe, run_probe
from voirdire.engine.selfcheck import PlantedFactory
from voirdire.errors import UsageError
from voirdire.importers import rules
from voirdire.importers.items import read_items
from voirdire.model import Account, Examination, FindingKind, Identity, Item, Judge, Probe
from voirdire.report.baseline_file import Baseline
from voirdire.report.findings_file import from_data, read_data
from voirdire.report.scorer import IdentityChange, Kind, by_kind, changes
from voirdire.studies._cases import read_cases
from voirdire.studies._inside import INSIDE
from voirdire.studies._material import llmbar_pairs
from voirdire.studies.screen import fits

FINDINGS = "findings.json"

NAMED = 3
"""Items named where some were not compared; the others are counted."""


class Verdict(StrEnum):
    """What the gate says. INCOMPLETE never passes."""

    PASSED = "passed"
    FAILED = "failed"
    INCOMPLETE = "incomplete"


@dataclass(frozen=True)
class Gate:
    """What a check found.

    `judge`: whose examination or settings are looked at now. `changed`: how the scorer differs from the baseline's.
    `examined`: whether there is an examination of it; without one `comparisons` is empty. `partial`: why the new
    examination is incomplete, None: it is not. `drifts`: charts of anchor sets. `notes`: what a reader should know.
    """

    baseline: Baseline | None = None
    judge: Identity | None = None
    changed: tuple[IdentityChange, ...] = ()
    examined: bool = False
    comparisons: tuple[Comparison, ...] = ()
    partial: str | None = None
    drifts: tuple[drift.Drift, ...] = ()
    notes: tuple[str, ...] = ()

    def became(self, change: Change) -> list[Comparison]:
        """Return the findings of which this became."""
        return [one for one in self.comparisons if one.change is change]

    @property
    def failures(self) -> tuple[str, ...]:
        """Why the gate fails, in sentences."""
        said = []
        if self.changed and not self.examined:
            kinds = ", ".join(change.kind.value for change in self.changed)
            said.append(f"the scorer changed ({kinds}) and was not examined again")
        worse = self.became(Change.WORSE)
        if worse:
            named = ", ".join(f"{one.name} ({one.subject})" for one in worse)
            said.append(f"worse beyond noise: {named}")
        said += [one.sentence for one in self.drifts if one.rang]
        return tuple(said)

    @property
    def gaps(self) -> tuple[str, ...]:
        """What could not be compared although the baseline has it, in sentences."""
        said = [f"the new examination is incomplete: {self.partial}"] if self.partial else []
        for change in (Change.GONE, Change.NOT_COMPARED):
            said += [f"{one.name} ({one.subject}) was not compared: {one.why}" for one in self.became(change)]
        lacking = dict.fromkeys(
            name for one in self.comparisons if one.change is not Change.NOT_COMPARED for name in one.lacking
        )
        if lacking:
            named = ", ".join(f"'{name}'" for name in list(lacking)[:NAMED])
            more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
            said.append(
                f"items of the baseline were not asked about again, or have other texts now: {named}{more}"
            )
        said += [one.sentence for one in self.drifts if not one.readable]
        return tuple(said)

    @property
    def verdict(self) -> Verdict:
        """Return the gate's word: a partial examination decides nothing, then a failure counts, then a gap."""
        if self.partial:
            return Verdict.INCOMPLETE
        if self.failures:
            return Verdict.FAILED
        return Verdict.INCOMPLETE if self.gaps else Verdict.PASSED


# --- from what is there already -------------------------------------------------------------------------


def check_identity(baseline: Baseline, judge: Identity) -> Gate:
    """Compare who scores, and ask nobody: a scorer that changed fails. Which snapshot answers is not known so."""
    changed = changes(baseline.identity, by_kind(judge, ()), unknown=(Kind.SNAPSHOT,))
    note = "the served snapshot is not known before the judge is asked"
    return Gate(baseline, judge, tuple(changed), notes=(note,) if baseline.served else ())


def check_examination(baseline: Baseline, now: Examination, judge: Identity | None = None) -> Gate:
    """Compare a new examination with the baseline.

    `judge`: the judge in use (None: whoever was examined). Where it is not the one that was examined, the examination
    does not count: the gate fails if the judge changed since the baseline. Raises UsageError where the examination is
    about several judges and none of them is meant.
    """
    examined = _examined(baseline, now, judge)
    if examined is None:
        assert judge is not None
        gate = check_identity(baseline, judge)
        asked = ", ".join(one.name for one in now.judges) or "nobody"
        note = f"the examination given is about another scorer ({asked}) and does not count"
        return replace(gate, notes=(*gate.notes, note))
    served = now.account.served if len(now.judges) == 1 else {}
    unknown = () if served and baseline.served else (Kind.SNAPSHOT,)
    other_texts = [name for name, digest in now.items.items() if baseline.items.get(name, digest) != digest]
    mine = [one for one in now.findings if one.judge == examined.fingerprint]
    comparisons = compare(baseline.findings, mine, texts_changed=other_texts)
    return Gate(
        baseline=baseline,
        judge=examined,
        changed=tuple(changes(baseline.identity, by_kind(examined, served), unknown=unknown)),
        examined=True,
        comparisons=tuple(comparisons),
        partial=now.account.partial,
        notes=_notes(now.account, len(other_texts), family_size(comparisons)),
    )


def _examined(baseline: Baseline, now: Examination, judge: Identity | None) -> Identity | None:
    """Return which judge of the examination is meant; None where the one in use was not examined."""
    wanted = judge or baseline.judge
    for one in now.judges:
        if one.fingerprint == wanted.fingerprint:
            return one
    if judge is not None:
        return None
    if len(now.judges) == 1:
        return now.judges[0]
    there = ", ".join(one.name for one in now.judges) or "none"
    raise UsageError(
        f"the examination is about {len(now.judges)} judges ({there}), none of them the baseline's",
        hint="give the findings of one judge, or name the judge in use before the file",
    )


def _notes(account: Account, other_texts: int, tests: int) -> tuple[str, ...]:
    said = [f"p values are corrected by Holm over {units(tests, 'paired tests')}"] if tests else []
    if account.planned and not account.asked and account.cached:
        said.append(
            f"all {account.cached:,} answers came from the ledger: nobody was asked anew, so drift of the judge cannot show"
        )
    if other_texts:
        said.append(f"{other_texts:,} items have other texts than in the baseline and count as other items")
    return tuple(said)


def read_examination(path: Path) -> Examination:
    """Return the examination in a findings file or in the folder that holds one; DataError as its reader does."""
    return from_data(read_data(path / FINDINGS if path.is_dir() else path))


# --- asking again ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Again:
    """What is asked again: probes with their items, in the order of the baseline."""

    rounds: tuple[tuple[Probe, tuple[Item, ...]], ...]

    @property
    def probes(self) -> list[Probe]:
        """The probes alone."""
        return [probe for probe, _ in self.rounds]

    @property
    def items(self) -> dict[str, str]:
        """The digest of every item's texts, by id."""
        return {item.id: item.digest for _, items in self.rounds for item in items}


def what_to_ask(baseline: Baseline, files: Sequence[str]) -> Again:
    """Return the baseline's probes and its items, found by id in the files given, else among those that ship.

    Raises UsageError where a finding's probe cannot be asked, or none of its items is there.
    """
    wanted = _wanted(baseline)
    given, probes, rule = _material(files)
    rounds = []
    for name, ids in wanted.items():
        probe = probes.get(name) or _probe(name)
        if rule and name in ("outcome", INSIDE.name):
            probe = replace(probe, rule=rule[0], rule_negated=rule[1])
        found = given or shipped_items(name)
        items = tuple(item for item in found if item.id in ids and fits(probe, [item]))
        if not items:
            raise UsageError(
                f"none of the {len(ids)} items of '{name}' in the baseline is there",
                hint="name the files with its items behind the judge, as they were given when it was examined",
            )
        rounds.append((probe, items))
    return Again(tuple(rounds))


def first_probe(baseline: Baseline, files: Sequence[str]) -> Probe | None:
    """Return the baseline's first probe, whose material a judge without a prompt of its own is asked.

    None where it is not known here, as for a rule file that is not among `files`. Raises UsageError without any probe.
    """
    name = next(iter(_wanted(baseline)))
    made = _material(files)[1]
    return made.get(name) or (_probe(name) if name in _KNOWN or name in plugins.names("probes") else None)


_KNOWN = (INSIDE.name,)


def _wanted(baseline: Baseline) -> Mapping[str, frozenset[str]]:
    """Return the items of each probe in the baseline, by id."""
    wanted: dict[str, set[str]] = {}
    for finding in baseline.findings:
        if finding.kind is not FindingKind.PROBE or finding.estimate is None:
            continue
        own = {finding.subject} if finding.estimate.by_arm else set(finding.estimate.by_unit)
        if own:
            wanted.setdefault(finding.name, set()).update(own)
    if not wanted:
        raise UsageError(
            "the baseline holds no probe that could be asked again", hint="give a findings.json instead"
        )
    return {name: frozenset(ids) for name, ids in wanted.items()}


def _probe(name: str) -> Probe:
    if name == INSIDE.name:
        return INSIDE
    if name not in plugins.names("probes"):
        raise UsageError(
            f"'{name}' in the baseline is no probe that can be asked again from here",
            hint="name the rule file that it came from, or give the findings.json of a new examination",
        )
    probe: Probe = plugins.load("probes", name).PROBE
    return probe


def shipped_items(name: str) -> list[Item]:
    """Return the items that ship for a probe, those that it is run on where none are given; [] where there are none."""
    if name == "position":
        return llmbar_pairs(100, seed=0)
    if name in ("outcome", INSIDE.name):
        return list(read_cases([]).items)
    return []


def items_of(files: Sequence[str]) -> list[Item]:
    """Return the items of item files, rule files and case files, and of shipped cases by name."""
    return _material(files)[0]


def _material(files: Sequence[str]) -> tuple[list[Item], dict[str, Probe], tuple[str, str] | None]:
    """Return the items of all files, the probes that rule files make, and the rule question that cases bring."""
    items: list[Item] = []
    probes: dict[str, Probe] = {}
    cases: list[str] = []
    for name in files:
        path = Path(name)
        if path.suffix == ".jsonl":
            items += read_items(path)
        elif path.is_file() and rules.sniff(path.read_text(encoding="utf-8", errors="replace")):
            found, probe = rules.read_rule(path)
            items += found
            probes[probe.name] = probe
        else:
            cases.append(name)
    if not cases:
        return items, probes, None
    read = read_cases(cases)
    return [*items, *read.items], probes, read.rule


def plan_again(again: Again, judge: Judge, *, repeats: int | None) -> list[Call]:
    """Return every call that asking again may make."""
    return [
        call
        for probe, items in again.rounds
        for call in plan_probe(probe, judge, items, repeats=repeats).calls
    ]


async def examine_again(
    again: Again, judge: Judge, asker: Asker, *, planted: PlantedFactory, repeats: int | None = None
) -> Examination:
    """Run the probes of the baseline on its items and conclude once over all of them; raises as `run_probe`."""
    runs = [
        await run_probe(probe, judge, items, asker, planted=planted, repeats=repeats)
        for probe, items in again.rounds
    ]
    findings = conclude(
        [one for run in runs for one in run.measurements],
        judge=judge.identity.fingerprint,
        family="all contrasts of this judge on this page",
    )
    return Examination(
        title=f"{judge.identity.name}, examined again: {', '.join(probe.name for probe in again.probes)}",
        judges=[judge.identity],
        findings=findings,
        account=asker.account,
        self_checks=[check for run in runs for check in run.self_checks],
        items=again.items,
    )
