"""Plain data between the tests and the candidate: numbers, strings and containers, rebuilt by exact type.

An instance of a class that the candidate defined never crosses, whatever it inherits from. The reader rebuilds
values of known types only, so that hostile bytes yield plain data or an error. Values that JSON holds faithfully
go as JSON; the rest as JSON with each container and rare type marked. Small basic values take the form of `marshal`, read here by hand, as
its own reader trusts what it reads.
"""

import collections
import json
import marshal
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from typing import Any

MOST_BYTES = 32_000_000
MOST_VALUES = 2_000_000
DEEPEST = 150
MOST_ITERATED = 200_000
MOST_SMALL = 4096
MOST_BASIC = 100_000


class NotPlain(Exception):
    """A value that does not cross; the text says which."""


class Malformed(Exception):
    """Bytes that are no value."""


_SCALARS = frozenset({str, int, float, bool, type(None)})
_SMALL = 1 << 63
_LEAVES = frozenset({str, int, float, bool, type(None), bytes, complex})
_SEQUENCES = frozenset({list, tuple})
_CONSTANTS: dict[bytes, object] = {b"N": None, b"T": True, b"F": False}
_BUILDERS: dict[bytes, Callable[[Any], Any]] = {b"(": tuple, b"[": list}
_DOUBLE = struct.Struct("<d")
_DOUBLES = struct.Struct("<dd")
_NO_REFERENCES = 2
"""The version of the interpreter's form without references between values."""
_ITERATORS: frozenset[type] = frozenset(
    map(
        type,
        (
            iter([]), iter(()), iter(""), iter({}), iter(set()), iter(range(0)), iter({}.values()), iter({}.items()),
            (_ for _ in ()), map(str, ()), filter(None, ()), zip(), enumerate(()), reversed([]),
        ),
    )
)  # fmt: skip


def encode_trusted(value: Any) -> bytes:
    """Return `value` for a reader that trusts us: in the interpreter's own form where that keeps every type.

    Raises NotPlain as `encode` does.
    """
    return b"M" + marshal.dumps(value, _NO_REFERENCES) if _is_basic(value) else encode(value)


def decode_trusted(data: bytes) -> object:
    """Return what `encode_trusted` wrote: never for bytes that a candidate may have written."""
    return marshal.loads(data[1:]) if data[:1] == b"M" else decode(data)


def encode(value: Any) -> bytes:
    """Return `value` as bytes. Raises NotPlain where it holds anything but plain data, is too deep, cyclic or large.

    Small values go in the interpreter's own form, as a fresh fork pays for every page of code it touches first.
    """
    if _is_basic(value):
        data = b"M" + marshal.dumps(value, _NO_REFERENCES)
        if len(data) <= MOST_SMALL:
            return data
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
        if data[:1] == b"M":
            return _Marshalled(data).value()
        read = json.loads(data[1:])
        if data[:1] == b"J":
            return read
        if data[:1] == b"T":
            return _unmark(read)
    except (ValueError, TypeError, LookupError, RecursionError, ArithmeticError, MemoryError) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from None
    raise Malformed("no value")


def _is_basic(value: object) -> bool:
    """Return whether `marshal` gives `value` back as it is: it turns unknown buffers into bytes, so types are looked at."""
    kind = type(value)
    if kind in _LEAVES:
        return True
    pending: list[Any] = [value]
    left = MOST_BASIC
    while pending:
        current = pending.pop()
        kind = type(current)
        if kind in _LEAVES:
            continue
        left -= 1
        if left < 0:
            return False
        if kind in _SEQUENCES:
            pending.extend(current)
        elif kind is dict:
            pending.extend(current)
            pending.extend(current.values())
        else:
            return False
    return True


