"""Messages over a stream: a kind, a number that a reply must repeat, and a body."""

import os
import struct
from typing import NamedTuple

_HEADER = struct.Struct("<cII")


class Ends(NamedTuple):
    """The descriptors that read from the other side and write to it; they may be one."""

    reads: int
    writes: int


class Broken(Exception):
    """The other side sent what is no message, or too long a one."""


class Ended(Exception):
    """The other side is gone."""


def send(fd: int, kind: bytes, number: int, body: bytes) -> None:
    """Write one message whole. Raises Ended where nobody reads any more."""
    data = _HEADER.pack(kind, number, len(body)) + body
    try:
        sent = os.write(fd, data)
        while sent < len(data):
            sent += os.write(fd, data[sent : sent + 1_000_000])
    except (BrokenPipeError, ConnectionResetError):
        raise Ended from None


def receive(fd: int, *, most: int) -> tuple[bytes, int, bytes]:
    """Read one message of at most `most` bytes. Raises Ended at the end, Broken where it is longer."""
    kind, number, length = _HEADER.unpack(_exactly(fd, _HEADER.size))
    if length > most:
        raise Broken(f"a message of {length:,} bytes")
    return kind, number, _exactly(fd, length)


def _exactly(fd: int, length: int) -> bytes:
    data = _some(fd, length) if length else b""
    if len(data) == length:
        return data
    parts = [data]
    missing = length - len(data)
    while missing:
        part = _some(fd, missing)
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _some(fd: int, length: int) -> bytes:
    try:
        data = os.read(fd, min(length, 1_000_000))
    except ConnectionResetError:
        raise Ended from None
    if not data:
        raise Ended
    return data
