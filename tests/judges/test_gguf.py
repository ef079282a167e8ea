"""Re-encoding a GGUF file: values, everything else untouched, and what is not such a file."""

import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from voirdire.errors import DataError
from voirdire.judges._gguf import Q4_1, Q8_0, decode, encode, to_q8

F32 = 0


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


PAIRS = [
    pair("general.architecture", 8, text("llama")),
    pair("general.alignment", 4, struct.pack("<I", 64)),
    pair("tokens", 9, struct.pack("<IQ", 8, 2) + text("a") + text("bc")),
    pair("scores", 9, struct.pack("<IQ", 6, 3) + struct.pack("<3f", 1, 2, 3)),
    pair("nested", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 0, 2) + b"xy"),
    pair("flag", 7, b"\1"),
]


def q4_1(step: float, least: float, halves: list[int]) -> bytes:
    """A block: weight i in the low half of byte i, weight i + 16 in its high half."""
    assert len(halves) == 32
    packed = bytes(low | high << 4 for low, high in zip(halves[:16], halves[16:], strict=True))
    return np.array([step, least], dtype=np.float16).tobytes() + packed


def gguf(tensors: list[tuple[str, tuple[int, ...], int, bytes]], *, version: int = 3) -> bytes:
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(PAIRS)) + b"".join(PAIRS)
    offset, data = 0, b""
    for name, shape, encoding, content in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head += struct.pack("<IQ", encoding, offset)
        data += content + bytes(-len(content) % 64)
        offset = len(data)
    return head + bytes(-len(head) % 64) + data


BLOCK = q4_1(0.5, -2.0, [i % 16 for i in range(32)])
PLAIN = np.arange(5, dtype=np.float32).tobytes()
TENSORS = [
    ("norm", (5,), F32, PLAIN),
    ("weights", (32, 3), Q4_1, BLOCK * 3),
    ("again", (32,), Q4_1, q4_1(0, 0, [7] * 32)),
    ("last", (5,), F32, PLAIN),
]


def test_a_block_holds_least_weight_plus_steps() -> None:
    values = decode(np.frombuffer(BLOCK, dtype=np.uint8).reshape(1, 20))
    assert values.tolist() == [[-2.0 + 0.5 * (i % 16) for i in range(32)]]


def test_q8_0_makes_the_largest_weight_127_and_rounds_halves_away_from_zero() -> None:
    weights: NDArray[np.float32] = np.zeros((2, 32), dtype=np.float32)
    weights[0, :4] = [127.0, 2.5, -2.5, 0.4]
    blocks = encode(weights)
    assert blocks.shape == (2, 34)
    assert blocks[0, :2].tobytes() == np.float16(1).tobytes()
    assert blocks[0, 2:6].view(np.int8).tolist() == [127, 3, -3, 0]
    assert not blocks[1].any()


def test_only_q4_1_tensors_change_and_offsets_follow(tmp_path: Path) -> None:
    source, target = tmp_path / "a.gguf", tmp_path / "b.gguf"
    source.write_bytes(gguf(TENSORS))
    to_q8(source, target)
    blocks = encode(decode(np.frombuffer(BLOCK * 3, dtype=np.uint8).reshape(3, 20))).tobytes()
    wanted = [TENSORS[0], ("weights", (32, 3), Q8_0, blocks), ("again", (32,), Q8_0, bytes(34)), TENSORS[3]]
    assert target.read_bytes() == gguf(wanted)


def test_a_weight_moves_by_at_most_half_a_step_of_its_block(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    raw = rng.integers(0, 256, size=(500, 20), dtype=np.uint8)
    raw[:, :4] = rng.normal(size=(500, 2)).astype(np.float16).view(np.uint8).reshape(500, 4)
    before = decode(raw)
    blocks = encode(before)
    step = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    after = blocks[:, 2:].view(np.int8) * step
    largest = np.abs(before).max(axis=1, keepdims=True)
    assert (
        np.abs(after - before) <= largest * (1 / 254 + 2**-11)
    ).all()  # the step itself is rounded to 11 bits


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"GGML" + bytes(60),
        gguf(TENSORS, version=2),
        gguf(TENSORS)[:150],
        gguf(TENSORS[1:2])[:-80],
        gguf(TENSORS)[:-200],
    ],
)
def test_what_is_not_such_a_file_is_said(content: bytes, tmp_path: Path) -> None:
    source = tmp_path / "a.gguf"
    source.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.gguf"):
        to_q8(source, tmp_path / "b.gguf")
