"""`voirdire list`: every room, as a table and as JSON."""

import json

import pytest

from voirdire import plugins
from voirdire.cli._main import COLUMNS, FINE, USAGE, run
from voirdire.cli.list import Room


def test_the_table_names_everything_with_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list"]) == FINE
    shown = capsys.readouterr().out
    for room in Room:
        assert f"{room}\n" in shown
        for name in plugins.names(room):
            assert f"\n  {name} " in shown
    assert max(len(line) for line in shown.splitlines()) <= COLUMNS


def test_one_room_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "probes", "--json"]) == FINE
    shown = json.loads(capsys.readouterr().out)
    assert list(shown) == ["probes"]
    assert [row["name"] for row in shown["probes"]] == plugins.names("probes")
    assert all(row["summary"] for row in shown["probes"])


def test_an_unknown_room_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["list", "attics"]) == USAGE
    assert "attics" in capsys.readouterr().err
