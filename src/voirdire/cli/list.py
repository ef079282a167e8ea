"""List what there is: probes, judges, readers, importers, audits, studies."""

from __future__ import annotations

import json
import textwrap
from enum import StrEnum
from typing import Annotated

import typer

from voirdire import plugins
from voirdire.cli._main import COLUMNS
from voirdire.cli._options import AsJson


class Room(StrEnum):
    """What can be listed."""

    PROBES = "probes"
    JUDGES = "judges"
    READERS = "readers"
    IMPORTERS = "importers"
    AUDITS = "audits"
    STUDIES = "studies"


def command(
    rooms: Annotated[
        list[Room] | None, typer.Argument(metavar="ROOM", help="Which rooms to list; all without.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what there is, each with one sentence: ours and what other packages add.

    Rooms are probes, judges, readers, importers, audits and studies. A name listed here is the name to use in an
    option or a judge file.
    """
    found = {room.value: _room(room.value) for room in rooms or list(Room)}
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print("\n\n".join(_table(room, rows) for room, rows in found.items()))


def _room(room: str) -> list[dict[str, str]]:
    return [{"name": name, "summary": plugins.summary(room, name)} for name in plugins.names(room)]


def _table(room: str, rows: list[dict[str, str]]) -> str:
    width = max((len(row["name"]) for row in rows), default=0)
    lines = [_row(row["name"], row["summary"], width) for row in rows] or ["  none"]
    return "\n".join([room, *lines])


def _row(name: str, summary: str, width: int) -> str:
    lead = f"  {name:<{width}}  "
    return "\n".join(textwrap.wrap(summary, COLUMNS, initial_indent=lead, subsequent_indent=" " * len(lead)))
