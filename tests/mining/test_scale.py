"""A long history streams: time and memory on synthetic repositories."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mining._history import History, environment, git

MEASURED = """
import json, resource, sys, time
from pathlib import Path
from voirdire.cli import _main as cli
began = time.perf_counter()
code = cli.run(["mine", sys.argv[1], "--out", sys.argv[2], "--json"])
status = Path("/proc/self/status")  # ru_maxrss would count the process that started this one
peak = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")] if status.exists() else []
own, of_git = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print(json.dumps([code, int(peak[0]) // 1024 if peak else 0, own.ru_utime + own.ru_stime, of_git.ru_utime + of_git.ru_stime,
                  time.perf_counter() - began]), file=sys.stderr)
"""


def long_history(folder: Path, commits: int) -> Path:
    """Make a repository whose commits each change two of 200 files of 60 lines, every tenth a test too."""
    folder.mkdir()
    git(folder, "init", "-q", "--bare", "-b", "main")
    feeding = subprocess.Popen(
        ["git", "fast-import", "--quiet", "--depth=20"], cwd=folder, env=environment(), stdin=subprocess.PIPE
    )
    assert feeding.stdin is not None
    for number in range(commits):
        message = (
            f"Change number {number} of a long history, for a reason\n\nIt says why, in a body.\n".encode()
        )
        head = f"commit refs/heads/main\ncommitter A <a@company.com> {number} +0000\ndata {len(message)}\n"
        feeding.stdin.write(head.encode() + message)
        names = [f"src/f{(number + one * 7) % 200}.py" for one in (0, 1)]
        for name in [*names, *(["tests/test_it.py"] if number % 10 == 0 else [])]:
            body = "".join(
                f"line {line} of version {number if line in (9, 30, 50) else 0}\n" for line in range(60)
            )
            feeding.stdin.write(f"M 644 inline {name}\ndata {len(body)}\n{body}\n".encode())
    feeding.stdin.close()
    assert feeding.wait() == 0
    return folder


def measured(repo: Path, out: Path) -> tuple[int, float, float, float]:
    """Mine in a process of its own; return megabytes, own CPU seconds, git's, and seconds by the clock."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(repo), str(out)], capture_output=True, text=True, check=True
    )
    code, memory, own, of_git, seconds = json.loads(done.stderr.strip().splitlines()[-1])
    assert code == 0
    return memory, own, of_git, seconds


def test_memory_does_not_grow_with_the_history(tmp_path: Path) -> None:
    short, *_ = measured(long_history(tmp_path / "short", 100), tmp_path / "short.jsonl")
    long, *_ = measured(long_history(tmp_path / "long", 800), tmp_path / "long.jsonl")
    assert len((tmp_path / "long.jsonl").read_bytes().splitlines()) > 600
    assert long - short < 6, (short, long)


@pytest.mark.slow
def test_twenty_thousand_commits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = long_history(tmp_path / "repo", 20_000)
    memory, own, of_git, seconds = measured(repo, tmp_path / "a.jsonl")
    measured(repo, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    tasks = len((tmp_path / "a.jsonl").read_bytes().splitlines()) - 1
    with capsys.disabled():
        print(
            f"\n20,000 commits, {tasks:,} tasks: {own:.1f} s CPU and {of_git:.1f} s of git, {seconds:.1f} s, {memory} MB"
        )
    assert tasks > 15_000
    assert memory < 120
    assert own + of_git < 240


def test_the_same_commit_gives_the_same_bytes_in_every_clone(tmp_path: Path) -> None:
    repo = long_history(tmp_path / "repo", 60)
    git(tmp_path, "clone", "-q", str(repo), "clone")
    git(tmp_path / "clone", "gc", "-q", "--aggressive", "--prune=now")
    (tmp_path / "clone" / "src" / "f1.py").write_text("changed in the work tree")
    git(tmp_path / "clone", "checkout", "-q", "-b", "elsewhere")
    for name in ("repo", "clone"):
        measured(tmp_path / name, tmp_path / f"{name}.jsonl")
    assert (tmp_path / "repo.jsonl").read_bytes() == (tmp_path / "clone.jsonl").read_bytes()


def test_a_commit_with_very_many_files_or_a_huge_file_takes_no_memory(tmp_path: Path) -> None:
    made = History(tmp_path / "repo")
    made.commit("Begin", {"a": b"1\n" * 5})
    made.commit("A commit that brings in very many files", {f"lib/{n}": b"%d\n" % n for n in range(8_000)})
    made.commit("A commit that brings in one huge file", {"huge.txt": b"a line of it\n" * 4_000_000})
    made.commit(
        "Many large texts in one commit, at once", {f"l{n}": b"%d of it\n" % n * 90_000 for n in range(8)}
    )
    made.commit("A change that is a task after all of that", {"a": b"2\n" * 5})
    memory, *_ = measured(made.made(), tmp_path / "t.jsonl")
    assert len((tmp_path / "t.jsonl").read_bytes().splitlines()) == 2
    assert memory < 100
