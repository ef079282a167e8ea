"""Harnesses on tasks: what they see, what is kept of what they do, and that they can do no harm to the record."""

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.mining._history import History, files_at, git, lines, mined
from voirdire.edits.patch import parse
from voirdire.edits.patch_apply import apply
from voirdire.errors import DataError, UsageError
from voirdire.mining.attempts import (
    Attempt,
    AttemptStatus,
    Done,
    Journal,
    done_in,
    item_of,
    json_schema,
    read_attempts,
)
from voirdire.mining.git import mirror_of
from voirdire.mining.harness import Harness, harness_of, read_report, with_models
from voirdire.mining.replay import Limits, Runner, check_bases, plan
from voirdire.mining.tasks import MinedTask

SCRIPTS = Path(__file__).with_name("harnesses.py")
IN_TIME = Limits(seconds=30)
NOTHING = Done(frozenset(), {})


def scripted(name: str, *words: str) -> Harness:
    return Harness(name, (sys.executable, str(SCRIPTS), name, *words))


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    made = History(tmp_path_factory.mktemp("mine") / "repo")
    made.commit(
        "Begin", {"src/count.py": lines(20), "tests/test_count.py": lines(5), ".gitignore": b"*.log\n"}
    )
    made.commit("Count lines from one, please", {"src/count.py": lines(25), "crlf.txt": b"a\r\nb\r\n"})
    made.commit(
        "The solution of the task at hand", {"src/count.py": lines(30), "src/new.py": lines(9, "secret")}
    )
    made.commit("A later change after the solution", {"src/later.py": lines(9, "later")})
    folder = made.made()
    git(folder, "tag", "v1", made.name(4))
    git(folder, "branch", "solution", made.name(3))
    return made


@pytest.fixture(scope="module")
def tasks(history: History) -> list[MinedTask]:
    return mined(history.folder).tasks


@pytest.fixture(scope="module")
def task(history: History, tasks: Sequence[MinedTask]) -> MinedTask:
    return next(one for one in tasks if one.commit == history.name(3))


def attempts(
    history: History,
    tasks: Sequence[MinedTask],
    *harnesses: Harness,
    limits: Limits = IN_TIME,
    workers: int = 1,
    environment: dict[str, str] | None = None,
) -> list[Attempt]:
    with mirror_of(history.folder) as mirror:
        runner = Runner(
            mirror,
            limits,
            {**os.environ, **(environment or {})},
            lambda: "2026-01-01T00:00:00+00:00",
            threading.Event(),
        )
        missing = plan(tasks, harnesses, samples=1, done=NOTHING).missing
        return list(runner.run(missing, workers=workers))


# --- what is kept ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("{brief}",)])
def test_a_good_harness(history: History, task: MinedTask, words: tuple[str, ...]) -> None:
    (attempt,) = attempts(history, [task], scripted("good", *words))
    assert (attempt.status, attempt.exit_code, attempt.fault) == (AttemptStatus.FINISHED, 0, None)
    assert (attempt.model, attempt.cost, attempt.input_tokens, attempt.output_tokens) == (
        "scripted-1",
        0.25,
        10,
        2,
    )
    assert attempt.output == "all done\n"
    base = dict(files_at(history.folder, task.base))
    done = apply(parse(attempt.diff), base)
    assert done.files == {
        **base,
        "done.md": "The solution of the task at hand\n",
        "src/count.py": base["src/count.py"].replace("line 3", "Line 3"),
    }
    assert attempt.diff_bytes == len(attempt.diff.encode())


def test_what_it_committed_and_deleted_is_in_the_diff(history: History, task: MinedTask) -> None:
    (attempt,) = attempts(history, [task], scripted("commits"))
    paths = {file.path: file.new is None for file in parse(attempt.diff).files}
    assert paths == {"done.md": False, "src/count.py": False, "tests/test_count.py": True}


