"""Writes the pages and files that follow from the code: `python -m tools.docs`, or `--check` to compare only.

docs/reference/cli.md     the help text of every command
docs/reference/plugins.md one table per room, from the first lines of the files
docs/reference/errors.md  every error raised on purpose
src/voirdire/data/schemas JSON schemas of the files that people write
"""

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from voirdire import errors, plugins
from voirdire.cli._main import COLUMNS, built, overview, spoken
from voirdire.errors import VoirdireError

ROOT = Path(__file__).parents[1]
REFERENCE = Path("docs/reference")
SCHEMAS = Path("src/voirdire/data/schemas")

NOTE = "<!-- Written by `make docs` from the code; do not edit. -->\n"

ROOMS = {
    "probes": "What is tried on a judge: `voirdire probe JUDGE --probe NAME`.",
    "audits": "What is read from verdicts that exist already; nobody is asked.",
    "judges": "How a judge is reached: the word before the colon of an address, or `backend` in a judge file.",
    "readers": "How an answer becomes a value or a reason why there is none: `[reader]` in a judge file.",
    "importers": "Which files are understood.",
    "studies": "Recipes: which items, probes and audits, and the page that shows them.",
    "remedies": "Repairs of a judge.",
}

SCHEMA_SOURCES = {
    "attempts": "voirdire.mining.attempts:json_schema",
    "baseline": "voirdire.report.baseline_file:json_schema",
    "case": "voirdire.importers._case_record:schema",
    "check": "voirdire.studies._check_schema:json_schema",
    "checklists": "voirdire.mining.checklists:json_schema",
    "findings": "voirdire.report.findings_file:json_schema",
    "items": "voirdire.importers.items:json_schema",
    "judge": "voirdire.judges._file_schema:json_schema",
    "outcomes": "voirdire.mining.outcomes:json_schema",
    "rule": "voirdire.importers._rule_record:schema",
    "tasks": "voirdire.mining.tasks:json_schema",
}
"""Published schemas and the functions that make them."""


def pages() -> dict[Path, str]:
    """Return every generated file by its path from the root, as it should be."""
    made = {
        REFERENCE / "cli.md": cli_page(),
        REFERENCE / "plugins.md": plugins_page(),
        REFERENCE / "errors.md": errors_page(),
    }
    return {**made, **{SCHEMAS / f"{name}.schema.json": schema_text(name) for name in SCHEMA_SOURCES}}


def cli_page() -> str:
    """Return the page of all help texts."""
    sections = [
        f"## voirdire {spoken(name)}\n\n```text\n{help_text(name)}\n```\n" for name in plugins.names("cli")
    ]
    return "\n".join(
        [
            NOTE,
            "# The command line\n",
            f"```text\n{overview()}\n```\n",
            "Exit codes: 0 fine; 1 a gate failed; 2 asked in a way that cannot be done; 3 incomplete or stopped, "
            "what came in is kept; 70 a bug in voirdire.\n",
            *sections,
        ]
    )


def help_text(name: str) -> str:
    """Return what `voirdire NAME --help` prints."""
    command = built(name)
    asked = command.make_context(
        f"voirdire {spoken(name)}", [], resilient_parsing=True, terminal_width=COLUMNS - 2
    )
    with asked as context:
        lines = command.get_help(context).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip()


def plugins_page() -> str:
    """Return the page with one table per room that holds something."""
    rooms = [(room, said, plugins.names(room)) for room, said in ROOMS.items()]
    tables = [_table(room, said, names) for room, said, names in rooms if names]
    return "\n".join([NOTE, "# What there is\n", *tables])


def errors_page() -> str:
    """Return the page of all errors with the exit code each gives."""
    rows = [
        f"| `{kind.__name__}` | {kind.exit_code} | {_first_line(kind)} |"
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, VoirdireError)
    ]
    said = "Every error raised on purpose says what is wrong and where, and in its hint what to do next.\n"
    return "\n".join(
        [NOTE, "# Errors\n", said, "| error | exit code | meaning |", "| --- | --- | --- |", *rows, ""]
    )


def schema_text(name: str) -> str:
    """Return one published JSON schema as its file holds it."""
    module, _, function = SCHEMA_SOURCES[name].partition(":")
    make: Callable[[], object] = getattr(import_module(module), function)
    return json.dumps(make(), indent=2) + "\n"


def stale() -> Iterator[Path]:
    """Yield the generated files that are not what the code says."""
    for path, text in pages().items():
        whole = ROOT / path
        if not whole.exists() or whole.read_text(encoding="utf-8") != text:
            yield path


def main(arguments: list[str]) -> int:
    """Write the files, or with `--check` name those that differ and return 1."""
    os.environ.pop("VOIRDIRE_LEDGER", None)
    differing = list(stale())
    if "--check" in arguments:
        for path in differing:
            print(f"{path} is not what the code says; run `make docs`", file=sys.stderr)
        return 1 if differing else 0
    made = pages()
    for path in differing:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(made[path], encoding="utf-8")
        print(f"wrote {path}")
    return 0


def _table(room: str, said: str, names: list[str]) -> str:
    rows = [f"| `{name}` | {_cell(plugins.summary(room, name))} |" for name in names]
    return "\n".join([f"## {room}\n", f"{said}\n", "| name | what it is |", "| --- | --- |", *rows, ""])


def _first_line(kind: type) -> str:
    return _cell((inspect.getdoc(kind) or "").partition("\n")[0])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
