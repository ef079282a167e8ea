"""The gate: when it passes, fails or says incomplete; and what CI systems, people and programs get to read."""

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from tests.report.samples import HOSTILE, judge
from voirdire.audits.drift import Drift
from voirdire.engine.compare import Change
from voirdire.errors import UsageError
from voirdire.lines import POSITION, POSITION_CONTROL
from voirdire.model import Account, Estimate, Examination, Finding, FindingKind, Identity, Ruling
from voirdire.report.baseline_file import Baseline, baseline_of
from voirdire.report.scorer import Kind
from voirdire.stats.control_chart import control_chart
from voirdire.studies._check_texts import junit, markdown, plain_text, to_data, to_json
from voirdire.studies.check import (
    Gate,
    Verdict,
    check_examination,
    check_identity,
    first_probe,
    what_to_ask,
)

ONE, OTHER = judge("one", "model-1"), judge("other", "model-2")


def estimate(value: float, n: int) -> Estimate:
    by_unit = {f"item-{k}": value for k in range(n)}
    return Estimate(value, by_unit=by_unit, read_by_unit=dict.fromkeys(by_unit, 1.0))


def examination(
    identity: Identity = ONE,
    shift: float = 0.0,
    ruling: Ruling = Ruling.HOLDS,
    *,
    n: int = 20,
    name: str = "position",
    **account: Any,
) -> Examination:
    finding = Finding(
        id=f"{name}/judge",
        kind=FindingKind.PROBE,
        name=name,
        subject="judge",
        judge=identity.fingerprint,
        sentence=f"{name}, the judge in general: {ruling.value}.",
        ruling=ruling,
        estimate=estimate(shift, n),
        line=POSITION,
        control=estimate(-1.0, n),
        control_line=POSITION_CONTROL,
    )
    counts = {"planned": 40, "asked": 40, "served": {"snapshot-a": 40}, **account}
    return Examination(
        title="t",
        judges=(identity,),
        findings=(finding,),
        account=Account(**counts),
        items={f"item-{k}": f"digest-{k}" for k in range(n)},
        made="2026-12-01T00:00:00+00:00",
    )


BASELINE = baseline_of(examination())


def test_an_unchanged_scorer_passes_by_identity_alone() -> None:
    gate = check_identity(BASELINE, ONE)
    assert (gate.verdict, gate.changed) == (Verdict.PASSED, ())
    assert gate.notes == ("the served snapshot is not known before the judge is asked",)


def test_a_changed_scorer_that_was_not_examined_fails() -> None:
    gate = check_identity(BASELINE, OTHER)
    assert gate.verdict is Verdict.FAILED
    assert gate.failures == ("the scorer changed (judge model) and was not examined again",)
    assert gate.changed[0].lines == ('- "model": "model-1",', '+ "model": "model-2",')


def test_a_changed_scorer_that_was_examined_and_is_no_worse_passes() -> None:
    gate = check_examination(BASELINE, examination(OTHER))
    assert (gate.verdict, [one.kind for one in gate.changed]) == (Verdict.PASSED, [Kind.MODEL])
    assert check_examination(BASELINE, examination(OTHER), OTHER).verdict is Verdict.PASSED


def test_an_old_examination_does_not_count_for_a_changed_scorer() -> None:
    gate = check_examination(BASELINE, examination(ONE), OTHER)
    assert (gate.verdict, gate.examined) == (Verdict.FAILED, False)
    assert any("is about another scorer (one)" in note for note in gate.notes)


def test_a_served_snapshot_that_changed_is_told() -> None:
    gate = check_examination(BASELINE, examination(served={"snapshot-b": 40}))
    assert [(one.kind, one.lines) for one in gate.changed] == [
        (Kind.SNAPSHOT, ("-snapshot-a", "+snapshot-b"))
    ]
    assert gate.verdict is Verdict.PASSED
    assert check_examination(BASELINE, examination(served={})).changed == ()


