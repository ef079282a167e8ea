"""Files at the door as bytes, packed by gzip or not; a packed file that breaks off gives what it holds."""

import zlib
from pathlib import Path

from voirdire.errors import DataError, UsageError

GZIP = b"\x1f\x8b"
LARGEST = 1 << 30
"""Bytes of an unpacked file: more than any log we can show, less than a packed bomb would take."""

_CHUNK = 1 << 20


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, unpacked.

    Raises UsageError where there is none, DataError where it cannot be unpacked.
    """
    try:
        return unpacked(path.read_bytes(), where=str(path))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise UsageError(f"there is no file '{path}'", hint="check the path") from None
    except PermissionError:
        raise UsageError(f"'{path}' may not be read", hint="check its permissions") from None


def unpacked(data: bytes, *, where: str) -> bytes:
    """Return gzip data unpacked, other data as it is. What comes before a break in the file is kept."""
    if not data.startswith(GZIP):
        return data
    parts: list[bytes] = []
    size = 0
    while data.startswith(GZIP):
        member = zlib.decompressobj(wbits=31)
        try:
            while data and not member.eof:
                part = member.decompress(data, _CHUNK)
                data = member.unconsumed_tail if not member.eof else member.unused_data
                size += len(part)
                parts.append(part)
                if size > LARGEST:
                    raise DataError(f"{where}: it unpacks to more than {LARGEST >> 20} MB", hint="cut it")
                if not part and not data:
                    break
        except zlib.error as error:
            raise DataError(f"{where}: the gzip file is broken: {error}", hint="copy it again") from None
    return b"".join(parts)
