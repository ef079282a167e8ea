"""Tasks from a history: what becomes one, what does not and why, and that nothing in a repository is obeyed."""

import re
import shutil
from pathlib import Path

import pytest

from tests.mining._history import History, files_at, git, lines, mined
from voirdire.edits.patch import parse
from voirdire.edits.patch_apply import apply
from voirdire.errors import DataError, UsageError
from voirdire.mining.choice import Choice, Reason, Unit
from voirdire.mining.git import mirror_of
from voirdire.mining.history import count_commits, mine

MESSAGE = "Count lines from one, as the manual says\n\nThe old way was off by one.\n"
BEFORE = lines(20)
AFTER = BEFORE.replace(b"line 3\n", b"Line 3\nmore\n").replace(b"line 9\n", b"")


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = History(tmp_path / "repo")
    made.commit(
        "Begin",
        {"src/count.py": BEFORE, "tests/test_count.py": BEFORE, "data.bin": b"\0\1", "go.sum": b"1\n"},
    )
    return made


def reason_of(history: History, choice: Choice | None = None) -> Reason:
    """Return why the last commit is no task."""
    found = mined(history.made(), choice)
    return found.left_out[history.name(history.commits)]


# --- a task ---------------------------------------------------------------------------------------------


def test_a_commit_becomes_a_task_with_its_tests_apart(history: History) -> None:
    number = history.commit(MESSAGE, {"src/count.py": AFTER, "tests/test_count.py": AFTER, "go.sum": b"2\n"})
    (task,) = mined(history.made()).tasks
    assert task.commit == history.name(number)
    assert task.base == history.name(number - 1)
    assert task.id == task.commit[:16]
    assert task.made == number * 60
    assert task.brief == "Count lines from one, as the manual says\n\nThe old way was off by one."
    assert [file.path for file in parse(task.reference.diff).files] == ["src/count.py"]
    assert [file.path for file in parse(task.test_patch.diff).files] == ["tests/test_count.py"]
    assert [(file.path, file.added, file.removed, file.test) for file in task.files] == [
        ("src/count.py", 2, 2, False),
        ("tests/test_count.py", 2, 2, True),
    ]
    assert task.left_out == ("go.sum",)
    assert re.search(r"^index [0-9a-f]{40}\.\.[0-9a-f]{40} ", task.reference.diff, re.MULTILINE)


def test_reference_and_test_patch_give_the_commit_from_its_base(history: History) -> None:
    history.commit(
        MESSAGE,
        {
            "src/count.py": None,
            "src/renamed é.py": AFTER,
            "new.py": b"x\n" * 5,
            "tests/test_count.py": None,
            "no-end.txt": b"no newline",
            "crlf.txt": b"a\r\nb\r\n",
            "empty.py": b"",
        },
    )
    folder = history.made()
    (task,) = mined(folder).tasks
    base = dict(files_at(folder, task.base))
    whole = apply(parse(task.reference.diff + task.test_patch.diff), base)
    assert whole.faults == ()
    assert whole.files == dict(files_at(folder, task.commit))
    assert ("src/renamed é.py", "src/count.py") in [(file.path, file.before) for file in task.files]


def test_names_with_newlines_quotes_and_tabs(history: History) -> None:
    names = [
        "new\nline.py",
        'quo"te.py',
        "tab\tb.py",
        "back\\slash.py",
        "diff --git a/x b/x",
        "-rf",
        "voirdire: next\n.py",
    ]
    history.commit(MESSAGE, {name: lines(4, name) for name in names})
    folder = history.made()
    (task,) = mined(folder).tasks
    assert sorted(file.path for file in task.files) == sorted(names)
    done = apply(parse(task.reference.diff), dict(files_at(folder, task.base)))
    assert done.files == dict(files_at(folder, task.commit))


def test_messages_in_other_encodings(history: History) -> None:
    history.commit(
        "Größe der Datei zählen, ohne BOM".encode("latin-1"), {"a": lines(3)}, encoding="ISO-8859-1"
    )
    history.commit("Größe der Datei zählen, unbenannt".encode("latin-1"), {"b": lines(4)})
    history.commit("Größe der Datei zählen, falsch benannt", {"c": lines(5)}, encoding="utf-77")
    briefs = [task.brief for task in mined(history.made()).tasks]
    assert len(briefs) == 3
    assert all(brief.startswith("Größe der Datei zählen") for brief in briefs)


