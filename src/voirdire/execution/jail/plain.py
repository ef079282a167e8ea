"""Plain data between the tests and the candidate: numbers, strings and containers, rebuilt by exact type.

An instance of a class that the candidate defined never crosses, whatever it inherits from. The reader rebuilds
values of known types only, so that hostile bytes yield plain data or an error. Values that JSON holds faithfully
go as JSON; the rest as JSON with each container and rare type marked.
"""

import base64
import collections
import datetime
import decimal
import fractions
import json
import sys
from collections.abc import Callable
from itertools import islice
from typing import Any

MOST_BYTES = 32_000_000
MOST_VALUES = 2_000_000
DEEPEST = 150
MOST_ITERATED = 200_000


class NotPlain(Exception):
    """A value that does not cross; the text says which."""


class Malformed(Exception):
    """Bytes that are no value."""


_SCALARS = frozenset({str, int, float, bool, type(None)})
_SMALL = 1 << 63
_ITERATORS: frozenset[type] = frozenset(
    map(
        type,
        (
            iter([]), iter(()), iter(""), iter({}), iter(set()), iter(range(0)), iter({}.values()), iter({}.items()),
            (_ for _ in ()), map(str, ()), filter(None, ()), zip(), enumerate(()), reversed([]),
        ),
    )
)  # fmt: skip


def encode(value: object) -> bytes:
    """Return `value` as bytes. Raises NotPlain where it holds anything but plain data, is too deep, cyclic or large."""
    try:
        if _is_json(value):
            data = b"J" + json.dumps(value).encode()
        else:
            data = b"T" + json.dumps(_Marker().mark(value, 0)).encode()
    except RecursionError:
        raise NotPlain("a value nested too deeply") from None
    if len(data) > MOST_BYTES:
        raise NotPlain(f"a value of {len(data):,} bytes")
    return data


def decode(data: bytes) -> object:
    """Return the value that `data` holds. Raises Malformed where it holds none."""
    try:
        read = json.loads(data[1:])
        if data[:1] == b"J":
            return read
        if data[:1] == b"T":
            return _unmark(read)
    except (ValueError, TypeError, LookupError, RecursionError, ArithmeticError, MemoryError) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from None
    raise Malformed("no value")


def _is_json(value: object) -> bool:
    """Return whether JSON gives `value` back as it is: exact types, text keys, small whole numbers."""
    pending = [value]
    seen = 0
    while pending:
        current = pending.pop()
        kind = type(current)
        if kind in _SCALARS:
            if kind is int and not -_SMALL < current < _SMALL:  # type: ignore[operator]
                return False
            continue
        seen += 1
        if seen > 10_000:
            return False
        if kind is list:
            pending.extend(current)  # type: ignore[arg-type]
        elif kind is dict and all(type(key) is str for key in current):  # type: ignore[attr-defined]
            pending.extend(current.values())  # type: ignore[attr-defined]
        else:
            return False
    return True


