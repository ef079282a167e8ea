"""Plain data from frozen dataclasses and back, led by their type hints; and the JSON schema that says the same.

Enums become their words, mappings are sorted, sequences become lists (tuples when read), a member of a union of
blocks carries its kind under `block`. A number that is not finite is never written: None where None may stand,
else DataError.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from voirdire.errors import DataError

TAG = "block"

_SCALARS: Mapping[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}

_WORDS: Mapping[Any, str] = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def encode(value: Any, kind: Any, place: str = "") -> Any:
    """Return `value`, which is of type `kind`, as plain data; DataError names the place that has none."""
    if kind is object:
        return _encode_plain(value, place)
    options = _options(kind)
    if options:
        return _encode_option(value, options, place)
    if is_dataclass(kind):
        return _encode_record(value, kind, place)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is not None and issubclass(origin, Mapping):
        return {key: encode(value[key], inner[1], f"{place}.{key}") for key in sorted(value)}
    if origin is not None:
        kinds = _kinds_of(inner, len(value))
        return [
            encode(item, each, f"{place}[{index}]")
            for index, (item, each) in enumerate(zip(value, kinds, strict=True))
        ]
    return value.value if issubclass(kind, Enum) else _encode_scalar(value, kind, place)


def decode(data: Any, kind: Any, place: str = "") -> Any:
    """Return the value of type `kind` that `data` stands for; DataError names the place that does not fit."""
    if kind is object:
        return data
    options = _options(kind)
    if options:
        return _decode_option(data, options, place)
    if is_dataclass(kind):
        return _decode_record(data, kind, place)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is not None and issubclass(origin, Mapping):
        _need(isinstance(data, Mapping), data, "an object", place)
        return {key: decode(item, inner[1], f"{place}.{key}") for key, item in data.items()}
    if origin is not None:
        _need(isinstance(data, list), data, "a list", place)
        kinds = _kinds_of(inner, len(data))
        _need(len(kinds) == len(data), data, f"a list of {len(inner)}", place)
        return tuple(decode(item, each, f"{place}[{i}]") for i, (item, each) in enumerate(zip(data, kinds)))  # noqa: B905
    if issubclass(kind, Enum):
        words = [member.value for member in kind]
        _need(data in words, data, f"one of {words}", place)
        return kind(data)
    return _decode_scalar(data, kind, place)


def schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of `kind`; records go to `definitions` and are referred to."""
    if kind is object:
        return {}
    options = _options(kind)
    if options:
        return {"anyOf": [_schema_option(option, options, definitions) for option in options]}
    if is_dataclass(kind):
        name = str(getattr(kind, "__name__", ""))
        if name not in definitions:
            definitions[name] = {}
            definitions[name] |= schema_of_record(kind, definitions)
        return {"$ref": f"#/$defs/{name}"}
    origin, inner = get_origin(kind), get_args(kind)
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema(inner[1], definitions)}
    if origin is not None:
        return _schema_of_list(inner, definitions)
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    return {"type": _SCALARS[kind]}


