"""The words of the house: items and contrasts, identities and requests, tables."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import DataError
from voirdire.lines import POSITION
from voirdire.model import (
    Contrast,
    Estimate,
    Identity,
    Item,
    Request,
    Side,
    Verdict,
    VerdictTable,
    canonical_json,
    number_of,
)

ITEM = Item("support-3", {"log": "sent", "outcome": "fine"})


def test_a_part_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(DataError, match=r"item 'support-3' has no part 'task', only \['log', 'outcome'\]"):
        ITEM["task"]


def test_with_part_leaves_the_original_alone() -> None:
    assert ITEM.with_part("log", "new")["log"] == "new"
    assert ITEM["log"] == "sent"


def test_a_contrast_differs_in_its_part_only() -> None:
    contrast = Contrast(ITEM, ITEM.with_part("outcome", "harm"), "outcome")
    assert contrast.variant["outcome"] == "harm"


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (
            ITEM.with_part("outcome", "harm").with_part("log", "x"),
            "item 'support-3': only 'outcome' may differ, but 'log' differs too",
        ),
        (
            ITEM.with_part("log", "x").with_part("extra", "y"),
            "item 'support-3': only 'outcome' may differ, but 'extra' and 'log' differ too",
        ),
        (ITEM, "item 'support-3': both versions have the same 'outcome'"),
    ],
)
def test_a_contrast_refuses_any_other_difference(variant: Item, message: str) -> None:
    with pytest.raises(DataError) as caught:
        Contrast(ITEM, variant, "outcome")
    assert str(caught.value) == message
    assert caught.value.hint == (
        "make both versions with one edit of one part; `voirdire diff support-3` shows them"
    )


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), plain, max_size=5))
def test_an_identity_does_not_depend_on_the_order_of_its_fields(fields: dict[str, object]) -> None:
    turned = dict(reversed(fields.items()))
    assert Identity("a", fields).fingerprint == Identity("b", turned).fingerprint


@given(st.dictionaries(st.text(), st.text(), min_size=1, max_size=4), st.data())
def test_an_identity_changes_with_any_character(fields: dict[str, str], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(fields)))
    changed = {**fields, key: fields[key] + data.draw(st.characters())}
    assert Identity("a", fields).fingerprint != Identity("a", changed).fingerprint


def test_canonical_json_is_one_text_per_value() -> None:
    assert canonical_json({"b": [1, {"d": "é"}], "a": None}) == '{"a":null,"b":[1,{"d":"é"}]}'
    with pytest.raises(TypeError, match="set has no place in an identity"):
        canonical_json({"a": {1}})


def test_a_request_is_known_by_its_body_alone() -> None:
    request = Request("a", "body")
    assert request.digest == replace(request, item_id="b", too_long="yes").digest
    assert request.digest != Request("a", "body ").digest


def test_only_numbers_are_numbers() -> None:
    assert number_of(Verdict("i", "q", 3), ITEM) == 3.0
    assert number_of(Verdict("i", "q", "first"), ITEM) is None
    assert number_of(Verdict("i", "q", None, missing_because="refusal"), ITEM) is None


def test_a_side_gives_the_verdicts_on_one_question_by_repeat() -> None:
    answers = [(Verdict("i", "p", repeat, repeat=repeat), Verdict("i", "d", 9)) for repeat in range(3)]
    assert [verdict.value for verdict in Side(ITEM, answers).on("p")] == [0, 1, 2]


def test_a_table_names_the_columns_it_lacks() -> None:
    import polars as pl

    table = VerdictTable(pl.DataFrame({"item": ["a"], "value": [1.0]}))
    table.require("item", "value")
    with pytest.raises(DataError, match="no column 'judge', 'repeat'"):
        table.require("item", "judge", "repeat")


def test_every_line_says_its_reason() -> None:
    assert POSITION.reason


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (1, "cases", "1 case"),
        (0, "cases", "0 cases"),
        (3, "item", "3 items"),
        (1, "repeats of each version", "1 repeat of each version"),
        (2, "pair of answers", "2 pairs of answers"),
        (1_200, "", "1,200"),
    ],
)
def test_units_agree_with_their_number(amount: int, unit: str, text: str) -> None:
    assert Estimate(0.5, n=amount, unit=unit).counted == text
