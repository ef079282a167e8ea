"""The outcome study on every recorded Claude Code log in which an agent decides and reports, with judges of known faults.

The cases stand in `real_cases/`; the logs are looked for beside the repository. Which logs cannot make a case, and why,
stands below.
"""

import asyncio
import difflib
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.engine.scripted import asker_on
from voirdire.edits.run_log import Actor, RunLog
from voirdire.engine.forms import Form, asking_in_form
from voirdire.importers._planting import Deed, Version
from voirdire.importers.cases import Case, read_case, short_cases
from voirdire.importers.claude_code import read_session
from voirdire.judges import open_judge, read_spec
from voirdire.judges.planted import planted_judge
from voirdire.model import Examination, Finding, Item, Ruling
from voirdire.probes.outcome import PROBE
from voirdire.studies.outcome import OutcomeOptions, examine_outcome

CASES = Path(__file__).parent / "real_cases"
LOGS = Path(__file__).parents[3] / "shared" / "data" / "agent-logs" / "claude-code"

WITH_CASE = {
    "real_agent_aac57f5.jsonl": "packages",
    "real_subagent.jsonl": "dependency",
    "representative_messages.jsonl": "example",
    "sample_session.jsonl": "commit",
    "real_session_ae4a77f8.jsonl.gz": "recorded-long",
}
"""Each log and the case made from it; the last ships with the package."""

WITHOUT_CASE = {
    "edge_cases.jsonl": "odd entries made for a parser, without a task that anybody works on",
    "real_short.jsonl": "the user stops the agent before any of its calls has run, so it decides and reports nothing",
    "real_tool_heavy.jsonl": "both tasks are stopped by the user before a report; its first 17 lines ship as "
    "recorded-short, into which a report is planted",
    "todowrite_examples.jsonl": "ends with a tool's result, so the agent reports nothing",
}

pytestmark = pytest.mark.skipif(not LOGS.exists(), reason="the sample collection of logs is not here")

ALL = OutcomeOptions(inside=True, awareness=True, committed=True)


@dataclass(frozen=True)
class Studied:
    """What one planted judge gave on all cases."""

    examination: Examination

    def named(self, name: str, subject: str) -> Finding:
        return next(one for one in self.examination if one.name == name and one.subject == subject)


@cache
def case(name: str) -> Case:
    """Read the case with the log beside it."""
    log = next(log for log, made in WITH_CASE.items() if made == name)
    if name == "recorded-long":
        return read_case(name)
    with TemporaryDirectory() as folder:
        shutil.copy(CASES / f"{name}.toml", folder)
        shutil.copy(LOGS / log, folder)
        return read_case(Path(folder) / f"{name}.toml")


def items() -> list[Item]:
    """Return all cases; of the longest log what its window shows, since it is planted whole elsewhere."""
    return [case(name).windowed() if name == "recorded-long" else case(name).item() for name in names()]


def names() -> list[str]:
    return list(WITH_CASE.values())


@cache
def studied(judge: str) -> Studied:
    asking = asking_in_form(PROBE.messages, PROBE.questions, Form.TEXT)
    opened = open_judge(read_spec(f"planted:{judge}"), asking)
    with TemporaryDirectory() as folder, asker_on(Path(folder) / "ledger.sqlite") as asker:
        work = examine_outcome([opened], items(), asker, ALL, planted=planted_judge)
        return Studied(asyncio.run(work))


def test_every_log_has_a_case_or_a_reason() -> None:
    found = {path.name for path in LOGS.iterdir() if ".jsonl" in path.name}
    assert found == WITH_CASE.keys() | WITHOUT_CASE.keys()
    assert {path.stem for path in CASES.glob("*.toml")} | {"recorded-long"} == set(names())
    assert not set(names()) & set(short_cases())


@pytest.mark.parametrize("log", ["real_short.jsonl", "real_tool_heavy.jsonl", "todowrite_examples.jsonl"])
def test_a_log_without_a_case_ends_without_a_report(log: str) -> None:
    last = read_session(LOGS / log).log.steps[-1]
    assert last.source is not Actor.AGENT or last.passages[-1].heading != "agent"


@pytest.mark.parametrize("name", names())
def test_only_the_planted_spans_differ_from_the_recorded_file(name: str) -> None:
    native = case(name).native
    assert native is not None
    for version in Version:
        before, after = native.original.split(b"\n"), native.versions[version].split(b"\n")
        codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
        changed = [code for code in codes if code[0] != "equal"]
        touched = {line for _, start, end, _, _ in changed for line in range(start + 1, end + 1)}
        spans = native.spans[version]
        assert touched == {span.line for span in spans if span.deed is not Deed.INSERTED}
        declared = {span.plant for span in spans}
        assert declared <= {"required step", "decision", "report"} or name == "recorded-long"


@pytest.mark.parametrize("name", names())
def test_the_versions_differ_in_the_outcome_alone_and_the_control_in_the_agents_act(name: str) -> None:
    outcome, control, *_ = case(name).comparisons()
    assert (outcome.part, len(outcome.changes)) == ("outcome", 1)
    assert control.part == "log"
    users = [_said_by_users(log) for log in case(name).logs.values()]
    assert users[0] == users[1]


def _said_by_users(log: RunLog) -> list[str]:
    return [
        one.text
        for step in log.steps
        if step.source is Actor.USER
        for one in step.passages
        if one.heading == "user"
    ]


@pytest.mark.parametrize("probe", ["outcome", "outcome_in_log", "outcome_committed"])
@pytest.mark.parametrize("name", names())
def test_a_judge_that_leaks_is_ruled_so_on_every_real_log(name: str, probe: str) -> None:
    finding = studied("leaks").named(probe, name)
    assert finding.ruling is Ruling.LEAKS, finding.sentence
    assert finding.estimate is not None
    assert finding.estimate.value == 0.0


@pytest.mark.parametrize("probe", ["outcome", "outcome_in_log", "outcome_committed"])
@pytest.mark.parametrize("name", names())
def test_a_fair_judge_is_cleared_on_every_real_log(name: str, probe: str) -> None:
    finding = studied("fair").named(probe, name)
    assert finding.ruling is Ruling.HOLDS, finding.sentence
    assert finding.control is not None
    assert finding.control.value == 1.0
    assert finding.check is not None
    assert finding.check.value == 1.0


def test_five_logs_say_nothing_about_the_judge_in_general() -> None:
    assert "at least 8 cases" in studied("fair").named("outcome", "judge").sentence
    assert studied("leaks").examination.account.unreadable == {}


def test_after_an_irrelevant_failure_no_planted_judge_changes_a_score() -> None:
    changes = studied("leaks").named("outcome_committed_changes", "judge").sentence
    assert "changed 50 of 50 scores after the harm (50 down, 0 up)" in changes
    assert "0 of 50 after an irrelevant failure" in changes
