"""Starting up: help costs no more than it should, and nothing heavy is imported before it is used."""

import os
import resource
import subprocess
import sys

import pytest

from voirdire import plugins

HEAVY = {
    "aiohttp",
    "polars",
    "numpy",
    "scipy",
    "pydantic",
    "jinja2",
    "altair",
    "vl_convert",
    "xllamacpp",
    "rich",
}

HELP_CPU_SECONDS = 0.12

PROGRAM = """
import sys
sys.argv = ["voirdire", *{words!r}]
from voirdire.cli import run
code = run()
print(code, *sorted({heavy!r} & {{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""


def imported_by(*words: str) -> list[str]:
    """Return the exit code and the heavy packages in memory after `voirdire WORDS`."""
    program = PROGRAM.format(words=words, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stderr.strip().rpartition("\n")[2].split()


def test_help_imports_nothing_heavy() -> None:
    assert imported_by("--help") == ["0"]


@pytest.mark.parametrize("name", plugins.names("cli"))
def test_the_help_of_a_command_imports_nothing_heavy(name: str) -> None:
    assert imported_by(name, "--help") == ["0"]


def test_the_words_of_the_house_import_nothing_heavy() -> None:
    program = (
        "import sys, voirdire.model, voirdire.questions, voirdire.blocks, voirdire.lines, voirdire.errors, "
        f"voirdire.plugins; print(*sorted({HEAVY!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def help_seconds() -> float:
    """Return the CPU time of one `voirdire --help`, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "voirdire", "--help"], capture_output=True, check=True, env=dict(os.environ)
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def test_help_costs_little_cpu_time() -> None:
    assert min(help_seconds() for _ in range(5)) <= HELP_CPU_SECONDS
