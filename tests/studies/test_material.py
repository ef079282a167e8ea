"""The shipped pairs: fair, balanced, stable, and silent about who wrote what."""

import ast
import json
from collections.abc import Callable
from typing import Any

import pytest

from voirdire.edits.pairs import shown
from voirdire.errors import UsageError
from voirdire.model import Item, TruthSource
from voirdire.studies import _material
from voirdire.studies._material import humaneval_pairs, llmbar_pairs, shipped

SLICES = [pytest.param(llmbar_pairs, 100, id="llmbar"), pytest.param(humaneval_pairs, 68, id="humaneval")]

Pairs = Callable[[int, int], list[Item]]


@pytest.mark.parametrize(("pairs", "total"), SLICES)
def test_a_smaller_slice_is_the_beginning_of_a_larger_one(pairs: Pairs, total: int) -> None:
    whole = pairs(total, 7)
    assert all(pairs(n, 7) == whole[:n] for n in (1, 2, 13, 30, total))
    assert len({item.id for item in whole}) == total


@pytest.mark.parametrize(("pairs", "total"), SLICES)
def test_every_slice_is_balanced_to_within_one_item(pairs: Pairs, total: int) -> None:
    for seed in range(5):
        labels = [item.truth.label for item in pairs(total, seed) if item.truth]
        for n in range(1, total + 1):
            assert abs(labels[:n].count("a") - labels[:n].count("b")) <= 1


@pytest.mark.parametrize(("pairs", "total"), SLICES)
def test_another_seed_gives_another_slice_and_other_sides(pairs: Pairs, total: int) -> None:
    one, other = pairs(total, 1), pairs(total, 2)
    assert [item.id for item in one] != [item.id for item in other]
    sides = {item.id: item.truth.label for item in one if item.truth}
    changed = sum(sides[item.id] != item.truth.label for item in other if item.truth)
    assert 0.25 * total < changed < 0.75 * total


@pytest.mark.parametrize(("pairs", "total"), SLICES)
def test_a_number_that_does_not_exist_is_refused(pairs: Pairs, total: int) -> None:
    for n in (0, total + 1):
        with pytest.raises(UsageError, match=f"{n} pairs were asked for, there are {total}"):
            pairs(n, 0)


@pytest.mark.parametrize(("pairs", "total"), SLICES)
def test_the_label_names_the_side_of_the_better_text(pairs: Pairs, total: int) -> None:
    better = better_texts()
    for item in pairs(total, 3):
        assert item.truth is not None
        assert item[f"response_{item.truth.label}"] == better[item.id]
        assert item["response_a"] != item["response_b"]
        assert item["order"] == "ab"


def better_texts() -> dict[str, str]:
    texts = {}
    for row in rows("llmbar", "natural.jsonl"):
        texts[f"llmbar-natural-{row['idx']}"] = row[f"output_{row['label']}"]
    for row in rows("code_pairs", "humaneval.jsonl"):
        texts[row["task_id"].lower().replace("/", "-")] = row["passing"]["code"]
    return texts


def rows(*path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in shipped(*path).read_text(encoding="utf-8").strip("\n").split("\n")]


def test_no_system_is_named_where_a_judge_could_read_it() -> None:
    for item in humaneval_pairs(68, 0):
        assert item.origin is not None
        assert item.origin.author
        text = "\n".join(shown(item.parts).values()).lower()
        assert not any(
            name in text for name in ("gpt-", "gpt4", "starcoder", "codellama", "reflexion", "ldb")
        )


def test_programs_parse_and_their_tests_bear_the_label_out() -> None:
    for item in humaneval_pairs(68, 0):
        assert item.truth is not None
        assert item.truth.source is TruthSource.TESTS
        better = item.truth.label or ""
        worse = "b" if better == "a" else "a"
        groups = item.truth.groups
        assert groups[better].passed == groups[better].total >= 3
        assert groups[worse].passed <= groups[worse].total / 2
        for side in "ab":
            ast.parse(item[f"response_{side}"])


def test_programs_of_a_pair_look_alike() -> None:
    for item in humaneval_pairs(68, 0):
        lengths = sorted(len(item[part]) for part in ("response_a", "response_b"))
        assert lengths[0] >= 0.8 * lengths[1]
        assert lengths[1] <= 2000
        assert ('"""' in item["response_a"]) == ('"""' in item["response_b"])


def test_the_tables_are_whole() -> None:
    assert _material.llmbar_verdicts().frame.height == 2 * 19_678
    assert _material.outcome_ratings().frame.height == 6 * 360
