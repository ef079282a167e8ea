"""What pydantic found wrong with a file, said in our words: which key, and what it should be."""

from collections.abc import Sequence

from pydantic import ValidationError

from voirdire.edits.spans import quoted
from voirdire.errors import DataError

FAULTS_SHOWN = 3


def explained(error: ValidationError, *, where: str, hint: str) -> DataError:
    """Return the error to raise: every fault with its key, the first three of them."""
    faults = [
        _fault(one["loc"], one["type"], one["msg"], one["input"]) for one in error.errors(include_url=False)
    ]
    more = f"; and {len(faults) - FAULTS_SHOWN} more" if len(faults) > FAULTS_SHOWN else ""
    return DataError(f"{where}: {'; '.join(faults[:FAULTS_SHOWN])}{more}", hint=hint)


def _fault(loc: Sequence[int | str], kind: str, message: str, given: object) -> str:
    key = "/".join(str(part) for part in loc) or "the file"
    if kind == "extra_forbidden":
        return f"'{key}' is not a key that is known here"
    if kind == "missing":
        return f"'{key}' is missing"
    if kind == "value_error":
        return f"'{key}': {message.removeprefix('Value error, ')}"
    shown = quoted(given) if isinstance(given, str) else type(given).__name__
    return f"'{key}': {message[:1].lower()}{message[1:]}, not {shown}"
