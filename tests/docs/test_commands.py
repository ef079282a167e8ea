"""Every command block in README.md and docs/ is run, in order, in one folder per page; what it shows must come out.

Blocks `console` (commands behind `$ `, their output below; `…` stands for any lines), `bash` and `sh` are run; a `toml` or `python`
block whose first line is a comment with a file name is written first. Substitutions, so that no key and no network is needed:

- the server: OPENAI_BASE_URL and every `http://localhost:PORT/v1` is a chat server on 127.0.0.1 with a scripted reviewer;
- the embedded model `local:smollm2-135m` is `planted:deterministic`, which answers in the same typed form;
- `NOT_RUN` lists the commands that install or test this repository itself, with the reason.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli._program import ROOT, environment
from tests.loopback.chat_server import Asked, ChatServer, Says
from tests.loopback.reviewer import LEAKY, Reviewer
from voirdire.importers.cases import short_cases

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
RUN = ("console", "bash", "sh")

NOT_RUN: Mapping[str, str] = {
    "make demo": "installs packages from a registry; `.ci/run` and the tests of the demo cover what it runs",
    "make test": "is what runs this test",
    "make slow": "measures for an hour",
    "make bench": "installs peer programs",
}

LINES = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the line of the page on which it starts."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One command of a block, and the output shown below it (None: none is shown)."""

    text: str
    shown: tuple[str, ...] | None
    line: int


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(match["language"], match["text"], text[: match.start()].count("\n") + 1)
        for match in re.finditer(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a block: each `$ ` line with its output, or all of a shell block at once."""
    if block.language != "console":
        yield Command(_without_what_is_not_run(block.text), None, block.line)
        return
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield Command(command, tuple(shown), block.line)


def _without_what_is_not_run(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.partition("#")[0].strip() not in NOT_RUN)


def with_commands() -> list[Path]:
    """Return the pages that hold a command to run."""
    return [page for page in PAGES if any(_runs(block) for block in blocks(page))]


def _runs(block: Block) -> bool:
    return block.language in RUN and any(command.text.strip() for command in commands(block))


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# --- the server ---------------------------------------------------------------------------------------------


class Anyone:
    """Answers the outcome study as a reviewer that leaks, pairs with the first slot, and all else with a word."""

    def __init__(self) -> None:
        self.reviewer = Reviewer(short_cases(), LEAKY)

    def __call__(self, asked: Asked) -> Says:
        """Return what is said to one request."""
        if (
            "First answer:" in asked.text
            or "May your choice" in asked.text
            or "Must your choice" in asked.text
        ):
            return Says("first" if "First answer:" in asked.text else "yes")
        if "PROCESS" in asked.text or "decision" in asked.text:
            return self.reviewer(asked)
        return Says("yes")


# --- running ------------------------------------------------------------------------------------------------


def write_files(page: Path, folder: Path, url: str) -> None:
    """Write the files that a page shows, and give it the repository's examples."""
    (folder / "examples").symlink_to(ROOT / "examples")
    for block in blocks(page):
        named = re.match(r"# ([\w-]+\.(?:toml|py))\n", block.text)
        if block.language in ("toml", "python") and named:
            (folder / named[1]).write_text(substituted(block.text, url), encoding="utf-8")


def substituted(text: str, url: str) -> str:
    """Put the chat server for a local one, and a planted judge for the embedded model."""
    text = re.sub(r"http://localhost:\d+/v1", url, text)
    return text.replace("local:smollm2-135m", "planted:deterministic")


def ran(command: Command, folder: Path, url: str) -> str:
    """Run a command and return what it printed; fail where its exit code is not 0."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", substituted(command.text, url)],
        cwd=folder,
        env={**environment(url), "PATH": path},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, f"$ {command.text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check_shown(command: Command, printed: str) -> None:
    """Fail where the output shown is not what was printed; `…` stands for any lines."""
    pieces = [piece.strip("\n") for piece in "\n".join(command.shown or ()).rstrip().split(f"\n{LINES}")]
    if pieces[0].startswith(LINES):
        pieces[:1] = ["", pieces[0].removeprefix(LINES).strip("\n")]
    pattern = r".*?".join(re.escape(piece) + (r"\n" if piece else "") for piece in pieces)
    assert re.fullmatch(pattern, printed, re.DOTALL), f"$ {command.text}\n{printed}"


@pytest.mark.parametrize("page", with_commands(), ids=name_of)
def test_what_a_page_tells_you_to_type_works_and_shows_what_it_says(page: Path, tmp_path: Path) -> None:
    with ChatServer(Anyone()) as server:
        write_files(page, tmp_path, server.url)
        for block in filter(_runs, blocks(page)):
            for command in commands(block):
                printed = ran(command, tmp_path, server.url)
                if command.shown:
                    check_shown(command, printed)


def test_the_pages_hold_commands_at_all() -> None:
    assert {"README.md", *(f"docs/how-to/{name}.md" for name in HOW_TO)} <= set(map(name_of, with_commands()))


HOW_TO = ("any-rule", "check-in-ci", "examine-your-judge", "mine-tasks", "outcome-cases")


def test_the_rule_file_that_a_page_quotes_is_the_example_file() -> None:
    example = (ROOT / "examples/rules/seniority.toml").read_text("utf-8")
    quoted = [block.text for block in blocks(ROOT / "docs/how-to/any-rule.md") if block.language == "toml"]
    assert len(quoted) == 2
    assert all(text in example for text in quoted)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (("a", "b"), "a\nb\n", True),
        (("a", LINES), "a\nb\nc\n", True),
        ((LINES, "c"), "a\nb\nc\n", True),
        (("a", LINES, "c"), "a\nb\nc\n", True),
        ((LINES, "b", LINES), "a\nb\nc\n", True),
        (("a", LINES, "d"), "a\nb\nc\n", False),
        (("a",), "a\nb\n", False),
        ((LINES, "b 1"), "a\nb 2\n", False),
    ],
)
def test_shown_output_is_compared(shown: tuple[str, ...], printed: str, same: bool) -> None:
    try:
        check_shown(Command("x", shown, 1), printed)
    except AssertionError:
        assert not same
    else:
        assert same
