import datetime
import marshal
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from voirdire.execution.jail import plain

SCALARS = (
    some.none()
    | some.booleans()
    | some.integers()
    | some.floats()
    | some.text()
    | some.binary()
    | some.complex_numbers()
)
KEYS = some.integers() | some.text() | some.tuples(some.integers(), some.text())
VALUES: some.SearchStrategy[Any] = some.recursive(
    SCALARS,
    lambda inner: (
        some.lists(inner, max_size=5)
        | some.tuples(inner, inner)
        | some.dictionaries(KEYS, inner, max_size=5)
        | some.sets(KEYS, max_size=5)
        | some.frozensets(KEYS, max_size=5)
        | some.lists(inner, max_size=5).map(deque)
    ),
    max_leaves=20,
)


def shown(value: object) -> str:
    """Values and types, with sets in one order."""
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({sorted(map(repr, value))})"
    if isinstance(value, (list, tuple, deque)):
        return f"{type(value).__name__}({[shown(part) for part in value]})"
    if isinstance(value, dict):
        return f"{type(value).__name__}({[(repr(key), shown(part)) for key, part in value.items()]})"
    return f"{type(value).__name__}({value!r})"


@given(VALUES)
def test_plain_data_comes_back_by_exact_type(value: object) -> None:
    assert shown(plain.decode(plain.encode(value))) == shown(value)
    assert shown(plain.decode_trusted(plain.encode_trusted(value))) == shown(value)


@pytest.mark.parametrize(
    "value",
    [
        Counter("abca"),
        OrderedDict([("b", 1), ("a", 2)]),
        deque([1, 2], maxlen=3),
        range(2, 10, 3),
        bytearray(b"xy"),
        Decimal("1.50"),
        Fraction(2, 7),
        datetime.datetime(2024, 2, 29, 12, 30),
        datetime.date(2024, 2, 29),
        datetime.timedelta(days=1, seconds=2),
        ...,
        10**5000,
        -(1 << 70),
        np.float64(0.5),
        np.int32(7),
        np.arange(6).reshape(2, 3),
        "\ud800 alone",
        float("-inf"),
        list(range(50_000)),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_rarer_values_cross_too(value: object) -> None:
    back = plain.decode(plain.encode(value))
    assert type(back) is type(value)
    assert back.tolist() == value.tolist() if isinstance(value, np.ndarray) else back == value  # type: ignore[attr-defined]


def test_views_and_iterators_arrive_as_such() -> None:
    table = {"a": 1, "b": 2}
    assert plain.decode(plain.encode(table.keys())) == table.keys()
    assert list(plain.decode(plain.encode(table.values()))) == [1, 2]  # type: ignore[call-overload]
    assert plain.decode(plain.encode(table.items())) == table.items()
    assert list(plain.decode(plain.encode(n * n for n in range(4)))) == [0, 1, 4, 9]  # type: ignore[call-overload]
    assert plain.decode(plain.encode(defaultdict(int, table))) == table


def test_a_set_is_walked_in_the_same_order_on_the_other_side() -> None:
    for value in ({12, 13, 14, 15, 16}, {6, 7, 8, 9, 10, 11}, set(range(30, 0, -3)), {100, 3, 77}):
        assert list(plain.decode_trusted(plain.encode_trusted(value))) == list(value)  # type: ignore[call-overload]


class Sneaky(int):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Words(list[str]):
    pass


def endless() -> Any:
    while True:
        yield 1


@pytest.mark.parametrize(
    "value",
    [
        Sneaky(1),
        [Sneaky(1)],
        {"a": Words()},
        Words(),
        object(),
        len,
        int,
        endless(),
        lambda: 0,
        compile("1", "", "eval"),
    ],
)
def test_what_is_no_plain_data_is_refused(value: object) -> None:
    with pytest.raises(plain.NotPlain):
        plain.encode(value)


def test_a_value_within_itself_or_too_deep_or_too_large_is_refused() -> None:
    ring: list[object] = []
    ring.append(ring)
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    try:
        for value in (ring, deep, "x" * (plain.MOST_BYTES + 1), [0] * 3_000_000 + [(1,)]):
            with pytest.raises(plain.NotPlain):
                plain.encode(value)
    finally:
        while deep:
            deep = deep.pop()  # type: ignore[assignment]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"X1",
        b"J{",
        b"J" + b"[" * 100_000,
        b"J" + b"9" * 5000,
        b'T{"unknown": 1}',
        b'T{"d": [[1], []]}',
        b'T{"s": [[1]]}',
        b'T{"numpy": ["O", [1], "00", true]}',
        b"M",
        b"M[\xff\xff\xff\x7f",
        b"Mu\x05\x00\x00\x00ab",
        b"M" + marshal.dumps(compile("1", "", "eval"), 2),
        b"M(" + b"\x01\x00\x00\x00(" * 1000,
        b"MNN",
    ],
)
def test_hostile_bytes_are_an_error_and_nothing_else(data: bytes) -> None:
    with pytest.raises(plain.Malformed):
        plain.decode(data)


@given(some.binary(max_size=60))
def test_any_bytes_are_plain_data_or_malformed(data: bytes) -> None:
    for form in (b"M", b"J", b"T"):
        try:
            plain.decode(form + data)
        except plain.Malformed:
            continue


def test_changes_of_an_argument_are_taken_over_in_place() -> None:
    inner = [1]
    old: list[Any] = [inner, {"k": [0]}, {1, 2}, 5]
    plain.update(old, [[1, 2], {"k": [1], "new": 0}, {3}, 6, 7])
    assert old == [[1, 2], {"k": [1], "new": 0}, {3}, 6, 7]
    assert old[0] is inner