class _Marshalled:
    """Reads the interpreter's own form of basic values, and nothing else of it: code objects are no values here."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 1

    def value(self) -> object:
        """Return the one value that the bytes hold."""
        value = self._next(0)
        if self._at != len(self._data):
            raise Malformed("more than one value")
        return value

    def _next(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise Malformed("a value nested too deeply")
        at = self._at
        kind = self._data[at : at + 1]
        self._at = at + 1
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == b"i":
            return int.from_bytes(self._take(4), "little", signed=True)
        if kind == b"g":
            return _DOUBLE.unpack(self._take(8))[0]
        if kind == b"u":
            return self._take(self._length()).decode("utf-8", "surrogatepass")
        if kind == b"s":
            return self._take(self._length())
        if kind == b"l":
            return self._long()
        if kind == b"y":
            return complex(*_DOUBLES.unpack(self._take(16)))
        if kind in _BUILDERS:
            return _BUILDERS[kind](self._next(depth + 1) for _ in range(self._length()))
        if kind == b"{":
            return self._dict(depth + 1)
        raise Malformed(f"a value of the kind {kind!r}")

    def _dict(self, depth: int) -> dict[Any, Any]:
        read = {}
        while self._data[self._at : self._at + 1] != b"0":
            key = self._next(depth)
            read[key] = self._next(depth)
        self._at += 1
        return read

    def _long(self) -> int:
        size = int.from_bytes(self._take(4), "little", signed=True)
        digits = self._take(2 * abs(size))
        number = 0
        for place in range(abs(size) - 1, -1, -1):
            number = number << 15 | int.from_bytes(digits[2 * place : 2 * place + 2], "little")
        return -number if size < 0 else number

    def _length(self) -> int:
        length = int.from_bytes(self._take(4), "little", signed=True)
        if not 0 <= length <= len(self._data):
            raise Malformed(f"a length of {length}")
        return length

    def _take(self, length: int) -> bytes:
        taken = self._data[self._at : self._at + length]
        if len(taken) != length:
            raise Malformed("a value that ends early")
        self._at += length
        return taken


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
        writer = _WRITERS.get(kind) or _rare_writer(kind)
        if writer is not None:
            return writer(self, value, depth)
        if kind in _ITERATORS:
            return {"it": self.parts(islice(value, MOST_ITERATED + 1), depth, most=MOST_ITERATED)}
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
    return lambda _marker, value, _depth: {name: write(value)}


_WRITERS: dict[type, _Writer] = {
    tuple: _items("t"),
    set: lambda marker, value, depth: {_set_recipe(value): marker.parts(value, depth)},
    frozenset: _items("f"),
    dict: _pairs("d"),
    collections.Counter: _pairs("counter"),
    collections.defaultdict: _pairs("default"),
    collections.OrderedDict: _pairs("ordered"),
    collections.deque: lambda marker, value, depth: {"deque": [marker.parts(value, depth), value.maxlen]},
    type({}.keys()): _items("keys"),
    type({}.values()): _items("values"),
    type({}.items()): lambda marker, value, depth: _pairs("items")(marker, dict(value), depth),
    bytes: _text("b", bytes.hex),
    bytearray: _text("bytearray", bytearray.hex),
    complex: _text("c", lambda value: [value.real, value.imag]),
    range: _text("r", lambda value: [value.start, value.stop, value.step]),
    type(...): _text("ellipsis", lambda _value: 0),
}


def _set_recipe(value: set[Any]) -> str:
    """Return how to make a set anew so that it is walked in the same order: value by value, or at once like a literal."""
    walked = list(value)
    return "s" if list(set(walked)) == walked else "m"


_RARE: dict[tuple[str, str], _Writer] = {
    ("decimal", "Decimal"): _text("decimal", str),
    ("fractions", "Fraction"): _text(
        "fraction", lambda value: [hex(value.numerator), hex(value.denominator)]
    ),
    ("datetime", "datetime"): _text("datetime", lambda value: value.isoformat()),
    ("datetime", "date"): _text("date", lambda value: value.isoformat()),
    ("datetime", "time"): _text("time", lambda value: value.isoformat()),
    ("datetime", "timedelta"): _text("delta", lambda value: [value.days, value.seconds, value.microseconds]),
    ("numpy", ""): lambda _marker, value, _depth: _numpy_marked(value),
}
"""By module and name: modules that are imported where such a value exists, and need not be anywhere else."""


def _rare_writer(kind: type) -> _Writer | None:
    module = kind.__module__
    if module == "numpy" and "numpy" in sys.modules:
        return _RARE["numpy", ""]
    writer = _RARE.get((module, kind.__qualname__))
    return writer if writer and getattr(sys.modules.get(module), kind.__qualname__, None) is kind else None


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
    "m": lambda body: set().union(frozenset(_unmarked(body))),
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
    "b": bytes.fromhex,
    "bytearray": bytearray.fromhex,
    "c": lambda body: complex(*body),
    "r": lambda body: range(*body),
    "ellipsis": lambda _body: ...,
    "decimal": lambda body: import_module("decimal").Decimal(body),
    "fraction": lambda body: import_module("fractions").Fraction(int(body[0], 16), int(body[1], 16)),
    "datetime": lambda body: import_module("datetime").datetime.fromisoformat(body),
    "date": lambda body: import_module("datetime").date.fromisoformat(body),
    "time": lambda body: import_module("datetime").time.fromisoformat(body),
    "delta": lambda body: import_module("datetime").timedelta(*body),
    "numpy": lambda body: _numpy_unmarked(*body),
}


def _numpy_marked(value: Any) -> object:
    import numpy as np

    if type(value) is not np.ndarray and not (isinstance(value, np.generic) and value.shape == ()):
        raise NotPlain(f"a value of the type {_type_name(type(value))}")
    array = np.asarray(value)
    if array.dtype.kind not in "biufcSU" or array.nbytes > MOST_BYTES // 4:
        raise NotPlain(f"an array of the type {array.dtype}")
    data = np.ascontiguousarray(array).tobytes().hex()
    return {"numpy": [array.dtype.str, list(array.shape), data, type(value) is np.ndarray]}


def _numpy_unmarked(dtype: str, shape: list[int], data: str, is_array: bool) -> Any:
    import numpy as np

    kind = np.dtype(str(dtype))
    if kind.kind not in "biufcSU":
        raise Malformed(f"an array of the type {kind}")
    array = np.frombuffer(bytes.fromhex(data), dtype=kind).reshape([int(size) for size in shape])
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
