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


def test_another_package_adds_through_an_entry_point(tmp_path: Path) -> None:
    (tmp_path / "other_probes.py").write_text(
        '"""Shiny: do emblems raise the score?"""\nPROBE = "the probe"\n'
    )
    info = tmp_path / "other_probes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-probes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[voirdire.probes]\nshiny = other_probes\n")
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    names = sorted([*plugins.names("probes"), "shiny"])
    assert done.stdout == f"{names} the probe Shiny: do emblems raise the score?\n"
