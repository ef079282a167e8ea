"""TOML files at the door, as plain data."""

import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from voirdire.errors import DataError, UsageError


def read_toml(file: Path | Traversable) -> dict[str, Any]:
    """Return a TOML file's content. Raises UsageError where there is none, DataError where it is not TOML."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UsageError(f"there is no file '{file}'", hint="check the path") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: not UTF-8: {error}", hint="save the file as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DataError(
            f"{file}: not TOML: {error}", hint="`voirdire init` writes a commented example"
        ) from None
