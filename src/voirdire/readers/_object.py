"""Text that is one JSON object and nothing else."""

import json

from voirdire.readers._reasons import Unreadable, quoted, unread


def one_object(raw: str, text: str) -> dict[str, object]:
    """Return the object that `text`, cut from the answer `raw`, holds alone.

    Unreadable for prose around it, a second object, a broken or cut-off one, a key given twice, NaN or Infinity.
    """
    stripped = text.strip()
    if not stripped.startswith("{"):
        raise Unreadable(unread(raw, "not one JSON object alone"))
    try:
        data, end = _DECODER.raw_decode(stripped)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"broken JSON: {_what(error)}") from None
    if end != len(stripped):
        raise Unreadable(f"not one JSON object alone: it is followed by {quoted(stripped[end:].lstrip())}")
    assert isinstance(data, dict)  # it starts with a brace
    return data


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise Unreadable("a key given twice")
    return table


def _no_constant(name: str) -> object:
    raise Unreadable(f"not a finite number: {name}")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def _what(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "too deep" if isinstance(error, RecursionError) else "a number too long to be one"
