"""The command `mine`: tasks from a repository, harnesses on tasks, going on where it was stopped."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli._program import environment, program
from tests.mining._history import History, lines
from voirdire.cli import _main as cli
from voirdire.mining.attempts import read_attempts
from voirdire.mining.tasks import read_tasks

HOSTILE = "Add \x1b[31mred\x1b[0m output to the program"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = History(tmp_path_factory.mktemp("mine") / "repo")
    made.commit("Begin", {"src/a.py": lines(20)})
    made.commit(
        "Count lines from one, please\n\nSigned-off-by: A <a@b.de>",
        {"src/a.py": lines(25), "tests/test_a.py": lines(5)},
    )
    made.commit("Mail bob@company.io about it when done", {"src/b.py": lines(5)})
    made.commit("Fix", {"src/c.py": lines(5)})
    made.commit(HOSTILE, {"src/d.py": lines(5)})
    return made.made()


@pytest.fixture
def tasks(repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert cli.run(["mine", str(repo), "--out", str(tmp_path / "tasks.jsonl")]) == cli.FINE
    capsys.readouterr()
    return tmp_path / "tasks.jsonl"


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


# --- mining ---------------------------------------------------------------------------------------------


def test_the_preview_shows_tasks_and_why_others_are_none(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["mine", str(repo), "--out", str(tmp_path / "t.jsonl")]) == cli.FINE
    shown = capsys.readouterr().out
    assert "plan: 5 commits" in shown
    assert "3 tasks from 5 commits, 1 of them with tests" in shown
    assert "1  the message is too short (--min-message)" in shown
    assert "1  nothing comes before it in this clone" in shown
    assert "taken out of briefs: 1 email, 1 trailer" in shown
    assert "\x1b" not in shown
    assert "\\x1b[31mred" in shown
    assert [task.repository for task in read_tasks(tmp_path / "t.jsonl")] == [None] * 3


def test_as_json_there_is_json_alone(repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "t.jsonl"
    words = ["mine", str(repo), "--out", str(out), "--json", "--name", "mine/it", "--limit", "1"]
    assert cli.run(words) == cli.FINE
    data = told(capsys)
    assert (data["tasks"], data["commits"], data["out"]) == (1, 1, str(out))
    (task,) = read_tasks(out)
    assert (task.repository, task.id) == ("mine/it", f"mine/it/{task.commit[:16]}")


def test_a_dry_run_writes_nothing(repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["mine", str(repo), "--out", str(tmp_path / "t.jsonl"), "--dry-run", "--json"]) == cli.FINE
    data = told(capsys)
    assert (data["out"], data["tasks"]) == (None, 3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "tasks"),
    [
        (["--min-message", "3"], 4),
        (["--min-message", "35"], 2),
        (["--max-message", "30"], 1),
        (["--max-files", "1", "--tests", "*.py"], 0),
        (["--with-tests"], 1),
        (["--exclude", "src/*"], 0),
        (["--min-lines", "6"], 0),
        (["--max-lines", "4"], 0),
        (["--max-bytes", "100"], 0),
        (["--after", "HEAD~1"], 1),
        (["--rev", "HEAD~2"], 2),
        (["--unit", "merges"], 0),
        (["--unit", "mainline"], 3),
    ],
)
def test_every_option_chooses(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], tasks: int
) -> None:
    assert cli.run(["mine", str(repo), "--out", str(tmp_path / "t.jsonl"), "--json", *options]) == cli.FINE
    assert told(capsys)["tasks"] == tasks


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mine", "REPO", "--harness", "a=true"], "No such option: --harness"),
        (["mine", "REPO", "other"], "unexpected extra argument"),
        (["mine", "run"], "Missing argument 'TASKS'"),
        (["mine", "run", "TASKS"], "no harness was named"),
        (["mine", "run", "TASKS", "--harness", "a=true", "--rev", "x"], "No such option: --rev"),
        (["mine", "run", "TASKS", "--harness", "a=true", "--cost", "a=much"], "no amount"),
        (["mine", "run", "TASKS", "--harness", "a=true", "--cost", "b=1"], "no harness 'b'"),
        (["mine", "run", "TASKS", "--harness", "a=true", "--model", "a"], "not of the form"),
        (["mine", "run", "REPO", "--harness", "a=true"], "cannot be read"),
        (["mine", "REPO", "--name", "a\nb"], "is no name"),
        (["mine", "REPO/nowhere"], "there is no folder"),
    ],
)
def test_what_cannot_be_done_says_so(
    repo: Path, tasks: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    filled = [word.replace("REPO", str(repo)).replace("TASKS", str(tasks)) for word in words]
    assert cli.run([*filled, "--out", str(tasks.parent / "out.jsonl")]) == cli.USAGE
    captured = capsys.readouterr()
    assert said in captured.err
    assert "hint:" in captured.err


@pytest.mark.parametrize("words", [["mine", "run", "--help"], ["help", "mine", "run"]])
def test_two_words_may_name_a_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(words) == cli.FINE
    assert capsys.readouterr().out.startswith("Usage: voirdire mine run [OPTIONS] {TASKS}")
    assert cli.run(["mine", "rum"]) == cli.USAGE
    assert "there is no folder 'rum'" in capsys.readouterr().err


# --- running --------------------------------------------------------------------------------------------

AGENT = """
import os, pathlib, sys, time
brief = sys.stdin.read()
with open(sys.argv[1], "a") as log:
    log.write(brief.splitlines()[0] + "\\n")
