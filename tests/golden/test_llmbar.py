"""LLMBar's own statistics, recomputed from its judgments: all 239 rows.

Source: github.com/princeton-nlp/LLMBar, commit 900616b, files `statistics.json`.
"""

import gzip
import json

import pytest

from voirdire.audits.position import Tally, as_published, tallies
from voirdire.studies._material import llmbar_verdicts, shipped


@pytest.fixture(scope="module")
def recomputed() -> dict[tuple[str, str], Tally]:
    return {(tally.subset, tally.judge): tally for tally in tallies(llmbar_verdicts(), by_subset=True)}


def published() -> dict[tuple[str, str], dict[str, float]]:
    text = gzip.decompress(shipped("llmbar", "published_statistics.jsonl.gz").read_bytes()).decode()
    rows = [json.loads(line) for line in text.splitlines()]
    return {(row["subset"], f"{row['judge']} {row['method']}"): row for row in rows}


def test_every_published_row_is_recomputed_and_no_other(recomputed: dict[tuple[str, str], Tally]) -> None:
    assert recomputed.keys() == published().keys()
    assert len(recomputed) == 239


def test_all_statistics_equal_the_published_ones(recomputed: dict[tuple[str, str], Tally]) -> None:
    for key, row in published().items():
        ours = as_published(recomputed[key])
        assert ours is not None
        found = (ours.correct_ab, ours.correct_ba, ours.correct_average, ours.correct_both, ours.equal)
        names = ("correct_False", "correct_True", "correct_average", "correct_both", "equal")
        assert found == pytest.approx([row[name] for name in names], abs=1e-9), key


@pytest.mark.parametrize(
    ("judge", "accuracy", "agreement"),
    [("GPT-4 Vanilla", 95.5, 95.0), ("ChatGPT Vanilla", 81.5, 71.0), ("Falcon CoT", 57.0, 14.0)],
)
def test_the_examples_people_quote(
    recomputed: dict[tuple[str, str], Tally], judge: str, accuracy: float, agreement: float
) -> None:
    found = as_published(recomputed["LLMBar/Natural", judge])
    assert found is not None
    assert (found.correct_average, found.equal) == (accuracy, agreement)


def test_every_null_winner_is_counted_as_missing(recomputed: dict[tuple[str, str], Tally]) -> None:
    by_order = [
        sum(tally.missing[order] for tally in recomputed.values()) for order in ("a first", "b first")
    ]
    assert by_order == [22 + 98 + 7, 11 + 98 + 9]