def test_trailers_secrets_and_addresses_are_taken_out_and_counted(history: History) -> None:
    key = "ghp_" + "a1" * 18
    message = f"{MESSAGE}\nAsk joe@company.io; the token was {key}.\n\nSigned-off-by: Ann <ann@company.com>\nCo-authored-by: B <b@c.de>\n"
    history.commit(message, {"src/count.py": AFTER + f"# bob@company.io {key}\n".encode()})
    (task,) = mined(history.made()).tasks
    assert task.brief_removed == {"GitHub token": 1, "email": 1, "trailer": 2}
    assert task.reference.removed == {"GitHub token": 1, "email": 1}
    assert task.reference.applies
    assert not any(secret in f"{task}" for secret in (key, "joe@", "bob@", "ann@", "b@c.de"))


def test_a_secret_on_a_line_of_the_base_is_taken_out_and_the_diff_said_not_to_apply(history: History) -> None:
    history.commit("A first file with an address in it", {"b.py": b"a\n# bob@company.io\nb\nc\n"})
    history.commit(MESSAGE, {"b.py": b"a\n# bob@company.io\nB\nC\nd\n"})
    task, added = mined(history.made()).tasks
    assert not task.reference.applies
    assert added.reference.applies
    assert "bob@" not in task.reference.diff


# --- what is left out -------------------------------------------------------------------------------------


def many(count: int) -> dict[str | bytes, bytes | tuple[str, bytes] | None]:
    return {f"f{number}.py": lines(4, str(number)) for number in range(count)}


@pytest.mark.parametrize(
    ("message", "files", "reason"),
    [
        ('Revert "Count lines from one"', {"a": lines(9)}, Reason.TRIVIAL),
        ("v1.2.3", {"a": lines(9)}, Reason.TRIVIAL),
        ("Fix", {"a": lines(9)}, Reason.MESSAGE_SHORT),
        ("Fix\n\nSigned-off-by: Somebody With A Long Name <a@b.de>", {"a": lines(9)}, Reason.MESSAGE_SHORT),
        ("x" * 9_000, {"a": lines(9)}, Reason.MESSAGE_LONG),
        ("x" * 300_000, {"a": lines(9)}, Reason.MESSAGE_LONG),
        (MESSAGE, {}, Reason.EMPTY),
        (MESSAGE, {"go.sum": lines(9)}, Reason.EMPTY),
        (MESSAGE, {"tests/test_count.py": AFTER}, Reason.ONLY_TESTS),
        (MESSAGE, many(11), Reason.FILES),
        (MESSAGE, many(200), Reason.FILES),
        (MESSAGE, {"a": b"1\n"}, Reason.FEW_LINES),
        (MESSAGE, {"a": lines(401)}, Reason.MANY_LINES),
        (MESSAGE, {"a": b"x" * 99_000 + b"\n1\n2\n3\n" + b"y" * 2_000}, Reason.BYTES),
        (MESSAGE, {"a": b"x" * 900_000 + b"\n1\n2\n3\n"}, Reason.BYTES),
        (MESSAGE, {"a": b"x\n" * 900_000}, Reason.BINARY),
        (MESSAGE, {"a": lines(9), "data.bin": b"\0\2"}, Reason.BINARY),
        (MESSAGE, {"a": lines(9), "tests/data.bin": b"\0\2"}, Reason.BINARY),
        (MESSAGE, {"a": lines(9), "lib": ("160000", b"1" * 40)}, Reason.SUBMODULE),
        (MESSAGE, {"a": lines(9), "link": ("120000", b"/etc/passwd")}, Reason.LINK),
        (MESSAGE, {"a": lines(9) + b"\xe9\n"}, Reason.ENCODING),
        (MESSAGE, {b"a\xff.py": lines(9)}, Reason.ENCODING),
        (MESSAGE, {"joe@company.io.py/a": lines(9)}, Reason.SECRET_NAME),
    ],
)
def test_each_reason(
    history: History, message: str, files: dict[str | bytes, bytes | tuple[str, bytes] | None], reason: Reason
) -> None:
    history.commit(message, files)
    follows = history.commit("Another change after all of that", {"src/after.py": lines(5)})
    found = mined(history.made())
    assert found.left_out[history.name(2)] == reason
    assert [task.commit for task in found.tasks] == [history.name(follows)]


def test_the_first_commit_has_no_base(history: History) -> None:
    assert reason_of(history) == Reason.ROOT


