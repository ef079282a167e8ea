"""Scripted coding harnesses, run as commands: `python harnesses.py NAME [BRIEF]`."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def good() -> None:
    """Do what the brief says (here: write it down), and say what it cost."""
    brief = Path(sys.argv[2]).read_text("utf-8") if len(sys.argv) > 2 else sys.stdin.read()
    Path("done.md").write_text(brief, encoding="utf-8")
    text = Path("src/count.py").read_text("utf-8")
    Path("src/count.py").write_text(text.replace("line 3", "Line 3"), encoding="utf-8")
    Path("run.log").write_text("ignored", encoding="utf-8")
    said = {"model": "scripted-1", "cost": 0.25, "input_tokens": 10, "output_tokens": 2}
    Path(os.environ["VOIRDIRE_RESULT"]).write_text(json.dumps(said), encoding="utf-8")
    print("all done")


def commits() -> None:
    """Commit what it did, as many agents do, and delete a file."""
    good()
    Path("tests/test_count.py").unlink()
    subprocess.run(
        "git add -A && git commit -q -m work && git checkout -q -b other && git tag x", shell=True, check=True
    )


def dies() -> None:
    """Change something, print and die."""
    Path("half.md").write_text("half\n", encoding="utf-8")
    print("cannot go on", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)


def hangs() -> None:
    """Refuse to end, with a child that refuses too and writes on."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, __file__, "ticks"])
    Path("child.pid").write_text(str(child.pid), encoding="utf-8")
    time.sleep(600)


def ticks() -> None:
    """Go on for ever, deaf to SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for number in range(6_000):
        Path("tick").write_text(str(number), encoding="utf-8")
        time.sleep(0.1)


def leaves() -> None:
    """End well and leave a child behind, which holds the output open."""
    subprocess.Popen([sys.executable, __file__, "ticks"])
    Path("left.md").write_text("left\n", encoding="utf-8")


def floods() -> None:
    """Write a change that is far too large, and print as much."""
    with open("huge.txt", "w", encoding="utf-8") as file:
        for number in range(100_000):
            file.write(f"line {number} of a change that nobody will read\n")
    for _ in range(2_000):
        print("x" * 1_000)
    print("the end of it")


def spreads() -> None:
    """Write very many small files."""
    for number in range(2_000):
        Path(f"f{number}").write_bytes(b"")


def tampers() -> None:
    """Lay traps for whoever looks at the work tree afterwards."""
    trap = Path("trap.sh").resolve()
    trap.write_text("#!/bin/sh\ntouch " + os.environ["SPRUNG"] + "\ncat\n", encoding="utf-8")
    trap.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "diff.external",
        "diff.evil.textconv",
        "filter.evil.clean",
        "core.hooksPath",
    ):
        subprocess.run(["git", "config", name, str(trap)], check=True)
    Path(".gitattributes").write_text(
        "*.py diff=evil filter=evil -diff\n* text eol=crlf working-tree-encoding=UTF-16\n"
    )
    Path("src/count.py").write_bytes(Path("src/count.py").read_bytes().replace(b"line 3\n", b"line 3\r\n"))
    for folder in ("nested", "nested/deeper"):
        subprocess.run(["git", "init", "-q", folder], check=True)
    Path("nested/x").write_text("x", encoding="utf-8")
    os.mkfifo("pipe")
    Path("link").symlink_to("/etc/passwd")
    Path("b\nc\xe9.py").write_bytes(b"caf\xe9\n")
    Path("locked").mkdir()
    Path("locked/x").write_text("x", encoding="utf-8")
    Path("locked").chmod(0)
    Path(os.environ["VOIRDIRE_RESULT"]).symlink_to("/etc/passwd")


def searches() -> None:
    """Say what of the objects named in LOOK_FOR can be found, and everything that git shows."""
    found = []
    for name in os.environ["LOOK_FOR"].split():
        done = subprocess.run(["git", "cat-file", "-e", name], check=False, capture_output=True)
        found += [name] if done.returncode == 0 else []
    shown = {
        "found": found,
        "objects": subprocess.check_output(
            ["git", "cat-file", "--batch-all-objects", "--batch-check"], text=True
        ),
        "refs": subprocess.check_output(["git", "for-each-ref"], text=True),
        "log": subprocess.check_output(["git", "log", "--all", "--reflog", "--format=%H"], text=True).split(),
        "config": Path(".git/config").read_text("utf-8"),
        "files": sorted(str(path) for path in Path(".git").rglob("*")),
        "status": subprocess.check_output(["git", "status", "--porcelain"], text=True),
        "environment": sorted(name for name in os.environ if name.startswith(("GIT_", "VOIRDIRE_"))),
    }
    Path("shown.json").write_text(json.dumps(shown), encoding="utf-8")


if __name__ == "__main__":
    script: Callable[[], None] = globals()[sys.argv[1]]
    script()