class _Marker:
    """Turns a value into JSON in which all but text, small numbers and lists is marked."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def mark(self, value: Any, depth: int) -> object:
        kind = type(value)
        if kind in _SCALARS:
            if kind is int and not -_SMALL < value < _SMALL:
                return {"i": hex(value)}
            return value
        if depth > DEEPEST:
            raise NotPlain("a value nested too deeply, or one that contains itself")
        if kind is list:
            return self.parts(value, depth)
        writer = _WRITERS.get(kind)
        if writer is not None:
            return writer(self, value, depth)
        if kind in _ITERATORS:
            return {"it": self.parts(islice(value, MOST_ITERATED + 1), depth, most=MOST_ITERATED)}
        if kind.__module__ == "numpy" and "numpy" in sys.modules:
            return _numpy_marked(value)
        raise NotPlain(f"a value of the type {_type_name(kind)}")

    def parts(self, values: Any, depth: int, *, most: int = MOST_VALUES) -> list[object]:
        marked: list[object] = []
        for value in values:
            self._left -= 1
            if self._left < 0 or len(marked) >= most:
                raise NotPlain("a value with too many parts")
            marked.append(self.mark(value, depth + 1))
        return marked


_Writer = Callable[[_Marker, Any, int], object]


def _items(name: str) -> _Writer:
    return lambda marker, value, depth: {name: marker.parts(value, depth)}


def _pairs(name: str) -> _Writer:
    return lambda marker, value, depth: {
        name: [marker.parts(value.keys(), depth), marker.parts(value.values(), depth)]
    }


def _text(name: str, write: Callable[[Any], object]) -> _Writer:
    return lambda marker, value, depth: {name: write(value)}


_WRITERS: dict[type, _Writer] = {
    tuple: _items("t"),
    set: _items("s"),
    frozenset: _items("f"),
    dict: _pairs("d"),
    collections.Counter: _pairs("counter"),
    collections.defaultdict: _pairs("default"),
    collections.OrderedDict: _pairs("ordered"),
    collections.deque: lambda marker, value, depth: {"deque": [marker.parts(value, depth), value.maxlen]},
    type({}.keys()): _items("keys"),
    type({}.values()): _items("values"),
    type({}.items()): lambda marker, value, depth: _pairs("items")(marker, dict(value), depth),
    bytes: _text("b", lambda value: base64.b64encode(value).decode()),
    bytearray: _text("bytearray", lambda value: base64.b64encode(value).decode()),
    complex: _text("c", lambda value: [value.real, value.imag]),
    range: _text("r", lambda value: [value.start, value.stop, value.step]),
    type(...): _text("ellipsis", lambda value: 0),
    decimal.Decimal: _text("decimal", str),
    fractions.Fraction: _text("fraction", lambda value: [hex(value.numerator), hex(value.denominator)]),
    datetime.datetime: _text("datetime", lambda value: value.isoformat()),
    datetime.date: _text("date", lambda value: value.isoformat()),
    datetime.time: _text("time", lambda value: value.isoformat()),
    datetime.timedelta: _text("delta", lambda value: [value.days, value.seconds, value.microseconds]),
}


def _unmark(value: Any) -> Any:
    kind = type(value)
    if kind is list:
        return [_unmark(part) for part in value]
    if kind is dict:
        ((name, body),) = value.items()
        return _READERS[name](body)
    return value


def _unmarked(body: Any) -> list[Any]:
    return [_unmark(part) for part in body]


def _unpaired(body: Any) -> dict[Any, Any]:
    keys, values = body
    return dict(zip(_unmarked(keys), _unmarked(values), strict=True))


_READERS: dict[str, Callable[[Any], Any]] = {
    "i": lambda body: int(body, 16),
    "t": lambda body: tuple(_unmarked(body)),
    "s": lambda body: set(_unmarked(body)),
    "f": lambda body: frozenset(_unmarked(body)),
    "d": _unpaired,
    "counter": lambda body: collections.Counter(_unpaired(body)),
    "default": lambda body: collections.defaultdict(None, _unpaired(body)),
    "ordered": lambda body: collections.OrderedDict(_unpaired(body)),
    "deque": lambda body: collections.deque(_unmarked(body[0]), body[1]),
    "keys": lambda body: dict.fromkeys(_unmarked(body)).keys(),
    "values": lambda body: dict(enumerate(_unmarked(body))).values(),
    "items": lambda body: _unpaired(body).items(),
    "it": lambda body: iter(_unmarked(body)),
    "b": lambda body: base64.b64decode(body),
    "bytearray": lambda body: bytearray(base64.b64decode(body)),
    "c": lambda body: complex(*body),
    "r": lambda body: range(*body),
    "ellipsis": lambda body: ...,
    "decimal": decimal.Decimal,
    "fraction": lambda body: fractions.Fraction(int(body[0], 16), int(body[1], 16)),
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "delta": lambda body: datetime.timedelta(*body),
    "numpy": lambda body: _numpy_unmarked(*body),
}


def _numpy_marked(value: Any) -> object:
    import numpy as np

    if type(value) is not np.ndarray and not (isinstance(value, np.generic) and value.shape == ()):
        raise NotPlain(f"a value of the type {_type_name(type(value))}")
    array = np.asarray(value)
    if array.dtype.kind not in "biufcSU" or array.nbytes > MOST_BYTES // 2:
        raise NotPlain(f"an array of the type {array.dtype}")
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"numpy": [array.dtype.str, list(array.shape), data, type(value) is np.ndarray]}


def _numpy_unmarked(dtype: str, shape: list[int], data: str, is_array: bool) -> Any:
    import numpy as np

    kind = np.dtype(str(dtype))
    if kind.kind not in "biufcSU":
        raise Malformed(f"an array of the type {kind}")
    array = np.frombuffer(base64.b64decode(data), dtype=kind).reshape([int(size) for size in shape])
    return array.copy() if is_array else array[()]


def update(old: Any, new: Any) -> None:
    """Make the containers of `old` hold what `new` holds, in place where their types agree."""
    kind = type(old)
    if kind is not type(new):
        return
    if kind is list:
        old[:] = _merged(old, new)
    elif kind in (dict, collections.Counter, collections.defaultdict, collections.OrderedDict):
        merged = {key: _kept(old[key], value) if key in old else value for key, value in new.items()}
        old.clear()
        old.update(merged)
    elif kind is set:
        old.clear()
        old.update(new)
    elif kind in (bytearray, collections.deque):
        old.clear()
        old.extend(new)
    elif kind is tuple:
        for before, after in zip(old, new, strict=False):
            update(before, after)
    elif kind.__module__ == "numpy" and kind.__name__ == "ndarray" and old.shape == new.shape:
        old[...] = new


def _merged(old: list[Any], new: list[Any]) -> list[Any]:
    return [_kept(old[place], value) if place < len(old) else value for place, value in enumerate(new)]


def _kept(old: Any, new: Any) -> Any:
    """Return the old container, updated, where both are of one mutable type; else the new value."""
    if type(old) is type(new) and type(old) in (list, dict, set, bytearray, collections.deque):
        update(old, new)
        return old
    return new


def _type_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")[:120]
