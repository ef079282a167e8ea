"""Patches as people have them: each form is read, and each thing that does not apply is named."""

from pathlib import Path

import pytest

from tests.edits._git import GIT, applied_by_git
from voirdire.edits.patch import FilePatch, PatchFaultKind, parse, quoted_name
from voirdire.edits.patch_apply import apply
from voirdire.edits.patch_make import diff, text_of

BASE = {"x": "a\nb\nc\nd\ne\n"}
EDIT = "--- a/x\n+++ b/x\n@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n"
AFTER = {"x": "a\nb\nC\nd\ne\n"}


def files_after(text: str, files: dict[str, str]) -> dict[str, str]:
    done = apply(parse(text), files)
    assert done.faults == ()
    assert done.files is not None
    return dict(done.files)


@pytest.mark.parametrize(
    "text",
    [
        EDIT,
        f"diff --git a/x b/x\nindex 1234567..89abcde 100644\n{EDIT}",
        EDIT.replace("a/x", "x").replace("b/x", "x"),
        EDIT.replace("a/x", "old/x\t2020-01-01 00:00:00").replace("b/x", "new/x\t2020-01-01 00:00:00"),
        EDIT.replace("a/x", "x.orig").replace("b/x", "x"),
        EDIT.replace("-2,3 +2,3", "-2,9 +2,1"),
        EDIT.replace("-2,3 +2,3", "-2 +2"),
        EDIT.removesuffix("\n"),
        f"Here is my patch:\n\n{EDIT}\nI hope that it helps.\n",
        f"From 0123 Mon Sep 17 00:00:00 2001\nSubject: x\n---\n x | 2 +-\n\n{EDIT}-- \n2.39.5\n\n",
        EDIT.replace("-2,3 +2,3", "-2,4 +2,4") + "-- \n2.39.5\n",
        EDIT.replace("--- a/x\n+++ b/x\n", "--- a/x\r\n+++ b/x\r\n").replace("@@\n", "@@\r\n"),
    ],
)
def test_every_form_of_an_edit_is_read(text: str) -> None:
    assert files_after(text, BASE) == AFTER


def test_wrong_counts_are_marked_and_right_ones_are_not() -> None:
    assert parse(EDIT).recounted == 0
    assert parse(EDIT.replace("-2,3", "-2,7")).recounted == 1


def test_counts_that_are_too_small_lose_no_line() -> None:
    hunk = parse(EDIT.replace("-2,3 +2,3", "-2,1 +2,1")).files[0].hunks[0]
    assert hunk.lines == (" b\n", "-c\n", "+C\n", " d\n")


def test_a_context_line_whose_blank_was_trimmed() -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n"
    assert files_after(text, {"x": "a\n\nb\n"}) == {"x": "a\n\nB\n"}


def test_removed_and_added_lines_that_look_like_headers() -> None:
    before, after = {"x": "-- a/x\nq\n"}, {"x": "++ b/x\nq\n"}
    assert files_after(diff(before, after), before) == after


def test_no_newline_at_the_end_on_either_side() -> None:
    for before, after in (("a", "b"), ("a\n", "a"), ("a", "a\n"), ("a", "a\nb"), ("", "a"), ("a", "")):
        text = diff({"x": before}, {"x": after})
        assert files_after(text, {"x": before}) == {"x": after}


def test_carriage_returns_stay() -> None:
    before, after = {"x": "a\r\nb\r\n"}, {"x": "a\r\nB\r\n"}
    assert files_after(diff(before, after), before) == after


RENAME = "diff --git a/old name b/new name\nsimilarity index 90%\nrename from old name\nrename to new name\n"


def test_renames_with_and_without_changes() -> None:
    assert files_after(RENAME, {"old name": "a\n"}) == {"new name": "a\n"}
    text = f"{RENAME}--- a/old name\t\n+++ b/new name\t\n@@ -1 +1 @@\n-a\n+b\n"
    assert files_after(text, {"old name": "a\n", "y": ""}) == {"new name": "b\n", "y": ""}
    (file,) = parse(text).files
    assert file.renamed
    assert file.path == "new name"


def test_two_files_that_change_places() -> None:
    swap = "".join(
        f"diff --git a/{old} b/{new}\nsimilarity index 100%\nrename from {old}\nrename to {new}\n"
        for old, new in (("x", "y"), ("y", "x"))
    )
    assert files_after(swap, {"x": "1\n", "y": "2\n"}) == {"x": "2\n", "y": "1\n"}


