"""Writing: findings.json first and whole, then the page from that file alone."""

import json
from pathlib import Path

import pytest

from tests.report.samples import empty, leaking_judge
from voirdire.errors import DataError, UsageError
from voirdire.report import page as page_module
from voirdire.report.findings_file import from_data
from voirdire.report.write import write, write_page


def test_both_files_are_written_and_the_page_is_returned(tmp_path: Path) -> None:
    page = write(empty(), tmp_path / "deep" / "out")
    assert page == tmp_path / "deep" / "out" / "report.html"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert from_data(json.loads((page.parent / "findings.json").read_text(encoding="utf-8"))) == empty()
    assert sorted(path.name for path in page.parent.iterdir()) == ["findings.json", "report.html"]


def test_page_is_made_from_the_file_alone(tmp_path: Path) -> None:
    page = write(empty(), tmp_path)
    again = write_page(tmp_path / "findings.json", tmp_path / "other")
    assert again.read_bytes() == page.read_bytes()


def test_findings_stay_where_the_page_cannot_be_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "render", _break)
    with pytest.raises(ZeroDivisionError):
        write(leaking_judge(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["findings.json"]


def test_old_file_stays_where_the_new_one_cannot_be_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(empty(), tmp_path)
    before = (tmp_path / "findings.json").read_bytes()
    monkeypatch.setattr("os.fsync", _break)
    with pytest.raises(ZeroDivisionError):
        write(leaking_judge(), tmp_path)
    assert (tmp_path / "findings.json").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["findings.json", "report.html"]


def test_folder_that_cannot_be_made_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot make the folder") as caught:
        write(empty(), tmp_path / "file" / "out")
    assert "--out" in caught.value.hint


def test_page_of_a_foreign_file_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "findings.json").write_text("{}")
    with pytest.raises(DataError, match="not a findings file"):
        write_page(tmp_path / "findings.json", tmp_path)


def _break(*_: object) -> str:
    raise ZeroDivisionError
