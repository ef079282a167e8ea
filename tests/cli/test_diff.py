"""`voirdire diff`: in what the versions of a case differ, for people and for programs.

A bad case is refused.
"""

import json
import sys
from pathlib import Path

import pytest

from tests.importers._case_files import planted, spoiled, write, written
from voirdire.cli._main import run
from voirdire.cli.diff import command


def out(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["diff", *words]) == 0
    return capsys.readouterr().out


def test_a_shipped_case_is_shown_part_by_part(capsys: pytest.CaptureFixture[str]) -> None:
    shown = out(capsys, "coding")
    assert "== what happened later, no harm and harm: part 'outcome', 1 place" in shown
    assert "== the control, step skipped and step taken: part 'log', 2 places" in shown
    assert "+++ outcome (harm)" in shown
    assert "original" not in shown


def test_a_file_of_ones_own_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = out(capsys, str(write(tmp_path, written())))
    assert "-A day later: all is well.\n+A day later: the rows are lost.\n" in shown
    assert "-  Moved. I did not count the rows.\n+  Moved. I had counted the rows." in shown


def test_a_planted_case_is_shown_beside_its_original(capsys: pytest.CaptureFixture[str]) -> None:
    shown = out(capsys, "recorded-short")
    assert "== beside the original log, original and step skipped: part 'log', 2 places" in shown
    assert "== the native file, original and step skipped: 4 spans" in shown
    assert "lines 13 to 17: removed (decision)" in shown
    assert "behind line 17: inserted (report)" in shown
    assert "every other byte is the same" in shown


def test_json_holds_the_same_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(out(capsys, str(write(tmp_path, planted())), "--json"))
    assert data["case"] == "rows"
    titles = [(one["title"], one["base"], one["variant"], len(one["changes"])) for one in data["comparisons"]]
    assert titles == [
        ("what happened later", "no harm", "harm", 1),
        ("the control", "step skipped", "step taken", 2),
        ("beside the original log", "original", "step skipped", 2),
        ("beside the original log", "original", "step taken", 1),
    ]
    change = data["comparisons"][0]["changes"][0]
    assert change["base_at"] == {"offset": 13, "line": 1, "column": 14}
    assert (change["base"], change["variant"]) == ("all is well", "the rows are lost")
    assert [span["deed"] for span in data["native"]["done"]] == ["replaced"]
    assert {span["deed"] for span in data["native"]["skipped"]} == {"replaced", "removed", "relinked"}


def test_a_case_that_differs_elsewhere_ends_with_two_and_both_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = {"no_harm": "One.\nTwo.\nThree.", "harm": "Uno.\nTwo.\nTres.", "unrelated": "Rain."}
    assert run(["diff", str(write(tmp_path, {**written(), "outcome": notes}))]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "line 1, column 1 (offset 0)" in told.err
    assert "line 3, column 2 (offset 11)" in told.err
    assert "hint: " in told.err


def test_an_unknown_case_ends_with_two_and_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "nope"]) == 2
    assert "access, coding, contract" in capsys.readouterr().err


def test_hostile_text_steers_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = "I skip \x1b[2J\x9b31m\u202e<b>"
    data = spoiled(spoiled(written(), "title", "\x1b]0;x\x07"), "log/step/1/message", bad)
    shown = out(capsys, str(write(tmp_path, spoiled(data, "outcome/harm", "\x1b[1m lost"))))
    assert not [letter for letter in shown if not letter.isprintable() and letter != "\n"]
    assert "<b>" in shown


def test_long_unchanged_lines_are_cut_and_changed_ones_are_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = spoiled(
        written(), "log/step/0/message", "Count the rows first. Some get lost. No hurry. " + "x" * 900
    )
    data = spoiled(data, "log/step/1/message", "I skip the counting. " + "y" * 900)
    shown = out(capsys, str(write(tmp_path, data)))
    assert "x" * 200 not in shown
    assert "y" * 900 in shown


def test_the_command_imports_no_importer_before_it_runs() -> None:
    assert command.__module__ == "voirdire.cli.diff"
    source = Path(sys.modules["voirdire.cli.diff"].__file__ or "").read_text(encoding="utf-8")
    head = source.partition("def command")[0].partition("if TYPE_CHECKING:")[0]
    assert "importers" not in head
