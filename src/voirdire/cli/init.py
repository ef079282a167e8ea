"""Write commented example files: a judge, items, a case and a rule."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from voirdire.cli._main import harmless
from voirdire.cli._options import AsJson
from voirdire.errors import UsageError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

NEXT = """\
next: edit judge.toml, then
  voirdire doctor judge.toml
  voirdire probe judge.toml items.jsonl --dry-run"""


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to write; made where there is none.")
    ] = Path(),
    schemas: Annotated[
        bool,
        typer.Option("--schemas", help="Also write the JSON schemas that editors check these files with."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write commented example files to start from: judge.toml, items.jsonl, case.toml and rule.toml.

    Each works as it is. A file that is there already is never overwritten: it is kept and named.
    """
    wanted = _examples() | (_schemas() if schemas else {})
    written = [
        name for name, source in wanted.items() if _write_new(folder / name, _text(source, schemas=schemas))
    ]
    kept = [name for name in wanted if name not in written]
    if not written:
        raise UsageError(
            f"every file is there already in '{folder}': {', '.join(kept)}",
            hint="name another folder, or remove the file that you want written anew",
        )
    if as_json:
        print(json.dumps({"folder": str(folder), "written": written, "kept": kept}))
    else:
        print(harmless(_told(folder, written, kept)))


def _examples() -> dict[str, Traversable]:
    return {entry.name: entry for entry in _sorted(files("voirdire").joinpath("data", "init"))}


def _schemas() -> dict[str, Traversable]:
    return {
        f"schemas/{entry.name}": entry for entry in _sorted(files("voirdire").joinpath("data", "schemas"))
    }


def _sorted(folder: Traversable) -> list[Traversable]:
    return sorted((entry for entry in folder.iterdir() if entry.is_file()), key=lambda entry: entry.name)


def _text(source: Traversable, *, schemas: bool) -> bytes:
    """Return a file's bytes, without the line that names its schema where no schemas are written."""
    text = source.read_bytes()
    head, _, rest = text.partition(b"\n")
    return rest if head.startswith(b"#:schema ") and not schemas else text


def _write_new(path: Path, content: bytes) -> bool:
    """Write the file where there is none; False where there is one, which is left alone."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        if path.parent.is_dir():
            return False
        raise UsageError(f"'{path.parent}' is a file, not a folder", hint="name another folder") from None
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {(error.strerror or str(error)).lower()}", hint="name another folder"
        ) from None
    return True


def _told(folder: Path, written: list[str], kept: list[str]) -> str:
    lines = [f"wrote {folder / name}" for name in written]
    lines += [f"kept {folder / name}, which is there; remove it to get the example" for name in kept]
    return "\n".join([*lines, NEXT])