def schema_of_record(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of one dataclass: its fields, those without a default required, and no others."""
    hints = _hints(kind)
    return {
        "type": "object",
        "description": (kind.__doc__ or "").strip().splitlines()[0],
        "properties": {field.name: schema(hints[field.name], definitions) for field in fields(kind)},
        "required": [field.name for field in fields(kind) if _is_required(field)],
        "additionalProperties": False,
    }


@cache
def _hints(kind: Any) -> Mapping[str, Any]:
    return get_type_hints(kind)


@cache
def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else ()


def _kinds_of(inner: tuple[Any, ...], length: int) -> Sequence[Any]:
    return (inner[0],) * length if len(inner) == 1 or inner[1] is Ellipsis else inner


def _is_required(field: "Field[Any]") -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _records(options: Sequence[Any]) -> list[Any]:
    return [option for option in options if is_dataclass(option)]


def _tag(kind: Any) -> str:
    return str(kind.__name__).removesuffix("Block").lower()


def _encode_record(value: Any, kind: Any, place: str) -> dict[str, Any]:
    hints = _hints(kind)
    start = f"{place}." if place else ""
    return {
        field.name: encode(getattr(value, field.name), hints[field.name], f"{start}{field.name}")
        for field in fields(kind)
    }


def _encode_option(value: Any, options: tuple[Any, ...], place: str) -> Any:
    if value is None:
        return None
    records = _records(options)
    if len(records) > 1:
        kind = type(value)
        return {TAG: _tag(kind), **_encode_record(value, kind, place)}
    known = [option for option in options if option is not NoneType]
    if len(known) > 1:
        return _encode_plain(value, place)
    return None if _lacks_finite(value) else encode(value, known[0], place)


def _lacks_finite(value: Any) -> bool:
    numbers = value if isinstance(value, tuple) else (value,)
    return any(isinstance(number, float) and not math.isfinite(number) for number in numbers)


def _encode_scalar(value: Any, kind: Any, place: str) -> Any:
    plain = _encode_plain(value, place)
    if plain is None:
        raise DataError(
            f"{place} is {value}, which is not a finite number",
            hint="give a finite number; findings.json holds no NaN and no infinity",
        )
    return float(plain) if kind is float else plain


def _encode_plain(value: Any, place: str) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _encode_plain(value[key], f"{place}.{key}") for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [_encode_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
    scalar = value.item() if hasattr(value, "item") and hasattr(value, "dtype") else value
    if isinstance(scalar, float):
        return float(scalar) if math.isfinite(scalar) else None
    if scalar is None or isinstance(scalar, str | bool | int):
        return scalar
    raise DataError(
        f"{place} is a {type(value).__name__}, which has no place in findings.json",
        hint="use text, numbers, booleans, lists and mappings",
    )


def _decode_record(data: Any, kind: Any, place: str) -> Any:
    _need(isinstance(data, Mapping), data, "an object", place)
    known = {field.name: field for field in fields(kind)}
    unknown = sorted(set(data) - set(known))
    absent = sorted(name for name, field in known.items() if _is_required(field) and name not in data)
    where = place or "the file"
    if unknown or absent:
        what = f"has an unknown field '{unknown[0]}'" if unknown else f"lacks the field '{absent[0]}'"
        raise DataError(
            f"{where} {what}", hint="write the file with voirdire, and read it with the same release"
        )
    hints = _hints(kind)
    start = f"{place}." if place else ""
    return kind(**{name: decode(item, hints[name], f"{start}{name}") for name, item in data.items()})


def _decode_option(data: Any, options: tuple[Any, ...], place: str) -> Any:
    if data is None and NoneType in options:
        return None
    records = {_tag(kind): kind for kind in _records(options)}
    if len(records) > 1:
        tag = str(data.get(TAG)) if isinstance(data, Mapping) else ""
        _need(tag in records, tag, f"a block of kind {sorted(records)}", place)
        return _decode_record({key: item for key, item in data.items() if key != TAG}, records[tag], place)
    known = [option for option in options if option is not NoneType]
    if len(known) > 1:
        _need(isinstance(data, str | bool | int | float), data, "a text, a number or a boolean", place)
        return data
    return decode(data, known[0], place)


_FITS: Mapping[Any, Callable[[Any], bool]] = {
    str: lambda data: isinstance(data, str),
    bool: lambda data: isinstance(data, bool),
    int: lambda data: isinstance(data, int) and not isinstance(data, bool),
    float: lambda data: isinstance(data, int | float) and not isinstance(data, bool) and math.isfinite(data),
}


def _decode_scalar(data: Any, kind: Any, place: str) -> Any:
    _need(_FITS[kind](data), data, _WORDS[kind], place)
    return float(data) if kind is float else data


def _schema_option(option: Any, options: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if option is NoneType:
        return {"type": "null"}
    if len(_records(options)) < 2:
        return schema(option, definitions)
    body = schema_of_record(option, definitions)
    body["properties"] = {TAG: {"const": _tag(option)}, **body["properties"]}
    body["required"] = [TAG, *body["required"]]
    definitions[option.__name__] = body
    return {"$ref": f"#/$defs/{option.__name__}"}


def _schema_of_list(inner: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    if len(inner) == 1 or inner[1] is Ellipsis:
        return {"type": "array", "items": schema(inner[0], definitions)}
    kinds = [schema(kind, definitions) for kind in inner]
    return {"type": "array", "prefixItems": kinds, "minItems": len(kinds), "maxItems": len(kinds)}


def _need(condition: bool, data: Any, wanted: str, place: str) -> None:
    if condition:
        return
    shown = repr(data)
    raise DataError(
        f"{place or 'the file'} should be {wanted}, not {shown if len(shown) < 80 else shown[:77] + '...'}",
        hint="the file was changed by hand or by another program; write it again with voirdire",
    )