def test_bots_are_left_out_unless_asked_for(history: History) -> None:
    history.commit(MESSAGE, {"a": lines(9)}, author="renovate[bot] <x@y.z>")
    assert reason_of(history) == Reason.BOT
    assert len(mined(history.folder, Choice(bots=True)).tasks) == 1


def test_only_commits_with_tests_when_asked(history: History) -> None:
    history.commit(MESSAGE, {"a": lines(9)})
    assert reason_of(history, Choice(with_tests=True)) == Reason.NO_TESTS


def test_a_change_made_twice_is_one_task(history: History) -> None:
    first = history.commit(MESSAGE, {"src/count.py": AFTER})
    history.commit("Take that back for the moment, please", {"src/count.py": BEFORE})
    again = history.commit("Count lines from one, once more", {"src/count.py": AFTER})
    found = mined(history.made())
    assert found.left_out[history.name(first)] == Reason.DUPLICATE
    assert history.name(again) in [task.commit for task in found.tasks]


def test_merges_and_the_main_line(history: History) -> None:
    side = history.commit("On the side, a first half of it", {"a.py": lines(5)}, branch="side", parents=[1])
    side = history.commit(
        "On the side, the second half of it", {"b.py": lines(5)}, branch="side", parents=[side]
    )
    main = history.commit("Meanwhile on the main line, more", {"c.py": lines(5)}, parents=[1])
    merge = history.commit(
        "Merge pull request #7 from x/side\n\nBoth halves of what was asked",
        {"a.py": lines(5), "b.py": lines(5)},
        parents=[main, side],
    )
    folder = history.made()
    (task,) = mined(folder, Choice(unit=Unit.MERGES)).tasks
    assert (task.commit, task.base) == (history.name(merge), history.name(main))
    assert task.brief == "Both halves of what was asked"
    assert {file.path for file in task.files} == {"a.py", "b.py"}
    assert [task.commit for task in mined(folder, Choice(unit=Unit.MAINLINE)).tasks] == [
        history.name(merge),
        history.name(main),
    ]
    assert len(mined(folder).tasks) == 3


def test_the_newest_come_first_up_to_the_limit_and_after_a_commit(history: History) -> None:
    for number in range(5):
        history.commit(f"Change number {number} of several", {f"f{number}": lines(4, str(number))})
    folder = history.made()
    assert [task.commit for task in mined(folder, Choice(limit=2)).tasks] == [
        history.name(6),
        history.name(5),
    ]
    assert [task.commit for task in mined(folder, after=history.name(5)).tasks] == [history.name(6)]
    with mirror_of(folder) as mirror:
        assert count_commits(mirror, history.name(6), None, Choice()) == 6


# --- a hostile repository --------------------------------------------------------------------------------


def test_nothing_that_a_repository_holds_is_run(history: History, tmp_path: Path) -> None:
    history.commit(
        MESSAGE,
        {"src/count.py": AFTER, ".gitattributes": b"*.py diff=evil filter=evil text eol=crlf\n* -diff\n"},
    )
    folder = history.made()
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    for name in (
        "core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command", "filter.evil.clean", "filter.evil.smudge",
        "core.pager", "core.sshCommand", "core.editor", "uploadpack.packObjectsHook", "core.alternateRefsCommand",
        "credential.helper", "gpg.program", "log.showSignature", "pager.diff-tree", "alias.rev-list",
    ):  # fmt: skip
        git(
            folder,
            "config",
            name,
            "true" if name == "log.showSignature" else f"!{trap}" if "alias" in name else str(trap),
        )
    git(folder, "config", "core.hooksPath", str(tmp_path))
    for hook in ("post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc"):
        shutil.copy(trap, folder / ".git" / "hooks" / hook)
        shutil.copy(trap, tmp_path / hook)
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "attributes").write_text("*.py diff=evil\n")
    (task,) = mined(folder).tasks
    assert not (tmp_path / "sprung").exists()
    assert "src/count.py" in task.reference.diff
    assert "Binary" not in task.reference.diff
    git(folder, "log", "-p", "--ext-diff")
    assert (tmp_path / "sprung").exists(), "the trap would not have sprung anyway"


