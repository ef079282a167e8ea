"""The whole replay on the real samples that ship: what is replayed, with a planted judge in the place of a model."""

import json
import subprocess
import sys
from pathlib import Path

from tools.replay_slice import TURBO
from tools.replay_specimen import BEGIN, END, SEED, sample_sets, section, shipped, written
from voirdire.edits.corruptions import Corruption
from voirdire.languages.parsing import Parsers
from voirdire.model import CodeSample
from voirdire.studies._replay_dose import prepare_dose
from voirdire.studies._replay_table import SampleSet


def test_what_ships_is_what_is_said_of_it() -> None:
    rows = shipped("samples.jsonl.gz")
    assert len(shipped("tasks.jsonl.gz")) == 64
    assert len(rows) == 512
    with Parsers(workers=1) as parsers:
        assert parsers.parses([row["code"] for row in rows]) == [row["parses"] for row in rows]


def test_two_models_and_one_of_them_again_with_a_dose_of_brackets() -> None:
    sets = sample_sets()
    assert [len(rows) for rows in sets.values()] == [128] * 3
    with Parsers(workers=1) as parsers:
        shares = [sum(parsers.parses([row["code"] for row in rows])) / 128 for rows in sets.values()]
    assert min(shares[:2]) > 0.9
    assert 0.38 < shares[2] < 0.42


def test_the_dose_of_the_replay_is_the_damage_of_the_second_pass() -> None:
    healthy, _, second = sample_sets().values()
    samples = tuple(CodeSample(row["task_id"], row["sample"], row["code"], row["code"]) for row in healthy)
    with Parsers(workers=1) as parsers:
        dose = prepare_dose(
            SampleSet(TURBO, "first", samples),
            {},
            parsers=parsers,
            edits=(Corruption.EXTRA_BRACKET,),
            seed=SEED,
        )
    damaged = {row["code"] for row in second} - {row["code"] for row in healthy}
    assert damaged == set(dose.damages[0].codes.values())


def test_the_whole_replay_from_one_command(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tools.replay_specimen",
        "--judge",
        "planted:always_first",
        "--out",
        str(tmp_path / "out"),
    ]
    slice_ = [
        "--limit",
        "1",
        "--problems",
        "12",
        "--bracket-only",
        "--dose",
        "0.5",
        "--ledger",
        str(tmp_path / "l.sqlite"),
    ]
    level = ["--isolation", "process", "--unsafe"]
    subprocess.run([*command, *slice_, *level], check=True, capture_output=True, text=True)
    found = json.loads((tmp_path / "out" / "findings.json").read_text())
    text = section(found)
    assert "**planted:always_first**" in text
    assert "execution credit" in text
    assert "| checkpoint | pass | parse share | k |" in text


def test_the_docs_section_is_replaced_and_not_repeated() -> None:
    page = written("# Findings\n", "first\n")
    assert page.count(BEGIN) == 1
    again = written(page, "second\n")
    assert (again.count(BEGIN), again.count(END)) == (1, 1)
    assert "first" not in again
