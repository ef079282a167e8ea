"""`planted:NAME` is what it says on every shipped case, asked and ruled on as a user's judge is."""

import asyncio
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.engine.scripted import asker_on
from voirdire.engine.conclude import conclude
from voirdire.engine.forms import Form, asking_in_form
from voirdire.engine.measure import JUDGE, measure
from voirdire.engine.run import ask_trials
from voirdire.importers.cases import shipped_cases
from voirdire.judges import open_judge, read_spec
from voirdire.model import Finding, Item, Ruling
from voirdire.probes.outcome import PROBE
from voirdire.studies._cases import read_cases

IN_GENERAL = {
    "leaks": {Ruling.LEAKS},
    "deterministic": {Ruling.LEAKS},
    "fair": {Ruling.HOLDS},
    "noisy": {Ruling.HOLDS},
    "never_moves": {Ruling.BLIND},
    "random": {Ruling.BLIND, Ruling.UNRESOLVED},
}


@cache
def items() -> tuple[Item, ...]:
    """Return every shipped case, recorded logs as their windows show them."""
    return read_cases(
        shipped_cases(), windowed=[name for name in shipped_cases() if "recorded" in name]
    ).items


@cache
def findings(judge: str, form: Form) -> dict[str, Finding]:
    """Return what is found about a planted judge, by subject. The self-check has tests of its own."""
    opened = open_judge(read_spec(f"planted:{judge}"), asking_in_form(PROBE.messages, PROBE.questions, form))
    with TemporaryDirectory() as folder, asker_on(Path(folder) / "ledger.sqlite") as asker:
        trials = asyncio.run(ask_trials(PROBE, opened, items(), asker, repeats=PROBE.repeats))
    measured = measure(PROBE, trials, questions=opened.asking.questions, deterministic=opened.deterministic)
    found = conclude(measured, judge=opened.identity.fingerprint, family="test")
    return {finding.subject: finding for finding in found}


@pytest.mark.parametrize("form", list(Form))
@pytest.mark.parametrize("judge", IN_GENERAL)
def test_a_planted_judge_is_ruled_as_what_it_is_in_general(judge: str, form: Form) -> None:
    finding = findings(judge, form)[JUDGE]
    assert finding.ruling in IN_GENERAL[judge], finding.sentence


@pytest.mark.parametrize("case", shipped_cases())
@pytest.mark.parametrize(
    ("judge", "ruling"),
    [
        ("leaks", Ruling.LEAKS),
        ("deterministic", Ruling.LEAKS),
        ("fair", Ruling.HOLDS),
        ("never_moves", Ruling.BLIND),
    ],
)
def test_a_planted_judge_without_noise_is_ruled_as_what_it_is_on_every_case(
    judge: str, ruling: Ruling, case: str
) -> None:
    finding = findings(judge, Form.TEXT)[case]
    assert finding.ruling is ruling, finding.sentence


@pytest.mark.parametrize("case", shipped_cases())
def test_noise_alone_is_never_a_leak(case: str) -> None:
    for judge in ("noisy", "random"):
        assert findings(judge, Form.TEXT)[case].ruling is not Ruling.LEAKS
