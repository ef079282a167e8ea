"""The rules of the house, over everything that is found: names, sentences, floors, docs, tracked files."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import docs
from voirdire import plugins
from voirdire.cli._main import COLUMNS, built, spoken
from voirdire.model import Probe

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "voirdire"

THINGS = [(room, name) for room in plugins.ROOMS for name in plugins.names(room)]


def tracked() -> list[Path]:
    """Return the files that git would keep, those not yet added included; without git, all but hidden ones."""
    if not (ROOT / ".git").exists():
        return [path for path in ROOT.rglob("*") if path.is_file() and not _hidden(path)]
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for line in listed.stdout.splitlines() if (path := ROOT / line).is_file()]


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.relative_to(ROOT).parts)


# --- things and their sentences ---------------------------------------------------------------------


@pytest.mark.parametrize(("room", "name"), THINGS)
def test_everything_says_what_it_is_in_one_line(room: str, name: str) -> None:
    tree = ast.parse((SOURCE / room / f"{name}.py").read_text(encoding="utf-8"))
    first, _, rest = (ast.get_docstring(tree) or "").partition("\n")
    assert first.endswith((".", "?")), f"the first line of {room}/{name}.py is not a sentence: {first!r}"
    assert not rest or rest.startswith("\n"), f"the first sentence of {room}/{name}.py runs over its line"
    assert plugins.summary(room, name) == first.rstrip(".")


@pytest.mark.parametrize("name", plugins.names("probes"))
def test_a_probe_is_named_after_its_file_and_complete(name: str) -> None:
    probe = plugins.load("probes", name).PROBE
    assert isinstance(probe, Probe)
    assert probe.name == name
    assert probe.references
    assert probe.rule != probe.rule_negated
    assert probe.line.reason
    assert probe.control.line.reason


@pytest.mark.parametrize(
    ("room", "needed"),
    [
        ("audits", "audit"),
        ("judges", "open_backend"),
        ("readers", "read"),
        ("importers", "sniff"),
        ("cli", "command"),
    ],
)
def test_every_file_of_a_room_has_its_door(room: str, needed: str) -> None:
    without = [
        name for name in plugins.names(room) if not callable(getattr(plugins.load(room, name), needed, None))
    ]
    assert without == []


def test_no_module_is_called_utils() -> None:
    names = {path.stem.strip("_") for path in SOURCE.rglob("*.py")}
    assert not names & {"utils", "util", "helpers", "helper", "misc", "common"}


# --- commands ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", plugins.names("cli"))
def test_a_command_is_in_the_docs_with_help_for_everything(name: str) -> None:
    text = docs.help_text(name)
    assert f"## voirdire {spoken(name)}\n\n```text\n{text}\n```" in (
        ROOT / docs.REFERENCE / "cli.md"
    ).read_text("utf-8")
    assert "--json" in text
    assert max(len(line) for line in text.splitlines()) <= COLUMNS


@pytest.mark.parametrize("name", plugins.names("cli"))
def test_every_option_of_a_command_has_help(name: str) -> None:
    without = [parameter.name for parameter in built(name).params if not getattr(parameter, "help", None)]
    assert without == []


def test_the_generated_files_are_what_the_code_says() -> None:
    assert list(docs.stale()) == [], "run `make docs`"


# --- floors -----------------------------------------------------------------------------------------


def test_the_floors_hold() -> None:
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_front_door_is_not_used_inside() -> None:
    found = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "__init__.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module == "voirdire"
        and {alias.name for alias in node.names} - _rooms_and_modules()
    ]
    assert found == []


def _rooms_and_modules() -> set[str]:
    return {path.stem for path in SOURCE.glob("*.py")} | {
        path.name for path in SOURCE.iterdir() if path.is_dir()
    }


# --- packages ---------------------------------------------------------------------------------------

CORE_PACKAGES = 30


def needed_by_core() -> set[str]:
    """Return every package that `pip install voirdire` can bring, on any system."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.search(r"\ndependencies = \[(.*?)\]", project, re.DOTALL)
    assert declared is not None
    found = {match[1].lower() for match in re.finditer(r'"([A-Za-z0-9_.-]+)', declared[1])}
    needs = _who_needs_whom((ROOT / "requirements" / "core.txt").read_text(encoding="utf-8"))
    while more := {name for name, by in needs.items() if by & found} - found:
        found |= more
    assert found <= needs.keys()
    return found


def _who_needs_whom(pins: str) -> dict[str, set[str]]:
    """Return for each pinned package those that need it, from the `# via` notes."""
    needs: dict[str, set[str]] = {}
    name = ""
    for line in pins.splitlines():
        if pinned := re.match(r"([A-Za-z0-9_.-]+)==", line):
            name = pinned[1].lower()
            needs.setdefault(name, set())
        elif by := re.match(r"\s+#(?: via)?\s+([A-Za-z0-9_.-]+)$", line):
            needs[name].add(by[1].lower())
    return needs


def test_the_core_installs_with_few_packages() -> None:
    found = needed_by_core()
    assert {"aiohttp", "yarl", "polars", "pydantic-core"} <= found
    assert len(found) < CORE_PACKAGES, sorted(found)


@pytest.mark.parametrize("name", ["core", "demo", "dev", "bench"])
def test_every_pin_has_a_hash(name: str) -> None:
    blocks = re.split(
        r"\n(?=[A-Za-z0-9])", (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    )
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_smaller_sets_of_pins_are_part_of_larger_ones() -> None:
    pins = {
        name: set(
            re.findall(r"^[^ \n#]+==\S+", (ROOT / "requirements" / f"{name}.txt").read_text("utf-8"), re.M)
        )
        for name in ("core", "demo", "dev")
    }
    assert pins["core"] <= pins["demo"] <= pins["dev"]


# --- tracked files ----------------------------------------------------------------------------------

TEXT = {
    ".py",
    ".md",
    ".toml",
    ".in",
    ".txt",
    ".cff",
    ".yml",
    ".yaml",
    ".cfg",
    ".html",
    ".css",
    ".js",
    ".j2",
    "",
}

OF_ONE_MACHINE = re.compile(r"/root/|/Users/[a-z]|index-url|extra-index|:///simple")


def test_no_tracked_file_names_a_machine_or_a_registry() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if path.suffix in TEXT and path != Path(__file__) and "data" not in path.relative_to(ROOT).parts
        for match in OF_ONE_MACHINE.finditer(path.read_text(encoding="utf-8"))
        if match[0] != "index-url" or path.name != "Makefile"
    ]
    assert found == []


def test_nothing_is_left_to_do_in_the_source() -> None:
    marks = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    found = [
        str(path)
        for path in tracked()
        if path.suffix == ".py" and path != Path(__file__) and marks.search(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_every_test_folder_is_a_package() -> None:
    folders = {path.parent for path in (ROOT / "tests").rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_every_change_fragment_is_named_by_its_kind() -> None:
    fragments = [path.name for path in (ROOT / "changes").glob("*.md") if path.name != "README.md"]
    assert [
        name for name in fragments if not re.fullmatch(r"[a-z0-9-]+\.(added|changed|fixed|removed)\.md", name)
    ] == []