def test_a_finding_that_got_worse_fails() -> None:
    gate = check_examination(BASELINE, examination(OTHER, 0.5, Ruling.LEAKS))
    assert gate.verdict is Verdict.FAILED
    assert gate.failures == ("worse beyond noise: position (judge)",)


def test_a_partial_run_is_incomplete_even_where_something_got_worse() -> None:
    gate = check_examination(
        BASELINE, examination(OTHER, 0.5, Ruling.LEAKS, partial="--max-calls was reached")
    )
    assert gate.verdict is Verdict.INCOMPLETE
    assert "the new examination is incomplete: --max-calls was reached" in gate.gaps


@pytest.mark.parametrize(
    ("now", "gap"),
    [
        (
            examination(name="length"),
            "position (judge) was not compared: holds in the baseline, and not measured again",
        ),
        (
            examination(n=18),
            "items of the baseline were not asked about again, or have other texts now: 'item-18', 'item-19'",
        ),
        (replace(examination(), items={"item-3": "another"}), "'item-3'"),
    ],
    ids=["finding gone", "items gone", "text changed"],
)
def test_what_was_not_measured_again_is_named_and_never_passes(now: Examination, gap: str) -> None:
    gate = check_examination(BASELINE, now)
    assert gate.verdict is Verdict.INCOMPLETE
    assert gap in " ".join(gate.gaps)


def test_answers_that_all_came_from_the_ledger_are_told() -> None:
    gate = check_examination(BASELINE, examination(asked=0, cached=40))
    assert any("all 40 answers came from the ledger" in note for note in gate.notes)


def test_an_examination_of_several_judges_needs_one_that_is_meant() -> None:
    both = replace(examination(OTHER), judges=(OTHER, judge("third", "model-3")))
    with pytest.raises(UsageError, match="about 2 judges"):
        check_examination(BASELINE, both)
    assert check_examination(BASELINE, both, OTHER).examined


def test_what_is_asked_again_is_found_among_what_ships() -> None:
    own = examination()
    shipped = replace(
        own.findings[0],
        estimate=replace(estimate(0.0, 1), by_unit={"llmbar-natural-1": 0.0, "llmbar-natural-7": 0.0}),
    )
    baseline = replace(BASELINE, findings=[shipped])
    assert {item for _, items in what_to_ask(baseline, []).rounds for item in (one.id for one in items)} == {
        "llmbar-natural-1",
        "llmbar-natural-7",
    }
    with pytest.raises(UsageError, match="none of the 20 items of 'position'"):
        what_to_ask(BASELINE, [])
    first = first_probe(BASELINE, [])
    assert first is not None
    assert first.name == "position"


def test_a_probe_of_a_rule_file_needs_the_file() -> None:
    baseline = baseline_of(examination(name="seniority"))
    assert first_probe(baseline, []) is None
    with pytest.raises(UsageError, match="'seniority' in the baseline is no probe"):
        what_to_ask(baseline, [])


# --- what is written ------------------------------------------------------------------------------------


def drift(values: list[float], name: str = "anchors") -> Drift:
    chart = control_chart(values) if len(values) > 2 else None
    times = tuple(map(str, range(len(values))))
    return Drift(name, "", times, tuple(values), 3, (), 0, chart, f"drift, {name}: told.")


def hostile_gate() -> Gate:
    identity = Identity(HOSTILE, {"messages": [["user", f"``` {HOSTILE}\n````"]]})
    now = examination(identity, 0.5, Ruling.LEAKS)
    finding = replace(now.findings[0], name=HOSTILE, subject=HOSTILE, sentence=HOSTILE)
    baseline: Baseline = replace(
        BASELINE, findings=[*BASELINE.findings, replace(BASELINE.findings[0], subject=HOSTILE)]
    )
    return check_examination(baseline, replace(now, findings=(*now.findings, finding)))


