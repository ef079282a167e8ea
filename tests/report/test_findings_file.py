"""findings.json: what goes in comes out, in one form, and what is not ours is refused with its place."""

import json
import math
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.samples import SAMPLES, hostile, judge, leaking_judge, shift
from voirdire.blocks import DiffBlock, FigureBlock, QuoteBlock, TableBlock, TextBlock
from voirdire.errors import DataError
from voirdire.lines import Line
from voirdire.model import (
    Account,
    Estimate,
    Examination,
    Expectation,
    Finding,
    FindingKind,
    Identity,
    Ruling,
    SelfCheck,
    StatedRule,
)
from voirdire.report.findings_file import from_data, json_schema, read_data, to_data, to_text

TEXT = st.text(max_size=12)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(0, 10**9)
CELL = st.one_of(TEXT, NUMBER, st.integers(-(10**12), 10**12), st.booleans(), st.none())
COUNTS = st.dictionaries(TEXT, COUNT, max_size=3)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
PLAIN = st.recursive(
    CELL, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)
CELLS = st.lists(CELL, max_size=3).map(tuple)
BLOCK = st.one_of(
    st.builds(TextBlock, TEXT, TEXT),
    st.builds(TableBlock, TEXT, TEXTS, st.lists(CELLS, max_size=3).map(tuple), TEXT),
    st.builds(DiffBlock, TEXT, TEXT, TEXT, TEXT, TEXT),
    st.builds(QuoteBlock, TEXT, st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple), TEXT),
    st.builds(
        FigureBlock,
        TEXT,
        TEXT,
        st.lists(st.dictionaries(TEXT, CELL, max_size=3), max_size=3).map(tuple),
        st.dictionaries(TEXT, PLAIN, max_size=3),
        TEXT,
    ),
)
ESTIMATE = st.builds(
    Estimate,
    value=st.none() | NUMBER,
    low=st.none() | NUMBER,
    high=st.none() | NUMBER,
    level=NUMBER,
    n=COUNT,
    unit=TEXT,
    method=TEXT,
    inner_low=st.none() | NUMBER,
    inner_high=st.none() | NUMBER,
    p_value=st.none() | NUMBER,
    missing=COUNTS,
    asked=COUNTS,
    bounds=st.none() | st.tuples(NUMBER, NUMBER),
    exact=st.booleans(),
    note=TEXT,
    by_unit=st.dictionaries(TEXT, st.none() | NUMBER, max_size=3),
    read_by_unit=st.dictionaries(TEXT, NUMBER, max_size=3),
    by_arm=st.dictionaries(TEXT, st.lists(NUMBER, max_size=3).map(tuple), max_size=2),
)
LINE = st.builds(Line, TEXT, NUMBER, NUMBER, st.none() | NUMBER, TEXT)
FINDING = st.builds(
    Finding,
    id=TEXT,
    kind=st.sampled_from(FindingKind),
    name=TEXT,
    subject=TEXT,
    judge=TEXT,
    sentence=TEXT,
    ruling=st.none() | st.sampled_from(Ruling),
    estimate=st.none() | ESTIMATE,
    line=st.none() | LINE,
    control=st.none() | ESTIMATE,
    control_line=st.none() | LINE,
    check=st.none() | ESTIMATE,
    check_line=st.none() | LINE,
    p_adjusted=st.none() | NUMBER,
    family=TEXT,
    family_size=COUNT,
    rule=st.none() | st.builds(StatedRule, st.none() | st.booleans(), COUNT, COUNT, COUNT, TEXT, TEXTS),
    settles=TEXT,
    flags=TEXTS,
    blocks=st.lists(BLOCK, max_size=3).map(tuple),
    references=TEXTS,
    expect=st.sampled_from(Expectation),
)
ACCOUNT = st.builds(
    Account,
    planned=COUNT,
    unreadable=COUNTS,
    money=st.none() | NUMBER,
    seconds=NUMBER,
    partial=st.none() | TEXT,
    served=COUNTS,
)
EXAMINATION = st.builds(
    Examination,
    title=TEXT,
    judges=st.lists(st.builds(Identity, TEXT, st.dictionaries(TEXT, PLAIN, max_size=3)), max_size=2).map(
        tuple
    ),
    findings=st.lists(FINDING, max_size=2).map(tuple),
    account=ACCOUNT,
    self_checks=st.lists(st.builds(SelfCheck, TEXT, TEXT, TEXTS, TEXT, st.booleans()), max_size=2).map(tuple),
    notes=TEXTS,
    made=TEXT,
    version=TEXT,
    items=st.dictionaries(TEXT, TEXT, max_size=2),
)


@given(EXAMINATION)
def test_what_goes_in_comes_out(examination: Examination) -> None:
    data = json.loads(to_text(examination))
    assert from_data(data) == examination
    assert to_data(from_data(data)) == data


@given(EXAMINATION)
def test_real_output_is_what_the_schema_describes(examination: Examination) -> None:
    VALIDATOR.validate(to_data(examination))


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_survive_the_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / "findings.json"
    path.write_text(to_text(SAMPLES[name]()), encoding="utf-8")
    data = read_data(path)
    VALIDATOR.validate(data)
    assert to_text(from_data(data)) == path.read_text(encoding="utf-8")


def test_published_schema_is_the_one_that_the_code_makes() -> None:
    """On a difference, write `json_schema()` to the file with an indent of two."""
    assert json_schema() == PUBLISHED


