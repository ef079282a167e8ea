"""Plugins: what stands in a room, ours and other packages', found without importing it."""

import subprocess
import sys
from pathlib import Path

import pytest

from voirdire import plugins
from voirdire.errors import UsageError

ELSEWHERE = """
import sys
sys.path.insert(0, sys.argv[1])
from voirdire import plugins
print(plugins.names("probes"), plugins.load("probes", "shiny").PROBE, plugins.summary("probes", "shiny"))
"""


def test_names_are_sorted_files_without_underscore() -> None:
    names = plugins.names("importers")
    assert names == sorted(names)
    assert "items" in names
    assert not [name for name in names if name.startswith("_")]


def test_a_room_that_is_not_built_is_empty() -> None:
    assert plugins.names("attics") == []


def test_loading_gives_the_module() -> None:
    assert plugins.load("importers", "items").SCHEMA == "voirdire.items/1"


@pytest.mark.parametrize("name", ["absent", "_prompted", "__init__", "../errors", ""])
def test_loading_what_is_not_there_names_what_is(name: str) -> None:
    with pytest.raises(UsageError, match="there is no judge") as caught:
        plugins.load("judges", name)
    assert caught.value.hint == f"choose one of: {', '.join(plugins.names('judges'))}"


def test_a_summary_is_read_without_importing() -> None:
    program = (
        "import sys; from voirdire import plugins; print(plugins.summary('importers', 'items'));"
        "assert 'voirdire.importers' not in sys.modules and 'importlib.metadata' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (
        done.stdout
        == "Item files: JSON lines of things to be judged, after a header line with the schema version\n"
    )


def package(folder: Path, source: str, entries: str) -> None:
    """Install a package of one module, as pip would leave it."""
    (folder / "other_probes.py").write_text(source)
    info = folder / "other_probes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-probes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[voirdire.probes]\n{entries}\n")


def printed(program: str, folder: Path) -> str:
    command = [sys.executable, "-c", program, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_another_package_adds_through_an_entry_point(tmp_path: Path) -> None:
    package(
        tmp_path, '"""Shiny: do emblems raise the score?"""\nPROBE = "the probe"\n', "shiny = other_probes"
    )
    names = sorted([*plugins.names("probes"), "shiny"])
    assert printed(ELSEWHERE, tmp_path) == f"{names} the probe Shiny: do emblems raise the score?\n"


def test_another_package_cannot_take_the_place_of_ours(tmp_path: Path) -> None:
    package(tmp_path, 'PROBE = "another"\n', "outcome = other_probes")
    program = ELSEWHERE.replace("shiny", "outcome").replace(".PROBE", ".PROBE.name")
    assert printed(program, tmp_path).startswith(f"{plugins.names('probes')} outcome Outcome: ")


def test_a_broken_package_is_told_and_breaks_no_list(tmp_path: Path) -> None:
    package(tmp_path, "import not_installed_anywhere\n", "shiny = other_probes")
    program = ELSEWHERE.replace('plugins.load("probes", "shiny").PROBE, ', "")
    said = "the probe 'shiny' of the package other-probes cannot be loaded: No module named 'not_installed_anywhere'"
    assert printed(program, tmp_path).strip().endswith(said)
