"""A baseline file: what goes in comes out, in the published form; what is not ours or was changed is refused."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.report.samples import judge, leaking_judge, partial_run, several_judges
from voirdire.errors import DataError, UsageError
from voirdire.model import Estimate, Examination, Identity
from voirdire.report.baseline_file import (
    Baseline,
    baseline_of,
    from_data,
    json_schema,
    read_baseline,
    to_text,
    write_baseline,
)
from voirdire.report.scorer import Kind, by_kind, changes

PUBLISHED: dict[str, Any] = json.loads(
    (files("voirdire") / "data" / "schemas" / "baseline.schema.json").read_text(encoding="utf-8")
)


def with_values(examination: Examination) -> Examination:
    values = {"support": 0.0, "operations": None}
    return replace(
        examination,
        findings=tuple(
            replace(one, estimate=replace(one.estimate or Estimate(None), by_unit=values))
            for one in examination.findings
        ),
        items={"support": "0123456789abcdef"},
    )


@pytest.fixture
def baseline() -> Baseline:
    return baseline_of(with_values(leaking_judge()))


def test_it_comes_back_as_it_was_written(baseline: Baseline, tmp_path: Path) -> None:
    write_baseline(baseline, tmp_path / "baseline.json")
    read = read_baseline(tmp_path / "baseline.json")
    assert to_text(read) == to_text(baseline)
    assert [one.ruling for one in read.findings] == [one.ruling for one in baseline.findings]
    assert read.findings[0].estimate == baseline.findings[0].estimate


def test_it_is_what_the_published_schema_describes(baseline: Baseline) -> None:
    assert json_schema() == PUBLISHED
    jsonschema.Draft202012Validator(PUBLISHED).validate(json.loads(to_text(baseline)))


def test_it_holds_findings_with_a_ruling_and_no_evidence(baseline: Baseline) -> None:
    assert {one.name for one in baseline.findings} == {"outcome", "position"}
    assert not any(one.blocks for one in baseline.findings)
    assert baseline.served == {"smollm2-135m@1f3a": 299}


def test_an_incomplete_examination_is_no_baseline() -> None:
    with pytest.raises(UsageError, match="incomplete: the limit of 260 calls"):
        baseline_of(with_values(partial_run()))


def test_findings_without_values_by_item_are_no_baseline() -> None:
    with pytest.raises(UsageError, match="nothing about 'local:smollm2-135m' can be compared later"):
        baseline_of(leaking_judge())


def test_one_of_several_judges_is_named_by_name_or_fingerprint() -> None:
    several = with_values(several_judges())
    with pytest.raises(UsageError, match="has 3") as caught:
        baseline_of(several)
    assert "openai:careful-1" in caught.value.hint
    careful = several.judges[0]
    assert baseline_of(several, judge="openai:careful-1").judge == careful
    assert baseline_of(several, judge=careful.fingerprint[:8]).judge == careful
    assert {one.judge for one in baseline_of(several, judge=careful.fingerprint).findings} == {
        careful.fingerprint
    }
    with pytest.raises(UsageError, match="names 0 judges"):
        baseline_of(several, judge="nobody")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "voirdire.findings/1"}, "is no baseline"),
        ({"schema": "voirdire.baseline/2"}, "this release reads 'voirdire.baseline/1'"),
        ({"identity": {}}, "does not belong to its fingerprint"),
        ({"served": {"other": 1}}, "does not belong to its fingerprint"),
        ({"more": 1}, "unknown field 'more'"),
    ],
)
def test_another_file_or_a_changed_one_is_refused(
    change: dict[str, object], message: str, baseline: Baseline
) -> None:
    with pytest.raises(DataError, match=message):
        from_data({**json.loads(to_text(baseline)), **change})


def test_a_judge_changed_by_hand_is_refused(baseline: Baseline) -> None:
    data = json.loads(to_text(baseline))
    data["judge"]["fields"]["backend"]["model"] = "another"
    with pytest.raises(DataError, match="does not belong to its fingerprint"):
        from_data(data)


# --- who scores, by kind --------------------------------------------------------------------------------


def changed(identity: Identity, **fields: object) -> list[Kind]:
    other = Identity(identity.name, {**identity.fields, **fields})
    return [one.kind for one in changes(by_kind(identity, ["a"]), by_kind(other, ["a"]))]


def test_every_kind_of_change_is_named() -> None:
    one = judge()
    backend = dict(one.fields["backend"])  # type: ignore[call-overload]
    questions: list[dict[str, object]] = [dict(each) for each in one.fields["questions"]]  # type: ignore[attr-defined]
    other_scale = [{**questions[0], "high": 5}, questions[1]]
    other_text = [{**questions[0], "text": "How bad?"}, questions[1]]
    assert changed(one) == []
    assert changed(one, rubric_generator="f00d") == [Kind.RUBRIC_GENERATOR]
    assert changed(one, backend={**backend, "model": "x"}) == [Kind.MODEL]
    assert changed(one, backend={**backend, "sampling": {"temperature": 1}}) == [Kind.SAMPLING]
    assert changed(one, messages=[["user", "Score it."]]) == [Kind.PROMPT]
    assert changed(one, questions=other_text) == [Kind.QUESTIONS]
    assert changed(one, questions=other_scale) == [Kind.SCALE]
    assert changed(one, reader=["json", {}]) == [Kind.READER]
    assert changed(one, remedies=[{"name": "swap"}]) == [Kind.REMEDIES]
    assert changed(one, something=1) == [Kind.OTHER]
    snapshots = changes(by_kind(one, ["a"]), by_kind(one, ["b"]))
    assert [(each.kind, each.lines) for each in snapshots] == [(Kind.SNAPSHOT, ("-a", "+b"))]
    assert changes(by_kind(one, ["a"]), by_kind(one, ["b"]), unknown=[Kind.SNAPSHOT]) == []


def test_a_prompt_is_compared_line_by_line_and_long_ones_are_cut() -> None:
    def asked(text: str) -> Identity:
        return Identity("j", {"messages": [["user", text]]})

    short = changes(by_kind(asked("one\ntwo\nthree"), ()), by_kind(asked("one\n2\nthree"), ()))
    assert short[0].lines == ("-two", "+2")
    long = changes(by_kind(asked("\n".join(map(str, range(50)))), ()), by_kind(asked("x" * 1000), ()))[
        0
    ].lines
    assert len(long) == 13
    assert long[-1] == "... and 39 more lines"
    assert max(map(len, long)) <= 160