def test_schema_refuses_what_the_reader_refuses() -> None:
    data = to_data(leaking_judge())
    data["findings"][0]["ruling"] = "fine"
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(data)
    with pytest.raises(DataError):
        from_data(data)


def test_enums_are_words_and_blocks_say_their_kind() -> None:
    finding = to_data(leaking_judge())["findings"][0]
    assert (finding["kind"], finding["ruling"]) == ("probe", "leaks")
    assert [block["block"] for block in finding["blocks"]] == ["diff", "figure", "quote"]


def test_no_number_in_the_file_is_not_finite() -> None:
    text = to_text(hostile())
    assert json.loads(text, parse_constant=lambda word: pytest.fail(word))
    rows = to_data(hostile())["findings"][0]["blocks"][2]["rows"]
    assert [row[-1] for row in rows] == [None, None, None]


def test_estimate_that_is_not_finite_is_no_estimate() -> None:
    estimate = Estimate(math.nan, -math.inf, math.inf, bounds=(math.nan, 0.4))
    written = to_data(_with_estimate(estimate))["findings"][0]["estimate"]
    assert (written["value"], written["low"], written["high"], written["bounds"]) == (None, None, None, None)


def test_line_that_is_not_finite_is_refused_with_its_place() -> None:
    finding = Finding("a", FindingKind.PROBE, "a", "a", "a", "a", line=Line("q", math.nan, 1.0, None, "r"))
    with pytest.raises(DataError, match=r"findings\[0\].line.null is nan"):
        to_data(Examination("t", (), (finding,), Account()))


def test_identity_that_would_change_is_refused() -> None:
    odd = Identity("j", {"temperature": math.nan})
    with pytest.raises(DataError, match="without changing its fingerprint"):
        to_data(Examination("t", (odd,), (), Account()))


def test_numbers_of_numpy_are_written_as_numbers() -> None:
    estimate = Estimate(np.float64(0.25), n=np.int64(3))  # type: ignore[arg-type]
    text = to_text(_with_estimate(estimate))
    assert from_data(json.loads(text)).findings[0].estimate == Estimate(0.25, n=3)


def test_equal_examinations_give_equal_bytes() -> None:
    forward = Account(served={"a": 1, "b": 2})
    backward = Account(served={"b": 2, "a": 1})
    assert to_text(Examination("t", (), (), forward)) == to_text(Examination("t", (), (), backward))


def test_lone_surrogate_is_kept_and_the_file_is_utf_8() -> None:
    text = to_text(Examination("bad \ud800 half", (), (), Account()))
    assert text.encode("utf-8")
    assert from_data(json.loads(text)).title == "bad \ud800 half"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "not a findings file"),
        ({}, "not a findings file"),
        ({"schema": "voirdire.items/1"}, "not a findings file"),
        ({"schema": "voirdire.findings/2"}, "reads 'voirdire.findings/1'"),
        ({"schema": "voirdire.findings/1", "title": "t"}, "lacks the field 'account'"),
    ],
)
def test_another_file_is_refused(data: object, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        from_data(data)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("title",), 3, "title should be a text, not 3"),
        (("extra",), 3, "the file has an unknown field 'extra'"),
        (("judges",), {}, "judges should be a list"),
        (
            ("findings", 0, "estimate", "value"),
            "x",
            r"findings\[0\].estimate.value should be a number, not 'x'",
        ),
        (("findings", 0, "estimate", "value"), math.nan, "should be a number"),
        (("findings", 0, "estimate", "n"), True, "should be a whole number"),
        (("findings", 0, "estimate", "bounds"), [1.0], "should be a list of 2"),
        (("findings", 0, "ruling"), "good", "should be one of"),
        (("findings", 0, "blocks", 0, "block"), "video", "should be a block of kind"),
        (("findings", 0, "blocks", 0), "text", "should be a block of kind"),
        (("judges", 0, "fields"), {}, "fingerprint does not belong to its fields"),
        (("judges", 0, "fingerprint"), "0" * 64, "fingerprint does not belong to its fields"),
        (("account", "served"), {"a": "many"}, "account.served.a should be a whole number"),
    ],
)
def test_changed_file_is_refused_with_its_place(
    place: tuple[str | int, ...], value: object, said: str
) -> None:
    data: Any = to_data(leaking_judge())
    holder = data
    for step in place[:-1]:
        holder = holder[step]
    holder[place[-1]] = value
    with pytest.raises(DataError, match=said):
        from_data(data)


def test_fields_that_an_older_file_lacks_take_their_defaults() -> None:
    data = to_data(leaking_judge())
    for finding in data["findings"]:
        del finding["check_line"]
    assert from_data(data).findings[0].check_line is None


@pytest.mark.parametrize(
    ("content", "said"), [("{", "is not JSON"), ('{"a": NaN}', "holds NaN"), ("[" * 100_000, "is not JSON")]
)
def test_file_that_is_not_json_is_refused(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "findings.json"
    path.write_text(content)
    with pytest.raises(DataError, match=said):
        read_data(path)


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        read_data(tmp_path / "findings.json")


def _with_estimate(estimate: Estimate) -> Examination:
    one = judge()
    finding = Finding(
        "a", FindingKind.PROBE, "a", "a", one.fingerprint, "a", estimate=estimate, control=shift(0.5)
    )
    return Examination("t", (one,), (finding,), Account())


PUBLISHED = json.loads(
    (files("voirdire") / "data" / "schemas" / "findings.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(PUBLISHED)