def test_a_copy_leaves_its_source() -> None:
    text = "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n"
    assert files_after(text, {"x": "1\n"}) == {"x": "1\n", "y": "1\n"}


def test_new_and_deleted_files_also_empty_ones() -> None:
    text = (
        "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n"
        "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/v b/v\ndeleted file mode 100644\nindex e69de29..0000000\n"
    )
    assert files_after(text, {"x": "x\n", "v": ""}) == {"n": "n\n", "e": ""}
    assert parse(text).files[0].new_mode == "100755"


def test_a_change_of_mode_alone() -> None:
    text = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"
    assert files_after(text, BASE) == BASE
    (file,) = parse(text).files
    assert (file.old_mode, file.new_mode) == ("100644", "100755")
    assert text_of(parse(text)) == text


@pytest.mark.parametrize("name", ["a b", 'q"q', "back\\slash", "new\nline", "é", "tab\tq", "\x01"])
def test_names_are_quoted_as_git_quotes_them(name: str) -> None:
    text = diff({name: "a\n"}, {name: "b\n"})
    assert files_after(text, {name: "a\n"}) == {name: "b\n"}


def test_octal_bytes_in_a_name() -> None:
    text = 'diff --git "a/\\303\\251" "b/\\303\\251"\n--- "a/\\303\\251"\n+++ "b/\\303\\251"\n@@ -1 +1 @@\n-a\n+b\n'
    assert files_after(text, {"é": "a\n"}) == {"é": "b\n"}
    assert quoted_name("é") == "é"


def test_a_quoted_rename_without_changes_is_not_lost() -> None:
    text = 'diff --git "a/x\\ny" "b/z\\ny"\nsimilarity index 100%\nrename from "x\\ny"\nrename to "z\\ny"\n'
    assert files_after(text, {"x\ny": "a\n"}) == {"z\ny": "a\n"}


# --- what does not apply ------------------------------------------------------------------------------


def test_a_mismatch_names_file_hunk_and_both_lines() -> None:
    done = apply(parse(EDIT), {"x": "a\nb\nq\nd\ne\n"})
    assert done.files is None
    (fault,) = done.faults
    assert (fault.kind, fault.path, fault.hunk, fault.line) == (PatchFaultKind.MISMATCH, "x", 1, 3)
    assert (fault.expected, fault.found) == ("c", "q")
    assert str(fault) == "x, hunk 1: line 3 should be 'c' and is 'q'"


def test_every_hunk_that_does_not_apply_is_named() -> None:
    two = EDIT + "@@ -9 +9 @@\n-z\n+Z\n" + EDIT.replace("/x", "/y")
    done = apply(parse(two), {"x": "b\n", "y": "b\n"})
    assert [(fault.path, fault.hunk) for fault in done.faults] == [("x", 1), ("x", 2), ("y", 1)]
    assert done.faults[1].found is None


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("a\r\nb\r\nc\r\nd\r\n", "CRLF and LF"),
        ("a\nb\n c\nd\n", "only whitespace differs"),
        ("a\n", "past the end of the file"),
    ],
)
def test_the_message_says_how_the_lines_differ(base: str, said: str) -> None:
    (fault,) = apply(parse(EDIT), {"x": base}).faults
    assert said in fault.message