def test_one_that_dies_leaves_what_it_had_changed(history: History, task: MinedTask) -> None:
    (attempt,) = attempts(history, [task], scripted("dies"))
    assert (attempt.status, attempt.exit_code) == (AttemptStatus.FAILED, -9)
    assert "+half" in attempt.diff
    assert "cannot go on" in attempt.output


def test_one_that_hangs_is_ended_with_its_children(history: History, task: MinedTask) -> None:
    began = time.monotonic()
    (attempt,) = attempts(history, [task], scripted("hangs"), limits=Limits(seconds=1.5))
    assert time.monotonic() - began < 20
    assert (attempt.status, attempt.exit_code) == (AttemptStatus.TIMEOUT, None)
    (child,) = (file for file in parse(attempt.diff).files if file.path == "child.pid")
    assert is_gone(int(child.hunks[0].added[0]))


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or ends within a second; one that nobody has collected yet has ended."""
    for _ in range(20):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_children_left_behind_are_ended(history: History, task: MinedTask) -> None:
    began = time.monotonic()
    (attempt,) = attempts(history, [task], scripted("leaves"))
    assert time.monotonic() - began < 15
    assert attempt.status is AttemptStatus.FINISHED
    assert "+left" in attempt.diff


@pytest.mark.parametrize("name", ["floods", "spreads"])
def test_a_change_that_is_too_large_is_not_kept_and_said(
    history: History, task: MinedTask, name: str
) -> None:
    (attempt,) = attempts(history, [task], scripted(name), limits=Limits(seconds=30, size=150_000))
    assert (attempt.status, attempt.diff) == (AttemptStatus.TOO_LARGE, "")
    assert attempt.diff_bytes > 150_000
    assert len(attempt.output) <= 8_000
    assert name != "floods" or attempt.output.endswith("the end of it\n")


def test_traps_in_the_work_tree_do_not_spring_and_hide_nothing(
    history: History, task: MinedTask, tmp_path: Path
) -> None:
    sprung = tmp_path / "sprung"
    (attempt,) = attempts(history, [task], scripted("tampers"), environment={"SPRUNG": str(sprung)})
    sprung_by_itself = sprung.exists()
    assert attempt.status is AttemptStatus.FINISHED, attempt.fault
    assert not sprung_by_itself
    assert attempt.encoding == "latin-1"
    assert b"+caf\xe9\n" in attempt.diff.encode("latin-1")
    assert "-line 3\n+line 3\r\n" in attempt.diff
    assert "Binary" not in attempt.diff
    assert "new file mode 120000" in attempt.diff
    assert "root:" not in attempt.diff
    assert "crlf.txt" not in attempt.diff
    assert attempt.not_captured["nested/"] == "a repository inside the repository"
    assert attempt.report_fault is not None
    assert attempt.cost is None


def test_a_program_that_cannot_be_started_is_our_fault_and_not_the_harness_s(
    history: History, task: MinedTask, tmp_path: Path
) -> None:
    (tmp_path / "program").write_text("no program")
    (tmp_path / "program").chmod(0o755)
    (attempt,) = attempts(history, [task], Harness("h", (str(tmp_path / "program"),), cost=1.0))
    assert (attempt.status, attempt.cost) == (AttemptStatus.INFRASTRUCTURE, None)
    assert attempt.fault is not None
    assert "exec format error" in attempt.fault


def test_several_at_once_give_the_same(history: History, tasks: Sequence[MinedTask]) -> None:
    harness = scripted("good")
    one_by_one = attempts(history, tasks, harness)
    at_once = attempts(history, tasks, harness, workers=3)
    assert {a.key: a.diff for a in one_by_one} == {a.key: a.diff for a in at_once}
    assert len(at_once) == len(tasks) == 3


# --- what it sees ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 1, 50])
def test_nothing_later_can_be_found_in_the_work_tree(history: History, task: MinedTask, kept: int) -> None:
    """Not a commit, tree or blob of the solution or of what came later, no ref, no reflog, no way back."""
    reach = git(history.folder, "rev-list", "--objects", "--no-object-names", "--all").decode().split()
    before = git(history.folder, "rev-list", "--objects", "--no-object-names", task.base).decode().split()
    later = sorted({*reach} - {*before})
    assert len(later) >= 8
    assert history.name(3) in later
    solution = git(history.folder, "rev-parse", f"{task.commit}:src/new.py").decode().strip()
    assert solution in later
    given = {
        "LOOK_FOR": " ".join([*later, task.base]),
        "GIT_DIR": str(history.folder / ".git"),
        "VOIRDIRE_LEDGER": "x",
    }
    (attempt,) = attempts(
        history, [task], scripted("searches"), limits=Limits(30, history=kept), environment=given
    )
    assert attempt.status is AttemptStatus.FINISHED, attempt.output
    (file,) = (one for one in parse(attempt.diff).files if one.path == "shown.json")
    shown = json.loads(file.hunks[0].added[0])
    assert shown["found"] == [task.base]
    assert not {line.split()[0] for line in shown["objects"].splitlines()} & {*later}
    assert shown["refs"].split() == [task.base, "commit", "refs/heads/main"]
    assert shown["log"] == ([task.base] if kept == 1 else [task.base, history.name(1)])
    assert str(history.folder) not in shown["config"]
    assert not [
        name for name in shown["files"] if "logs" in name or "alternates" in name or "FETCH_HEAD" in name
    ]
    assert shown["status"] == ""
    assert shown["environment"] == ["VOIRDIRE_BRIEF", "VOIRDIRE_RESULT"]


def test_the_work_tree_is_gone_afterwards(
    history: History, task: MinedTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    attempts(history, [task], scripted("tampers"), environment={"SPRUNG": str(tmp_path / "sprung")})
    assert list(tmp_path.iterdir()) == []


# --- the plan and the journal --------------------------------------------------------------------------------


def attempt_of(task: str, harness: str = "h", status: AttemptStatus = AttemptStatus.FINISHED) -> Attempt:
    return Attempt(
        task=task,
        base="1" * 40,
        harness=harness,
        sample=0,
        command=("h", "x"),
        model=None,
        cost=0.5,
        input_tokens=None,
        output_tokens=None,
        began="2026-01-01T00:00:00+00:00",
        seconds=1.5,
        status=status,
        diff="caf\xe9\udcff" if task == "odd" else "diff\n",
    )


def test_the_plan_holds_what_is_missing(tasks: Sequence[MinedTask], tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    harnesses = [Harness("h", ("h", "x")), Harness("other", ("y",))]
    with Journal(path) as journal:
        journal.add(attempt_of(tasks[0].id))
        journal.add(attempt_of(tasks[1].id, status=AttemptStatus.INFRASTRUCTURE))
    planned = plan(tasks, harnesses, samples=2, done=done_in(path))
    assert (planned.total, planned.tasks, len(planned.missing)) == (12, 3, 11)
    assert f"{tasks[0].id}/h/0" not in {one.key for one in planned.missing}
    assert f"{tasks[1].id}/h/0" in {one.key for one in planned.missing}
    with pytest.raises(UsageError, match="another command"):
        plan(tasks, [Harness("h", ("z",))], samples=1, done=done_in(path))


def test_a_line_that_was_cut_off_is_taken_away_and_later_lines_count(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.add(attempt_of("a", status=AttemptStatus.INFRASTRUCTURE))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "b/h/0", ' + b"x" * 200_000)
    assert done_in(path).keys == frozenset()
    with Journal(path) as journal:
        journal.add(attempt_of("a"))
    assert path.read_bytes().startswith(whole)
    assert [(one.key, one.status) for one in read_attempts(path)] == [("a/h/0", AttemptStatus.FINISHED)]
    path.write_bytes(b'{"schema"')
    with Journal(path):
        pass
    assert list(read_attempts(path)) == []


def test_two_runs_do_not_write_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path), pytest.raises(UsageError, match="another run"), Journal(path):
        pass


def test_every_line_fits_the_schema(tmp_path: Path) -> None:
    checked = Draft202012Validator(json_schema())
    Draft202012Validator.check_schema(json_schema())
    with Journal(tmp_path / "a.jsonl") as journal:
        journal.add(attempt_of("a"))
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [list(checked.iter_errors(row)) for row in rows] == [[], []]
    assert list(checked.iter_errors({**rows[1], "cost": -1}))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"voirdire.attempts/1"', '"x"', ":1: the header"),
        ('"status": "finished"', '"status": "fine"', ":2: 'status'"),
        ('"cost": 0.5', '"cost": NaN', ":2: 'cost'"),
        ('"cost": 0.5', '"cost": 0.5, "more": 1', ":2: 'more'"),
        ('"command": ["h", "x"]', '"command": "h"', ":2: 'command'"),
        ('"key": "a/h/0"', '"key": 7', ":2: 'key'"),
    ],
)
def test_complaints_name_file_and_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "a.jsonl"
    with Journal(path) as journal:
        journal.add(attempt_of("a"))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(DataError) as caught:
        list(read_attempts(path))
    assert said in str(caught.value)


def test_an_attempt_becomes_an_item(task: MinedTask) -> None:
    item = item_of(task, attempt_of(task.id))
    assert item.id == f"{task.id}/h/0"
    assert item["task"] == task.brief
    assert item["response"] == "diff\n"
    assert item["reference"] == task.reference.diff
    assert item.origin is not None
    assert (item.origin.task, item.origin.harness, item.origin.sample) == (task.id, "h", 0)


def test_another_repository_is_refused_before_anything_is_run(
    tasks: Sequence[MinedTask], tmp_path: Path
) -> None:
    other = History(tmp_path / "other")
    other.commit("Begin", {"a": b"1\n"})
    planned = plan(tasks, [Harness("h", ("true",))], samples=1, done=NOTHING)
    with mirror_of(other.made()) as mirror, pytest.raises(UsageError, match="3 of 3 commits"):
        check_bases(mirror, planned)


# --- a harness as it is given -------------------------------------------------------------------------------


def test_a_command_is_split_into_words_and_never_given_to_a_shell() -> None:
    harness = harness_of("agent=true --brief {brief} 'a b; $(touch x)'")
    assert harness == Harness("agent", ("true", "--brief", "{brief}", "a b; $(touch x)"))
    assert harness.reads_file


@pytest.mark.parametrize(
    "text", ["agent", "=true", "a/b=true", "a=", "a='x", "a=no-such-program-anywhere", "a\nb=true"]
)
def test_what_is_no_harness_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        harness_of(text)


def test_models_and_costs_belong_to_harnesses() -> None:
    (one,) = with_models([Harness("a", ("x",))], {"a": "m"}, {"a": 2.0})
    assert (one.model, one.cost) == ("m", 2.0)
    with pytest.raises(UsageError, match="no harness 'b'"):
        with_models([Harness("a", ("x",))], {"b": "m"}, {})
    with pytest.raises(UsageError, match="one name"):
        with_models([Harness("a", ("x",))] * 2, {}, {})


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"cost": -1}',
        '{"cost": NaN}',
        '{"cost": "1"}',
        '{"model": 3}',
        '{"model": "a\\nb"}',
        '{"input_tokens": 1.5}',
        "\udcff",
        "[" * 60_000,
        " " * 70_000,
    ],
)
def test_a_report_that_cannot_be_read_says_so(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    report = read_report(path)
    assert report.fault is not None
    assert (report.model, report.cost) == (None, None)


def test_a_report_that_is_a_pipe_a_folder_or_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert read_report(tmp_path / "pipe").fault is not None
    assert read_report(tmp_path).fault is not None
    assert read_report(tmp_path / "none").fault is None
    (tmp_path / "r").write_text('{"cost": 1, "other": 2}\n')
    assert read_report(tmp_path / "r").cost == 1.0
