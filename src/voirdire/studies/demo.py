"""The demonstration: a weak judge examined on real items, and the recorded verdicts of strong ones audited.

The embedded judge is a specimen, not a judge: the page is meant to show a judge failing. Nothing is asked of anybody
over the network.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from voirdire.engine.ask import Asker
from voirdire.engine.conclude import conclude
from voirdire.engine.forms import Form, asking_in_form
from voirdire.engine.measure import JUDGE
from voirdire.engine.plan import Call
from voirdire.engine.run import ProbeRun, plan_probe, run_probe
from voirdire.engine.selfcheck import PlantedFactory
from voirdire.importers.cases import short_cases
from voirdire.model import (
    Asking,
    Examination,
    Finding,
    Item,
    Judge,
    Probe,
)
from voirdire.probes.outcome import PROBE as OUTCOME
from voirdire.probes.position import PROBE as POSITION
from voirdire.studies import _material
from voirdire.studies._cases import read_cases
from voirdire.studies._protocol import with_protocol
from voirdire.studies._recorded import recorded_findings


@dataclass(frozen=True)
class Slice:
    """How much of the shipped material is used. `short`, `recorded`: names of cases; recorded logs are windowed.

    `longest_pair`, `longest_program`: characters of a pair, task included, beyond which it is not used; None: no limit.
    """

    pairs: int
    programs: int
    short: tuple[str, ...]
    recorded: tuple[str, ...]
    longest_pair: int | None = None
    longest_program: int | None = None


QUICK = Slice(
    pairs=10,
    programs=8,
    short=("coding", "operations", "support"),
    recorded=("recorded-short",),
    longest_pair=400,
    longest_program=1300,
)
"""About 18,000 tokens, one to two minutes on two quiet cores: time goes into the prompt, so pairs of long texts are left out."""

SEED = 0
LLMBAR_PAIRS, PROGRAM_PAIRS = 100, 68


def full() -> Slice:
    """Return everything that ships."""
    return Slice(pairs=100, programs=68, short=short_cases(), recorded=("recorded-short", "recorded-long"))


@dataclass(frozen=True)
class Part:
    """One probe of the demonstration, on one kind of item. `subject`: what its general finding is about."""

    probe: Probe
    items: Sequence[Item]
    subject: str
    notes: tuple[str, ...]


def first_asking() -> Asking:
    """Return what the judge is opened with: the pairwise question."""
    return _asking(POSITION)


def _asking(probe: Probe) -> Asking:
    return asking_in_form(probe.messages, probe.questions, Form.TYPED)


def parts_of(slice_: Slice) -> list[Part]:
    """Return the probes and their items for a slice."""
    pairs, of_pairs = _short(_material.llmbar_pairs(LLMBAR_PAIRS, SEED), slice_.pairs, slice_.longest_pair)
    programs, of_programs = _short(
        _material.humaneval_pairs(PROGRAM_PAIRS, SEED), slice_.programs, slice_.longest_program
    )
    cases = read_cases([*slice_.short, *slice_.recorded], windowed=slice_.recorded)
    return [
        Part(POSITION, pairs, f"LLMBar Natural, {len(pairs)} of {of_pairs}", ()),
        Part(POSITION, programs, f"HumanEval programs, {len(programs)} of {of_programs}", ()),
        Part(OUTCOME, cases.items, JUDGE, cases.notes),
    ]


def _short(every: Sequence[Item], n: int, longest: int | None) -> tuple[list[Item], str]:
    """Return the first `n` pairs of at most `longest` characters, and in words what they were drawn from."""
    if longest is None:
        return list(every[:n]), f"{len(every)} pairs"
    short = [pair for pair in every if sum(map(len, pair.parts.values())) <= longest]
    return short[:n], f"{len(short)} pairs of at most {longest:,} characters"


def plan_demo(judge: Judge, parts: Sequence[Part]) -> list[Call]:
    """Return every call the demonstration may make."""
    return [
        call
        for part in parts
        for call in plan_probe(part.probe, judge.reasking(_asking(part.probe)), part.items).calls
    ]


async def examine_demo(
    judge: Judge, parts: Sequence[Part], asker: Asker, *, planted: PlantedFactory
) -> Examination:
    """Run all parts on the judge and audit the recorded verdicts of hosted judges."""
    runs = []
    for part in parts:
        asked = judge.reasking(_asking(part.probe))
        runs.append(await run_probe(part.probe, asked, part.items, asker, planted=planted))
    own = _own_findings(parts, runs)
    recorded = recorded_findings()
    asked_identities = {run.judge.identity.fingerprint: run.judge.identity for run in runs}
    return Examination(
        title="A specimen judge examined, and what hosted judges did",
        judges=[*asked_identities.values(), *recorded.judges],
        findings=[*own, *recorded.findings],
        account=asker.account,
        self_checks=[check for run in runs for check in run.self_checks],
        notes=(
            "The embedded judge is a specimen: a model of 135 million parameters that no one should grade with. What it "
            "fails here is what the same page shows for any judge.",
            *(note for part in parts for note in part.notes),
            "The hosted judges were not asked: their recorded verdicts ship with voirdire and are audited. Vanilla is LLMBar's "
            "plain prompt; tables hold the other prompts.",
        ),
    )


def _own_findings(parts: Sequence[Part], runs: Sequence[ProbeRun]) -> list[Finding]:
    """Conclude once over all contrasts of the model, then give each finding back to the prompt it was asked with."""
    measured = [
        (run, replace(one, subject=part.subject if one.subject == JUDGE else one.subject))
        for part, run in zip(parts, runs, strict=True)
        for one in run.measurements
    ]
    concluded = conclude(
        [one for _, one in measured], judge="", family="all contrasts of the embedded judge on this page"
    )
    owned = [
        replace(
            finding,
            judge=run.judge.identity.fingerprint,
            id=f"{finding.name}/{finding.subject}/{run.judge.identity.fingerprint[:12]}",
        )
        for (run, _), finding in zip(measured, concluded, strict=True)
    ]
    return with_protocol(owned)
