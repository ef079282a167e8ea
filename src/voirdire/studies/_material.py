"""The real data that ships with the package: pairs as items, verdicts of hosted judges as tables.

The same seed gives the same items, and a smaller slice is the beginning of a larger one. Which side the better
response stands on is drawn by the seed, in blocks of two, so that any slice is balanced to within one item.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from typing import Any

from voirdire.errors import UsageError
from voirdire.importers import llmbar, outcome_bias
from voirdire.model import GroundTruth, Item, Origin, TestGroup, TruthSource, TruthStatus, VerdictTable

Row = Mapping[str, Any]


def shipped(*names: str) -> Traversable:
    """Return a file of the package's data folder."""
    return files("voirdire").joinpath("data", *names)


def llmbar_pairs(n: int, seed: int = 0) -> list[Item]:
    """Return `n` of the 100 LLMBar Natural pairs; people chose the better response."""
    return _slice("llmbar/natural.jsonl", n, seed, name=_natural_id, make=_natural_item)


def humaneval_pairs(n: int, seed: int = 0) -> list[Item]:
    """Return `n` of the 68 pairs of a passing and a failing program for one HumanEval task; tests chose."""
    return _slice("code_pairs/humaneval.jsonl", n, seed, name=_program_id, make=_program_item)


def llmbar_verdicts() -> VerdictTable:
    """Return the 39,356 verdicts of six hosted judges on the LLMBar instances, in both orders."""
    with as_file(shipped("llmbar", "judgments.jsonl.gz")) as path:
        return llmbar.read_verdicts(path)


def outcome_ratings() -> VerdictTable:
    """Return the 2,160 ratings of three hosted judges on ten scenarios that end well or in harm."""
    with as_file(shipped("outcome_bias", "ratings.jsonl")) as path:
        return outcome_bias.read_verdicts(path)


def _slice(
    path: str, n: int, seed: int, *, name: Callable[[Row], str], make: Callable[[Row, str], Item]
) -> list[Item]:
    lines = shipped(*path.split("/")).read_text(encoding="utf-8").strip("\n").split("\n")
    rows = sorted((json.loads(line) for line in lines), key=lambda row: _draw(seed, name(row)))
    if not 1 <= n <= len(rows):
        raise UsageError(f"{n} pairs were asked for, there are {len(rows)}", hint=f"ask for 1 to {len(rows)}")
    return [
        make(row, _better_side(seed, name(rows[place - place % 2]), place))
        for place, row in enumerate(rows[:n])
    ]


def _better_side(seed: int, block: str, place: int) -> str:
    """Return the side of the better response: both sides once in every block of two places."""
    return "ab"[(_draw(seed, "side", block)[0] + place) % 2]


def _draw(seed: int, *names: str) -> bytes:
    return hashlib.sha256("|".join((str(seed), *names)).encode()).digest()


def _natural_id(row: Row) -> str:
    return f"llmbar-natural-{row['idx']}"


def _natural_item(row: Row, side: str) -> Item:
    better, worse = ("output_1", "output_2") if row["label"] == 1 else ("output_2", "output_1")
    return Item(
        id=_natural_id(row),
        parts=_parts(row["input"], row[better], row[worse], side),
        origin=Origin(task=_natural_id(row)),
        truth=GroundTruth(source=TruthSource.HUMAN, status=TruthStatus.NOT_RUN, label=side),
    )


def _program_id(row: Row) -> str:
    return str(row["task_id"]).lower().replace("/", "-")


def _program_item(row: Row, side: str) -> Item:
    programs = _by_side(row["passing"], row["failing"], side)
    return Item(
        id=_program_id(row),
        parts=_parts(row["prompt"], row["passing"]["code"], row["failing"]["code"], side),
        origin=Origin(
            task=row["task_id"],
            author=f"a: {programs['a']['model']}, b: {programs['b']['model']}",
            harness=f"a: {programs['a']['harness']}, b: {programs['b']['harness']}",
            language="python",
        ),
        truth=GroundTruth(
            source=TruthSource.TESTS,
            status=TruthStatus.PASSED,
            groups={name: TestGroup(one["n_pass"], one["n_run"]) for name, one in programs.items()},
            label=side,
        ),
    )


def _by_side(better: Any, worse: Any, side: str) -> dict[str, Any]:
    return {"a": better, "b": worse} if side == "a" else {"a": worse, "b": better}


def _parts(task: str, better: str, worse: str, side: str) -> dict[str, str]:
    texts = _by_side(better, worse, side)
    return {"task": task, "response_a": texts["a"], "response_b": texts["b"], "order": "ab"}