def test_settings_of_a_repository_do_not_change_its_diffs(history: History) -> None:
    history.commit(MESSAGE, {"src/count.py": AFTER, "a b.py": lines(5)})
    folder = history.made()
    plain = mined(folder).tasks
    for name, value in {
        "diff.noprefix": "true", "diff.context": "0", "diff.algorithm": "patience", "diff.renames": "false", "color.ui": "always",
        "diff.mnemonicPrefix": "true", "core.abbrev": "4", "diff.wsErrorHighlight": "all", "i18n.logOutputEncoding": "utf-16",
        "diff.interHunkContext": "9", "core.quotePath": "true", "diff.orderFile": "/nowhere",
    }.items():  # fmt: skip
        git(folder, "config", name, value)
    assert mined(folder).tasks == plain


def test_replaced_objects_and_grafts_are_not_believed(history: History) -> None:
    real = history.commit(MESSAGE, {"src/count.py": AFTER})
    other = history.commit(
        "Something else that was never merged", {"src/evil.py": lines(9)}, parents=[1], branch="evil"
    )
    folder = history.made()
    git(folder, "replace", history.name(real), history.name(other))
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "grafts").write_text(f"{history.name(real)} {history.name(other)}\n")
    (task,) = mined(folder).tasks
    assert (task.base, task.files[0].path) == (history.name(1), "src/count.py")


def test_missing_objects_are_told_and_never_fetched(history: History, tmp_path: Path) -> None:
    bad = history.commit(MESSAGE, {"src/count.py": AFTER})
    history.commit("A later change that is fine", {"b.py": lines(5)})
    folder = history.made()
    blob = git(folder, "rev-parse", f"{history.name(bad)}:src/count.py").decode().strip()
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    trap = tmp_path / "sprung"
    git(folder, "config", "remote.origin.url", f"ext::sh -c touch% {trap}")
    git(folder, "config", "remote.origin.promisor", "true")
    git(folder, "config", "protocol.ext.allow", "always")
    git(folder, "config", "extensions.partialClone", "origin")
    found = mined(folder)
    assert found.left_out[history.name(bad)] == Reason.DAMAGED
    assert [task.commit for task in found.tasks] == [history.name(3)]
    assert not trap.exists()


def test_a_history_with_missing_commits_is_an_error_and_not_a_shorter_history(history: History) -> None:
    history.commit(MESSAGE, {"src/count.py": AFTER})
    folder = history.made()
    tree = git(folder, "rev-parse", "HEAD^{tree}").decode().strip()
    commit = f"tree {tree}\nparent {'1' * 40}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\n{MESSAGE}"
    name = git(folder, "hash-object", "-w", "-t", "commit", "--stdin", given=commit.encode()).decode().strip()
    git(folder, "update-ref", "refs/heads/main", name)
    with mirror_of(folder) as mirror:
        with pytest.raises(DataError, match="missing or damaged"):
            list(mine(mirror, name, Choice()))
        with pytest.raises(DataError, match="missing or damaged"):
            count_commits(mirror, name, None, Choice())


def test_a_shallow_clone_is_mined_up_to_where_it_was_cut(history: History, tmp_path: Path) -> None:
    for number in range(4):
        history.commit(f"Change number {number} of several", {f"f{number}": lines(4, str(number))})
    folder = history.made()
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{folder}", "shallow")
    found = mined(tmp_path / "shallow")
    assert [task.commit for task in found.tasks] == [history.name(5)]
    assert found.left_out == {history.name(4): Reason.ROOT}


@pytest.mark.parametrize("bare", [True, False])
def test_a_repository_whose_folder_has_an_odd_name(tmp_path: Path, bare: bool) -> None:
    made = History(tmp_path / 'odd "name\n: é')
    made.commit("Begin", {"a": BEFORE})
    made.commit(MESSAGE, {"a": AFTER})
    assert len(mined(made.made(bare=bare)).tasks) == 1


def test_what_is_no_repository_or_no_commit_is_a_usage_error(history: History, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"), mirror_of(tmp_path / "nowhere"):
        pass
    (tmp_path / "plain").mkdir()
    with pytest.raises(UsageError, match="not a git repository"), mirror_of(tmp_path / "plain"):
        pass
    with mirror_of(history.made()) as mirror:
        for name in ("nothing", "--all", "-n1", "HEAD:src", "a\nb", ""):
            with pytest.raises(UsageError):
                mirror.commit(name)


def test_the_mirror_is_gone_afterwards_and_the_source_is_untouched(history: History) -> None:
    history.commit(MESSAGE, {"src/count.py": AFTER})
    folder = history.made()
    before = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file())
    with mirror_of(folder) as mirror:
        place = mirror.folder
        list(mine(mirror, mirror.commit("HEAD"), Choice()))
    assert not place.exists()
    assert sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()) == before