def test_nothing_applies_where_one_file_does_not() -> None:
    assert apply(parse(EDIT + EDIT.replace("/x", "/y")), BASE).files is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no patch at all", PatchFaultKind.NO_PATCH),
        ("@@ -1 +1 @@\n-a\n+b\n", PatchFaultKind.BROKEN),
        (EDIT.replace("@@ -2,3 +2,3 @@", "@@ ... @@"), PatchFaultKind.BROKEN),
        ("diff --git a/x b/x\n@@@ -1 -1 +1 @@@\n  a\n", PatchFaultKind.BROKEN),
        (EDIT.replace("/x", "/../x"), PatchFaultKind.UNSAFE_NAME),
        (EDIT.replace("a/x", "/etc/x").replace("b/x", "/etc/x"), PatchFaultKind.UNSAFE_NAME),
        (EDIT.replace("/x", "/.git/hooks/x"), PatchFaultKind.UNSAFE_NAME),
        (EDIT.replace("/x", "/.GIT/config"), PatchFaultKind.UNSAFE_NAME),
        ("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n", PatchFaultKind.BINARY),
        (
            "diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\nIc${MZ00\n\n",
            PatchFaultKind.BINARY,
        ),
        (EDIT.replace("/x", "/z"), PatchFaultKind.NO_FILE),
        ("--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", PatchFaultKind.FILE_EXISTS),
        ("--- /dev/null\n+++ b/x/y\n@@ -0,0 +1 @@\n+a\n", PatchFaultKind.FILE_EXISTS),
        ("--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", PatchFaultKind.MISMATCH),
        ("--- a/x\n+++ /dev/null\n@@ -1,5 +1 @@\n-a\n-b\n-c\n-d\n e\n", PatchFaultKind.NOT_EMPTIED),
        (EDIT.replace("--- a/x", "--- /dev/null").replace("b/x", "b/z"), PatchFaultKind.BROKEN),
    ],
)
def test_each_reason_has_its_kind(text: str, kind: PatchFaultKind) -> None:
    done = apply(parse(text), BASE)
    assert done.files is None
    assert kind in {fault.kind for fault in done.faults}, done.faults


def test_an_empty_patch_changes_nothing_and_has_no_fault() -> None:
    assert files_after("", BASE) == BASE
    assert files_after("\n", BASE) == BASE


def test_an_offset_is_found_and_told_and_there_is_no_fuzz() -> None:
    done = apply(parse(EDIT), {"x": f"{'q' * 3}\n\n{BASE['x']}"})
    assert done.moved == {("x", 1): 2}
    assert apply(parse(EDIT), {"x": "a\nb\nc\nD\ne\n"}).files is None


def test_of_two_places_as_near_the_later_is_taken_as_git_does(tmp_path: Path) -> None:
    base = "b\nc\nd\n-\n-\n-\nb\nc\nd\n-\n"
    text = EDIT.replace("-2,3 +2,3", "-4,3 +4,3")
    later = "b\nc\nd\n-\n-\n-\nb\nC\nd\n-\n"
    assert files_after(text, {"x": base}) == {"x": later}
    assert GIT is None or applied_by_git(text, {"x": base}, tmp_path / "tree") == {"x": later}


def test_of_two_places_the_nearer_is_taken() -> None:
    base = "q\nb\nc\nd\n-\n-\nb\nc\nd\n"
    text = EDIT.replace("-2,3 +2,3", "-4,3 +4,3")
    assert files_after(text, {"x": base}) == {"x": "q\nb\nC\nd\n-\n-\nb\nc\nd\n"}


def test_a_hunk_without_context_after_it_belongs_at_the_end() -> None:
    text = "--- a/x\n+++ b/x\n@@ -2,2 +2,2 @@\n b\n-c\n+C\n"
    (fault,) = apply(parse(text), BASE).faults
    assert "should end before line" in fault.message or fault.kind is PatchFaultKind.MISMATCH
    assert files_after(text, {"x": "a\nb\nc\n"}) == {"x": "a\nb\nC\n"}


def test_many_like_lines_are_searched_in_time() -> None:
    base = "x\n" * 60_000
    text = "--- a/x\n+++ b/x\n@@ -5,20001 +5,20001 @@\n" + " x\n" * 20_000 + "-y\n+z\n"
    assert apply(parse(text + " x\n"), {"x": base}).files is None
    before, after = {"x": base}, {"x": base + "y\n"}
    assert files_after(diff(before, after), before) == after
    shuffled = {"x": "x\ny\n" * 4_000}
    assert files_after(diff(shuffled, {"x": "y\nx\nz\n" * 4_000}), shuffled) == {"x": "y\nx\nz\n" * 4_000}


def test_a_patch_is_written_with_right_counts_and_lines() -> None:
    patch = parse(EDIT.replace("-2,3 +2,3", "-2,9 +77,1"))
    assert text_of(patch).endswith(EDIT)
    assert text_of(parse("diff --git a/x b/x\nBinary files a/x and b/x differ\n")).endswith("differ\n")


def test_facts_about_a_patch() -> None:
    patch = parse(EDIT)
    assert (patch.added, patch.removed) == (1, 1)
    assert patch.files[0] == FilePatch("x", "x", patch.files[0].hunks, git=False)
    assert patch.files[0].hunks[0].added == ["C\n"]
    assert patch.files[0].hunks[0].removed == ["c\n"]
