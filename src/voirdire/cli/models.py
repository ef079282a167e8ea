"""List the models of local judges, or get one into the cache folder."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from voirdire.cli._cache import models_folder
from voirdire.cli._main import FINE
from voirdire.cli._options import AsJson
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from voirdire.judges._models import Model


class Action(StrEnum):
    """What is done with models."""

    LIST = "list"
    GET = "get"


def command(
    action: Annotated[Action, typer.Argument(help="list: what there is. get: bring one into the cache.")],
    model: Annotated[
        str | None,
        typer.Argument(metavar="[NAME | URL]", help="For get: a name in the list, or an https address."),
    ] = None,
    sha256: Annotated[
        str | None, typer.Option("--sha256", metavar="HEX", help="For a URL: the SHA-256 it must have.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="For a URL: the name to keep it under.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List the models that local judges can use, or get one.

    A model is fetched once, over a network, and is then used from the cache folder without any: the user's cache
    folder, or VOIRDIRE_CACHE. Nothing is kept that has not the right SHA-256. A judge names it as local:NAME.
    """
    folder = models_folder()
    if action is Action.LIST:
        if model or sha256 or name:
            raise UsageError(
                "`voirdire models list` takes no model", hint="to fetch one: voirdire models get NAME"
            )
        return _list(folder, as_json=as_json)
    return _get(_wanted(model, sha256, name, folder), folder, as_json=as_json)


def _wanted(text: str | None, sha256: str | None, name: str | None, folder: Path) -> Model:
    """Return the model to get, from the table or as a URL, hash and name describe it."""
    from voirdire.judges import _models

    if not text:
        raise UsageError("which model?", hint="`voirdire models list` shows the names")
    if "://" not in text:
        if sha256 or name:
            raise UsageError(
                "--sha256 and --name belong to a URL; a name in the list has its hash",
                hint=f"voirdire models get {text}",
            )
        return _models.find(text, folder)
    if not sha256 or not name:
        raise UsageError(
            "a URL needs the SHA-256 that the file must have, and a name to keep it under",
            hint="voirdire models get URL --sha256 HEX --name NAME",
        )
    return _models.own_model(name, text, sha256)


def _list(folder: Path, *, as_json: bool) -> int:
    from voirdire.judges import _models

    rows = [_row(model, folder) for model in _models.table(folder).values()]
    if as_json:
        print(json.dumps({"folder": str(folder), "models": rows}, indent=2))
        return FINE
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        size = "size not known" if row["size"] is None else f"{row['size'] / 1e6:,.0f} MB"
        state = "in the cache" if row["there"] else "not in the cache"
        print(f"{row['name']:<{width}}  {size}, {row['licence'] or 'licence not stated'}, {state}")
        if row["about"]:
            print(f"{'':<{width}}  {row['about']}")
    print(f"\nmodels folder: {folder}")
    return FINE


def _get(model: Model, folder: Path, *, as_json: bool) -> int:
    from voirdire.judges import _models

    was_there = folder.is_dir() and _models.is_there(model, folder)
    if was_there:
        path = _models.path_of(model, folder)
    else:
        print(f"getting {model.name}{_size_text(model)} from {model.source}", file=sys.stderr, flush=True)
        path = _models.get(model, folder, _shown_on(sys.stderr))
    _models.remember(model, folder)
    if as_json:
        print(json.dumps({**_row(model, folder), "path": str(path), "fetched": not was_there}, indent=2))
    else:
        print(f"{model.name} {'is in the cache' if was_there else 'verified and kept'}: {path}")
    return FINE


def _size_text(model: Model) -> str:
    return "" if model.size is None else f" ({model.size / 1e6:,.0f} MB)"


def _row(model: Model, folder: Path) -> dict[str, Any]:
    from voirdire.judges import _models

    return {
        "name": model.name,
        "address": f"local:{model.name}",
        "size": model.size,
        "licence": model.licence,
        "sha256": model.sha256,
        "source": str(model.source),
        "about": model.about,
        "there": folder.is_dir() and _models.is_there(model, folder),
    }


def _shown_on(stream: Any) -> Callable[[int, int | None], None]:
    """Return a Progress: one line rewritten on a terminal, a line at each quarter elsewhere."""
    live = stream.isatty()
    said = -1

    def show(have: int, total: int | None) -> None:
        nonlocal said
        step = (have * (100 if live else 4)) // total if total else have // (1 << (20 if live else 28))
        if step == said or (not live and step == 0):
            return
        said = step
        of = f" of {total / 1e6:,.0f}" if total else ""
        text = f"{have / 1e6:,.0f}{of} MB"
        ended = live and total is not None and have >= total
        stream.write(f"\r{text}{chr(10) if ended else ''}" if live else f"{text}\n")
        stream.flush()

    return show
