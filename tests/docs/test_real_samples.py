"""The page of real generations says what stood before every program, and what it changed."""

from pathlib import Path

from tools.real_samples import PRELUDE, prelude_note

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"


def _row(system: str, sample: int, passed: bool | None) -> dict[str, object]:
    return {"system": system, "task_id": "t", "sample": sample, "passed": passed}


def test_the_note_counts_what_the_imports_change() -> None:
    rows = [
        _row("a", 0, True),
        _row("a", 1, True),
        _row("a", 2, False),
        _row("a", 3, None),
        _row("b", 0, True),
    ]
    bare = [_row("a", 0, True), _row("a", 1, False), _row("b", 0, True)]
    note = prelude_note(rows, bare)
    assert "1 of the 3 programs that pass do not" in note
    assert "a 0.6667 to 0.3333 (1 program)" in note
    assert "b 1" not in note


def test_the_page_names_every_line_of_the_prelude_and_its_effect() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"`{line}`" in page for line in PRELUDE.splitlines())
    assert "gpt-3.5-turbo-0613+direct on humaneval 0.7500 to 0.7439" in page