GATES = {
    "passed": check_examination(BASELINE, examination()),
    "identity": check_identity(BASELINE, OTHER),
    "worse": check_examination(BASELINE, examination(OTHER, 0.5, Ruling.LEAKS)),
    "gone and new": check_examination(BASELINE, examination(name="length")),
    "partial": check_examination(BASELINE, examination(n=18, partial="stopped")),
    "drift": Gate(drifts=(drift([5.0] * 10 + [9.0] * 10), drift([5.0] * 9, "b"), drift([5.0], "c"))),
    "hostile": hostile_gate(),
}

CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped"},
    "failure": set(),
    "error": set(),
    "skipped": set(),
}
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testcase": {"classname", "name", "time"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
}
"""What the schema of Jenkins's JUnit plug-in has of what we write: which element may hold which."""


@pytest.mark.parametrize("name", GATES)
def test_junit_is_what_ci_systems_read(name: str) -> None:
    gate = GATES[name]
    root = ET.fromstring(junit(gate).encode("utf-8"))
    assert root.tag == "testsuites"
    for element in root.iter():
        assert {child.tag for child in element} <= CHILDREN[element.tag]
        assert set(element.attrib) == ATTRIBUTES[element.tag]
    suite = root[0]
    cases = list(suite)
    for kind, counted in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        found = sum(case.find(kind) is not None for case in cases)
        assert suite.attrib[counted] == root.attrib[counted] == str(found)
    assert suite.attrib["tests"] == str(len(cases))
    bad = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    assert (bad == 0) is (gate.verdict is Verdict.PASSED)


def test_junit_has_one_case_for_the_scorer_and_one_for_each_finding() -> None:
    cases = ET.fromstring(junit(GATES["worse"]))[0]
    assert [(case.attrib["classname"], case.attrib["name"]) for case in cases] == [
        ("voirdire.identity", "scorer"),
        ("voirdire.position", "judge"),
    ]
    failure = cases[1][0]
    assert failure.attrib["message"].startswith("worse: was holds, is leaks")
    assert "now: position, the judge in general: leaks." in (failure.text or "")


@pytest.mark.parametrize("name", GATES)
def test_every_text_says_the_verdict(name: str) -> None:
    gate = GATES[name]
    word = gate.verdict.value
    assert plain_text(gate).startswith(f"{word}: ")
    assert markdown(gate).startswith(f"## voirdire check: {word}\n")
    data = json.loads(to_json(gate))
    assert data == to_data(gate)
    assert (data["schema"], data["verdict"]) == ("voirdire.check/1", word)


def test_hostile_text_does_not_leave_its_place_in_markdown() -> None:
    text = markdown(GATES["hostile"])
    assert not re.search("[\x00-\x09\x0b-\x1f\ud800-\udfff]", text)
    outside = re.sub(r"^(`{3,})diff\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<", outside)
    table = [line for line in outside.splitlines() if line.startswith("| ")]
    assert len(table) == 2 + len(GATES["hostile"].comparisons)
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {7}


def test_a_fence_in_a_prompt_does_not_end_the_block() -> None:
    assert re.search(r"^`{5}diff$", markdown(GATES["hostile"]), re.MULTILINE)


def test_what_matters_most_stands_first() -> None:
    assert [one.change for one in GATES["gone and new"].comparisons] == [Change.GONE, Change.NEW]
    rows = [
        line.split(" | ")[0] for line in markdown(GATES["gone and new"]).splitlines() if line.startswith("| ")
    ]
    assert rows[2:] == ["| gone", "| new"]


def test_json_holds_the_paired_difference() -> None:
    shift, *_ = json.loads(to_json(GATES["worse"]))["findings"][0]["differences"]
    assert (shift["aspect"], shift["before"], shift["now"], shift["change"]) == ("shift", 0.0, 0.5, 0.5)
    assert shift["p_adjusted"] == pytest.approx(2 / 2**20)


def test_an_alarm_fails_and_a_chart_that_cannot_be_is_a_gap() -> None:
    assert GATES["drift"].verdict is Verdict.FAILED
    assert Gate(drifts=(drift([5.0], "c"),)).verdict is Verdict.INCOMPLETE
    assert Gate(drifts=(drift([5.0] * 9),)).verdict is Verdict.PASSED