pathlib.Path("done.md").write_text(brief)
time.sleep(float(sys.argv[2]))
"""


def agent(folder: Path, *, seconds: float = 0) -> str:
    (folder / "agent.py").write_text(AGENT)
    return f"agent={sys.executable} {folder}/agent.py {folder}/log {seconds}"


def words_of(repo: Path, tasks: Path, *more: str, seconds: float = 0) -> list[str]:
    out = tasks.with_name("attempts.jsonl")
    run = ["mine", "run", str(tasks), "--repo", str(repo), "--out", str(out)]
    return [*run, "--harness", agent(tasks.parent, seconds=seconds), *more]


def test_attempts_are_made_once(repo: Path, tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = words_of(repo, tasks, "--model", "agent=m-1", "--cost", "agent=0.5", "--harness", "never=false")
    assert cli.run([*words, "--limit", "2"]) == cli.FINE
    shown = capsys.readouterr().out
    assert "plan: 2 tasks, 2 harnesses, 4 attempts, 0 of them in" in shown
    assert "about $1.00 for 2 attempts" in shown
    assert "agent: 2 finished; 0 changed nothing" in shown
    assert "never: 2 failed; 2 changed nothing" in shown
    assert cli.run([*words, "--json"]) == cli.FINE
    data = told(capsys)
    assert data["harnesses"]["agent"]["statuses"] == {"finished": 3}
    assert data["harnesses"]["agent"]["cost"] == 1.5
    assert len((tasks.parent / "log").read_text().splitlines()) == 3
    made = [one for one in read_attempts(tasks.with_name("attempts.jsonl")) if one.harness == "agent"]
    assert {one.model for one in made} == {"m-1"}
    assert all("done.md" in one.diff for one in made)


def test_a_dry_run_runs_nothing(repo: Path, tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(words_of(repo, tasks, "--dry-run", "--json", "--samples", "2")) == cli.FINE
    assert told(capsys) == {"tasks": 3, "attempts": 6, "missing": 6}
    assert not (tasks.parent / "log").exists()
    assert not tasks.with_name("attempts.jsonl").exists()


def test_what_our_side_broke_is_told_and_made_again(
    repo: Path, tasks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tasks.parent / "broken"
    broken.write_text("no program")
    broken.chmod(0o755)
    words = [
        "mine",
        "run",
        str(tasks),
        "--repo",
        str(repo),
        "--out",
        str(tasks.with_name("a.jsonl")),
        "--harness",
        f"x={broken}",
    ]
    assert cli.run(words) == cli.INCOMPLETE
    assert "3 attempts broken on our side" in capsys.readouterr().out
    broken.write_text("#!/bin/sh\nexit 0\n")
    assert cli.run([*words, "--json"]) == cli.FINE
    assert told(capsys)["harnesses"]["x"]["statuses"] == {"finished": 3}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_goes_on_with_what_is_missing(
    repo: Path, tasks: Path, number: signal.Signals
) -> None:
    words = words_of(repo, tasks, seconds=1)
    process = subprocess.Popen(
        program(words), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    out = tasks.with_name("attempts.jsonl")
    until = time.monotonic() + 60
    while not (out.exists() and len(out.read_bytes().splitlines()) == 2) and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (cli.INCOMPLETE if number != signal.SIGKILL else -signal.SIGKILL)
    if number != signal.SIGKILL:
        assert "the same command goes on from there" in said
    before = out.read_bytes()
    kept = len(before.splitlines()) - 1
    assert 1 <= kept <= 2
    done = subprocess.run(program(words), env=environment(), capture_output=True, text=True, check=True)
    assert f"3 attempts, {kept} of them in" in done.stdout
    assert out.read_bytes().startswith(before)
    assert len(list(read_attempts(out))) == 3
    assert os.path.getsize(out) > len(before)
