"""Injections into patches: the new one applies to the same base, and only lines that the patch adds are other ones."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voirdire.edits.injected_patch import (
    NO_BASE,
    InjectedPatch,
    PatchedBase,
    emptied,
    inject,
    language_of,
    patched,
    proved,
    rewritten,
)
from voirdire.edits.injection import Injected, InjectionKind, NotInjected, Wanted
from voirdire.edits.patch import parse
from voirdire.edits.patch_apply import apply
from voirdire.edits.patch_make import diff

K = InjectionKind

BEFORE = {
    "app.py": "import os\n\n\ndef first(a):\n    return a\n\n\ndef second(b):\n    # keep\n    c = b\n    return c\n",
    "notes.txt": "one\n",
}
AFTER = {
    "app.py": (
        "import os\n\n\ndef first(a):\n    total = a + 1\n    total *= 2\n    return total\n\n\ndef second(b):\n    # keep\n"
        "    c = b\n    if c:\n        c += 1\n    return c\n"
    ),
    "notes.txt": "one\ntwo\n",
    "new.py": "def third(values):\n    # sum\n    total = sum(values)\n    return total\n",
}


def made(before: Mapping[str, str] = BEFORE, after: Mapping[str, str] = AFTER) -> PatchedBase:
    done = patched(diff(before, after), before)
    assert isinstance(done, PatchedBase)
    return done


def old_lines(patch: str) -> list[str]:
    return [
        line for file in parse(patch).files for hunk in file.hunks for line in hunk.lines if line[0] == "-"
    ]


@pytest.mark.parametrize("kind", K)
@pytest.mark.parametrize("dose", [1, 5, 40])
def test_an_edited_patch_applies_and_removes_what_it_removed(kind: InjectionKind, dose: int) -> None:
    base = made()
    done = inject(base, Wanted(kind, dose, 3, "Make it right. Then stop there."))
    assert isinstance(done, InjectedPatch), done
    assert done.places <= dose
    files = apply(parse(done.patch), BEFORE).files
    assert files is not None
    assert old_lines(done.patch) == old_lines(diff(BEFORE, AFTER))
    assert files["notes.txt"] == AFTER["notes.txt"]
    for path, edit in done.edits.items():
        assert files[path] == edit.source
    assert all(proof.holds for proof in done.proofs.values())
    assert parse(done.patch).added - parse(diff(BEFORE, AFTER)).added == done.lines_added


def test_lines_that_were_there_before_are_never_touched() -> None:
    done = inject(made(), Wanted(K.COMMENTS_REMOVED, 40, 3))
    assert isinstance(done, InjectedPatch)
    assert list(done.edits) == ["new.py"]
    assert "# keep" in done.patch or "# keep" in BEFORE["app.py"]
    names = inject(made(), Wanted(K.RENAMED_LOCALS, 40, 3))
    assert isinstance(names, InjectedPatch)
    assert "c_value" not in names.patch  # `c` also stands on lines that the patch does not add
    assert "total_value" in names.patch


def test_a_patch_without_its_base_is_refused_with_that_reason() -> None:
    patch = diff(BEFORE, AFTER)
    assert patched(patch, None) == NotInjected(NO_BASE)
    assert patched(patch, {"app.py": BEFORE["app.py"]}) == NotInjected(NO_BASE)
    assert isinstance(patched(diff({}, {"new.py": "x = 1\n"}), {}), PatchedBase)


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("", "the patch is empty"),
        ("hello", "the patch cannot be read: no patch"),
        (diff({"app.py": "other\n"}, {"app.py": "text\n"}), "the patch does not apply: does not match"),
        (diff({"notes.txt": "one\n"}, {"notes.txt": "two\n"}), "no file in a language that can be edited"),
    ],
)
def test_what_cannot_be_edited_has_a_reason(patch: str, reason: str) -> None:
    assert patched(patch, BEFORE) == NotInjected(reason)


def test_an_edit_of_other_lines_cannot_be_written_as_this_patch() -> None:
    base = made()
    elsewhere = AFTER["app.py"].replace("import os\n", "import os\n# here\n")
    assert rewritten(base, {"app.py": elsewhere}) == NotInjected("more than added lines would change")
    gone = AFTER["app.py"].replace("    # keep\n", "")
    edit = Injected(gone, 1, -1, ())
    assert isinstance(proved(base, {"app.py": edit}, K.COMMENTS_REMOVED), NotInjected)


def test_an_edit_that_does_something_else_is_not_proved() -> None:
    wrong = Injected(AFTER["app.py"].replace("c += 1", "c += 2"), 1, 0, ())
    done = proved(made(), {"app.py": wrong}, K.NEUTRAL_COMMENTS)
    assert isinstance(done, NotInjected)
    assert done.reason.startswith("not proved: ")


def test_the_control_does_something_else_and_still_applies() -> None:
    control = emptied(made(), seed=1)
    assert isinstance(control, str)
    files = apply(parse(control), BEFORE).files
    assert files is not None
    assert files["new.py"] == "def third(values):\n    # sum\n    return None\n"
    small = made({"app.py": "x = 1\ny = 2\n"}, {"app.py": "x = 1\nz = 3\n"})
    assert "z = 3" not in str(emptied(small, seed=1))
    only_more = made({"app.py": "x = 1\n"}, {"app.py": "x = 1\nz = 3\n"})
    assert emptied(only_more, seed=1) == NotInjected("nothing of the patch would be left")


def test_crlf_and_a_missing_last_newline_stay() -> None:
    before = {"app.py": BEFORE["app.py"].replace("\n", "\r\n").rstrip("\r\n")}
    after = {"app.py": AFTER["app.py"].replace("\n", "\r\n").rstrip("\r\n")}
    done = inject(made(before, after), Wanted(K.SCAFFOLDING, 12, 3))
    assert isinstance(done, InjectedPatch)
    files = apply(parse(done.patch), before).files
    assert files is not None
    assert "\n" not in files["app.py"].replace("\r\n", "")
    assert not files["app.py"].endswith("\n")


def test_languages_go_by_the_name_of_the_file() -> None:
    assert [language_of(name) for name in ("a.py", "b/c.ts", "d.go", "e.js", "f.rs", "README")] == [
        "python",
        "typescript",
        "go",
        "javascript",
        None,
        None,
    ]


LINES = st.lists(
    st.sampled_from(
        [
            "x = 1",
            "y = x",
            "# c",
            "print(y)",
            "for i in z:\n    x = i",
            "def f(a):\n    b = a\n    return b",
            "",
        ]
    ),
    max_size=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(before=LINES, after=LINES, kind=st.sampled_from(K), seed=st.integers(0, 3))
def test_whatever_comes_out_is_the_same_patch_but_for_added_lines(
    before: list[str], after: list[str], kind: InjectionKind, seed: int
) -> None:
    old, new = ({"a.py": "".join(f"{line}\n" for line in lines)} for lines in (before, after))
    base = patched(diff(old, new), old)
    if isinstance(base, NotInjected):
        return
    done = inject(base, Wanted(kind, 4, seed, "Say what is wanted here."))
    if isinstance(done, NotInjected):
        assert not done.reason.startswith("not proved")
        return
    files = apply(parse(done.patch), old).files
    assert files == {path: edit.source for path, edit in done.edits.items()}
    assert old_lines(done.patch) == old_lines(diff(old, new))
