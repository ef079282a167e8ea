"""Differences: nothing of either text is lost, what is marked differs, what is the same is folded."""

import time

from hypothesis import given
from hypothesis import strategies as st

from voirdire.report.diff import ROWS, Difference, Fold, Line, Side, difference

LINES = st.lists(st.sampled_from(["alpha beta", "alpha gamma", "delta", "", "x = 1", "x = 2"]), max_size=30)


def _text(shown: Difference, *sides: Side) -> str:
    lines: list[str] = []
    for row in shown.rows:
        if isinstance(row, Fold):
            lines += row.text.split("\n")
        elif row.side in sides:
            lines.append("".join(piece.text for piece in row.pieces))
    return "\n".join(lines)


@given(LINES, LINES)
def test_both_texts_can_be_read_back(base: list[str], variant: list[str]) -> None:
    shown = difference("\n".join(base), "\n".join(variant))
    assert _text(shown, Side.SAME, Side.REMOVED) == "\n".join(base)
    assert _text(shown, Side.SAME, Side.ADDED) == "\n".join(variant)


@given(LINES)
def test_equal_texts_have_no_changed_line(lines: list[str]) -> None:
    shown = difference("\n".join(lines), "\n".join(lines))
    assert (shown.removed, shown.added) == (0, 0)


def _changed(shown: Difference, side: Side) -> list[str]:
    lines = [row for row in shown.rows if isinstance(row, Line) and row.side is side]
    return [piece.text for line in lines for piece in line.pieces if piece.changed]


def test_words_are_marked_within_a_line() -> None:
    shown = difference("the quick brown fox jumps high", "the quick red fox jumps high")
    assert _changed(shown, Side.REMOVED) == ["brown"]
    assert _changed(shown, Side.ADDED) == ["red"]


def test_changes_that_a_blank_parts_are_one_change() -> None:
    base = "Monitoring, a day later: all tables answer and nothing else is to be said about it."
    shown = difference(base, base.replace("all tables answer", "some rows vanished"))
    assert _changed(shown, Side.REMOVED) == ["all tables answer"]


def test_lines_with_little_in_common_are_marked_whole() -> None:
    shown = difference("completely different words here", "x")
    assert _changed(shown, Side.REMOVED) == ["completely different words here"]


def test_added_line_is_added_whole() -> None:
    shown = difference("a\nb", "a\nnew line\nb")
    assert (shown.removed, shown.added) == (0, 1)
    assert _changed(shown, Side.ADDED) == ["new line"]


def test_unchanged_stretches_are_folded_around_a_change() -> None:
    base = "\n".join(str(number) for number in range(100))
    shown = difference(base, base.replace("\n50\n", "\nfifty\n"))
    folds = [row for row in shown.rows if isinstance(row, Fold)]
    assert [fold.count for fold in folds] == [47, 46]
    assert sum(isinstance(row, Line) and row.side is Side.SAME for row in shown.rows) == 6


def test_megabyte_of_one_line_is_shown_around_the_change_and_fast() -> None:
    word = "x " * 600_000
    started = time.process_time()
    shown = difference(f"{word}one {word}", f"{word}two {word}")
    assert time.process_time() - started < 20
    assert _changed(shown, Side.REMOVED) == ["one"]
    assert len(_text(shown, *Side)) < 5_000
    assert "characters…]" in _text(shown, Side.REMOVED)


def test_texts_without_a_common_line_stay_cheap() -> None:
    base, variant = ("\n".join(f"{name} {number}" for number in range(20_000)) for name in ("a", "b"))
    started = time.process_time()
    shown = difference(base, variant)
    assert time.process_time() - started < 20
    assert (shown.removed, shown.added) == (20_000, 20_000)
    assert len(shown.rows) == ROWS
    assert shown.left_out == 40_000 - ROWS
