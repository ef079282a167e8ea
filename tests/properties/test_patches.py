"""Laws of patches over generated texts: what a diff says is what applying does, and git agrees."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unidiff.patch import Hunk, PatchSet

from tests.edits._git import GIT, applied_by_git
from voirdire.edits.patch import MARKS, parse
from voirdire.edits.patch_apply import apply, occurrences
from voirdire.edits.patch_make import diff, difference, text_of

LINES = st.sampled_from(
    ["", "a", "b", " b", "c", "\tq", "x\r", "-- ", "-- a/x", "++ b/x", "@@ -1 +1 @@", "é\x0c\x85", "\\ No"]
)
TEXTS = st.builds(
    lambda lines, ended: "\n".join(lines) + ("\n" if ended and lines else ""),
    st.lists(LINES, max_size=24),
    st.booleans(),
)
NAMES = st.sampled_from(
    ["x.py", "src/a b.py", 'quo"te.py', "back\\slash", "tab\tname", "new\nline", "é.txt", "b/b"]
)
TREES = st.dictionaries(NAMES, TEXTS, max_size=3)
with_git = pytest.mark.skipif(GIT is None, reason="there is no git program")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "tree"


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, str]:
    """Draw a text of many like lines and an edit of it."""
    lines = draw(st.lists(LINES, min_size=1, max_size=40))
    after = list(lines)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(after)))
        after[at : at + draw(st.integers(0, 3))] = draw(st.lists(LINES, max_size=3))
    ends = draw(st.tuples(st.booleans(), st.booleans()))
    before_text, after_text = (
        "\n".join(one) + "\n" * end for one, end in zip((lines, after), ends, strict=True)
    )
    return before_text, after_text


@given(TREES, TREES, st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_a_diff_applied_to_its_base_gives_the_other(
    before: dict[str, str], after: dict[str, str], context: int
) -> None:
    patch = parse(diff(before, after, context=max(context, 1)))
    assert patch.faults == ()
    assert patch.recounted == 0
    done = apply(patch, before)
    assert done.faults == ()
    assert done.files == after
    assert done.moved == {}


@given(TREES, TREES)
@settings(max_examples=200, deadline=None)
def test_a_patch_written_and_read_again_is_the_same(before: dict[str, str], after: dict[str, str]) -> None:
    patch = difference(before, after)
    assert parse(text_of(patch)) == patch


@with_git
@given(TREES, TREES)
@settings(max_examples=40, deadline=None)
def test_git_applies_our_diffs(folder: Path, before: dict[str, str], after: dict[str, str]) -> None:
    text = diff(before, after)
    if text:
        assert applied_by_git(text, before, folder) == after


@with_git
@given(edited(), edited())
@settings(max_examples=70, deadline=None)
def test_git_accepts_and_refuses_the_same_on_another_base(
    folder: Path, change: tuple[str, str], other: tuple[str, str]
) -> None:
    before, after = change
    if before == after:
        return
    text = diff({"x": before}, {"x": after}, context=1)
    for base in (f"b\na\n{before}", f"{before}a\nb\n", other[0], before.rstrip("\n"), f"{before}\n", after):
        assert apply(parse(text), {"x": base}).files == applied_by_git(text, {"x": base}, folder)


@with_git
@given(edited(), st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_wrong_counts_are_counted_again_as_git_does(
    folder: Path, change: tuple[str, str], old: int, new: int
) -> None:
    before, after = change
    patch = difference({"x": before}, {"x": after})
    if len(patch.files) != 1 or len(patch.files[0].hunks) != 1:
        return
    lines = text_of(patch).split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith("@@"))
    hunk = patch.files[0].hunks[0]
    lines[at] = f"@@ -{hunk.old_start},{old} +{hunk.new_start},{new} @@"
    wrong = "\n".join(lines)
    assert apply(parse(wrong), {"x": before}).files == {"x": after}
    assert applied_by_git(wrong, {"x": before}, folder, "--recount") == {"x": after}


@given(st.text(max_size=300))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_without_an_error(text: str) -> None:
    assert isinstance(apply(parse(text), {}).faults, tuple)


PIECES = [
    "--- a/x\n",
    "+++ b/x\n",
    "@@ -1 +1 @@\n",
    "@@ -1,9 +2 @@\n",
    "@@@ -1 -1 +1 @@@\n",
    "-a\n",
    "+b\n",
    " c\n",
    "\n",
    "\\ No newline at end of file\n",
    "diff --git a/x b/x\n",
    'diff --git "a/x b/y\n',
    "rename from x\n",
    "rename to y\n",
    "new file mode 100644\n",
    "deleted file mode 100644\n",
    "GIT binary patch\n",
    "-- \n",
    "2.39.5\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
@settings(max_examples=150, deadline=None)
def test_broken_pieces_give_files_or_faults_and_never_an_error(pieces: list[str]) -> None:
    patch = parse("".join(pieces))
    assert all(line[0] in MARKS for file in patch.files for hunk in file.hunks for line in hunk.lines)
    done = apply(patch, {"x": "a\nc\n"})
    assert (done.files is None) == bool(done.faults)


@given(st.lists(st.sampled_from("ab"), max_size=30), st.lists(st.sampled_from("ab"), max_size=4))
def test_occurrences_are_all_and_in_order(lines: list[str], pattern: list[str]) -> None:
    simple = [at for at in range(len(lines) - len(pattern) + 1) if lines[at : at + len(pattern)] == pattern]
    assert occurrences(lines, pattern) == simple


@given(TREES, TREES, st.integers(1, 4))
@settings(max_examples=100, deadline=None)
def test_unidiff_reads_the_same_hunks(before: dict[str, str], after: dict[str, str], context: int) -> None:
    text = diff(before, after, context=context)
    ours = [file for file in parse(text).files if file.hunks]
    theirs = [file for file in PatchSet(text) if len(file)]
    assert [[hunk_of(hunk) for hunk in file] for file in theirs] == [
        [(hunk.old_start, len(hunk.old), hunk.new_start, len(hunk.new), hunk.lines) for hunk in file.hunks]
        for file in ours
    ]


def hunk_of(hunk: Hunk) -> tuple[int, int, int, int, tuple[str, ...]]:
    """Return a hunk of unidiff in our form: a line before a mark of a missing newline loses its own."""
    lines: list[str] = []
    for line in hunk:
        if line.line_type == "\\":
            lines[-1] = lines[-1].removesuffix("\n")
        else:
            lines.append(str(line))
    return hunk.source_start, hunk.source_length, hunk.target_start, hunk.target_length, tuple(lines)
