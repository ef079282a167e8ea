"""Re-encode the weights of a GGUF file, byte for byte the same on every machine.

llama.cpp multiplies matrices of type Q4_1 value by value on most processors, and those of Q8_0 by a kernel that takes
half the time. A Q4_1 weight is one of sixteen steps of its block of 32; as Q8_0 it moves by at most 1/254 of the
block's largest weight. Format: the GGUF specification, version 3, of the ggml project; blocks as in `ggml-common.h`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from voirdire.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Q4_1, Q8_0 = 3, 8
"""The numbers of the two encodings in a tensor's entry."""

_WEIGHTS = 32
_BYTES = {Q4_1: 20, Q8_0: 34}
"""Bytes of a block: scale and least weight (two bytes each) and 32 half-bytes; a scale and 32 bytes."""

_PART = 1 << 16
"""Blocks converted together."""

_FIXED = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TEXT, _ARRAY, _UINT32 = 8, 9, 4


@dataclass(frozen=True)
class _Tensor:
    """An entry of the table: `entry` is its name and shape as they stand in the file."""

    entry: bytes
    weights: int
    encoding: int
    offset: int


def to_q8(source: Path, target: Path) -> None:
    """Write `source` as `target` with every Q4_1 tensor as Q8_0 and everything else as it was.

    DataError where the file is not GGUF of version 3, or is cut off.
    """
    with source.open("rb") as file, target.open("wb") as out:
        head, tensors, alignment = _opening(file, source)
        begin = _aligned(file.tell(), alignment)
        ends = [*sorted(tensor.offset for tensor in tensors), source.stat().st_size - begin]
        if ends != sorted(ends):
            raise _cut_off(source)
        lengths = {here: after - here for here, after in pairwise(ends)}
        written = [_aligned(_length(tensor, lengths), alignment) for tensor in tensors]
        out.write(head)
        for index, tensor in enumerate(tensors):
            encoding = Q8_0 if tensor.encoding == Q4_1 else tensor.encoding
            out.write(tensor.entry + struct.pack("<IQ", encoding, sum(written[:index])))
        out.write(bytes(_aligned(out.tell(), alignment) - out.tell()))
        for tensor in tensors:
            file.seek(begin + tensor.offset)
            _copy(file, out, tensor, lengths[tensor.offset])
            out.write(bytes(_aligned(out.tell(), alignment) - out.tell()))


def _opening(file: BinaryIO, path: Path) -> tuple[bytes, list[_Tensor], int]:
    """Return what stands before the tensors' entries, the entries, and the alignment of the data in bytes."""
    try:
        magic, version, tensors, pairs = struct.unpack("<4sIQQ", file.read(24))
        if magic != b"GGUF" or version != 3:
            raise DataError(f"{path.name} is not a GGUF file of version 3", hint="get the model again")
        alignment = 32
        for _ in range(pairs):
            key, (kind,) = _text(file), struct.unpack("<I", file.read(4))
            value = _value(file, kind)
            if key == b"general.alignment" and kind == _UINT32:
                (alignment,) = struct.unpack("<I", value)
        end = file.tell()
        table = [_tensor(file) for _ in range(tensors)]
    except (struct.error, KeyError) as error:
        raise DataError(
            f"{path.name} ends or errs in its header: {error}", hint="get the model again"
        ) from None
    after = file.tell()
    file.seek(0)
    head = file.read(end)
    file.seek(after)
    return head, table, alignment


def _text(file: BinaryIO) -> bytes:
    (length,) = struct.unpack("<Q", file.read(8))
    return file.read(length)


def _value(file: BinaryIO, kind: int) -> bytes:
    if kind == _TEXT:
        return _text(file)
    if kind != _ARRAY:
        return file.read(_FIXED[kind])
    inner, count = struct.unpack("<IQ", file.read(12))
    for _ in range(count if inner in (_TEXT, _ARRAY) else 0):
        _value(file, inner)
    return file.read(_FIXED[inner] * count) if inner in _FIXED else b""


def _tensor(file: BinaryIO) -> _Tensor:
    begin = file.tell()
    _text(file)
    (axes,) = struct.unpack("<I", file.read(4))
    shape = struct.unpack(f"<{axes}Q", file.read(8 * axes))
    end = file.tell()
    file.seek(begin)
    entry = file.read(end - begin)
    encoding, offset = struct.unpack("<IQ", file.read(12))
    return _Tensor(entry, prod(shape), encoding, offset)


def _length(tensor: _Tensor, lengths: dict[int, int]) -> int:
    if tensor.encoding != Q4_1:
        return lengths[tensor.offset]
    return tensor.weights // _WEIGHTS * _BYTES[Q8_0]


def _copy(file: BinaryIO, out: BinaryIO, tensor: _Tensor, length: int) -> None:
    if tensor.encoding != Q4_1:
        out.write(file.read(length))
        return
    import numpy as np

    left = tensor.weights // _WEIGHTS
    while left:
        size = min(left, _PART) * _BYTES[Q4_1]
        raw = file.read(size)
        if len(raw) < size:
            raise _cut_off(Path(file.name))
        blocks = np.frombuffer(raw, dtype=np.uint8).reshape(-1, _BYTES[Q4_1])
        out.write(encode(decode(blocks)).tobytes())
        left -= len(blocks)


def decode(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the weights (n, 32) of n Q4_1 blocks (n, 20): least weight plus step times a half-byte."""
    import numpy as np

    step, least = blocks[:, :4].copy().view(np.float16).astype(np.float32).T[:, :, None]
    halves = blocks[:, 4:]
    steps = np.concatenate([halves & 15, halves >> 4], axis=1).astype(np.float32)
    weights: NDArray[np.float32] = steps * step + least
    return weights


def encode(weights: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return n Q8_0 blocks (n, 34) of weights (n, 32): the largest becomes 127, halves are rounded away from zero."""
    import numpy as np

    step = np.abs(weights).max(axis=1, keepdims=True) / np.float32(127)
    with np.errstate(divide="ignore"):
        inverse = np.where(step == 0, np.float32(0), np.float32(1) / step)
    scaled = weights * inverse
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled)).astype(np.int8)
    return np.concatenate([step.astype(np.float16).view(np.uint8), rounded.view(np.uint8)], axis=1)


def _cut_off(path: Path) -> DataError:
    return DataError(f"{path.name} is cut off", hint="get the model again")


def _aligned(position: int, alignment: int) -> int:
    return -(-position // alignment) * alignment
