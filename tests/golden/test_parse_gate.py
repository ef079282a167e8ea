"""The parse gate on real programs, beside the flags that came with them.

Programs of six models and seven harnesses from LLMDebugger (Apache-2.0) and reflexion (MIT), and 16,400 samples of
CodeGen-16B from CodeT (MIT). The pairs shipped with the package are cut from the first.
"""

import gzip
import json
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from voirdire.edits.corruptions import chosen_for_dose, extra_bracket
from voirdire.languages.gate import contradicts, kinds
from voirdire.languages.parsing import ParseKind, shared_parsers
from voirdire.model import GroundTruth, TruthSource, TruthStatus

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "code-samples"


def rows(name: str) -> list[dict[str, Any]]:
    with gzip.open(FOLDER / name, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def shipped() -> list[str]:
    file = resources.files("voirdire").joinpath("data/code_pairs/humaneval.jsonl")
    pairs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [pair[side]["code"] for pair in pairs for side in ("passing", "failing")]


def test_what_has_run_parses() -> None:
    codes = shipped()
    assert len(codes) == 136
    assert shared_parsers().parses(codes) == [True] * 136


def test_a_dose_of_extra_brackets_lowers_the_parse_share_by_as_much() -> None:
    codes, parsers = shipped(), shared_parsers()
    for share, left in ((0.1, 122), (0.6, 54)):
        dosed = chosen_for_dose(len(codes), share, seed=7)
        damaged = [
            extra_bracket(code, seed=index, parses=parsers.parses).code if index in dosed else code
            for index, code in enumerate(codes)
        ]
        assert sum(parsers.parses(damaged)) == left
    said = [one for one in parsers.parse(damaged) if not one.ok]
    brackets = {ParseKind.EXTRA_CLOSING, ParseKind.UNMATCHED_CLOSING, ParseKind.MISMATCHED}
    assert sum(one.kind in brackets for one in said) >= 0.95 * len(said)


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the whole sets are not here")
def test_the_flags_of_every_program_of_ldb_and_reflexion() -> None:
    programs = rows("ldb_reflexion.jsonl.gz")
    found = shared_parsers().parse([row["code"] for row in programs])
    assert len(found) == 6487
    assert [one.ok for one in found] == [row["parses"] for row in programs]
    assert sum(not one.ok for one in found) == 52


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the whole sets are not here")
def test_what_of_codegen_16b_does_not_parse() -> None:
    """643 of 16,400 in 96 problems, each with a kind and a line, and none with execution credit."""
    samples = rows("codegen16b_humaneval.jsonl.gz")
    found = shared_parsers().parse([row["code"] for row in samples])
    broken = [(row, one) for row, one in zip(samples, found, strict=True) if not one.ok]
    assert [one.ok for one in found] == [row["parses"] for row in samples]
    assert (len(found), len(broken), len({row["task_id"] for row, _ in broken})) == (16400, 643, 96)
    assert all(one.evidence and one.line for _, one in broken)
    assert not any(contradicts(_truth(row["passed"]), one) for row, one in broken)
    counted = Counter(kinds([one for _, one in broken]))
    assert counted["other"] < 0.1 * len(broken)


def _truth(passed: bool) -> GroundTruth:
    return GroundTruth(TruthSource.TESTS, TruthStatus.PASSED if passed else TruthStatus.FAILED)
