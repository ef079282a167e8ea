"""Plants declared spans into a native session file, and proves that nothing else changed.

Three kinds: a text replaced, lines removed, a message put in. Lines that named a removed parent name the
nearest one that is left; these links are declared spans too. All other characters stay as they are.
"""

import json
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from voirdire.edits.run_log import Actor, Passage, RunLog, show
from voirdire.edits.spans import (
    RawSpan,
    apply_spans,
    locate,
    occurrences,
    position,
    quoted,
    replace_in_json,
    replace_once,
)
from voirdire.errors import DataError
from voirdire.importers._session import Line

NAMESPACE = uuid.UUID("6f1d2a34-5c0e-4b7e-9a51-0d2f6c9b8e71")
"""For the ids of messages put in, so that the same case always gives the same bytes."""


class Version(StrEnum):
    """The two versions of a run: the agent skipped the required step, or took it."""

    SKIPPED = "skipped"
    DONE = "done"


class PlantKind(StrEnum):
    """What a plant does to the file."""

    REPLACE = "replace"
    REMOVE = "remove"
    INSERT = "insert"


@dataclass(frozen=True)
class Plant:
    """One declared change. `line`: a line's own id (or its beginning, 8 characters at least), or its number.

    REPLACE: `text` for `find` (None: for the whole text) in the string at `pointer` ('': the only text of the
    message that holds `find`). REMOVE: the lines from `line` to `until`, both included. INSERT: a message of
    `source` that says `text`, after `line`.
    """

    name: str
    kind: PlantKind
    versions: tuple[Version, ...]
    line: str | int
    until: str | int = ""
    pointer: str = ""
    find: str | None = None
    text: str = ""
    source: Actor = Actor.AGENT


class Deed(StrEnum):
    """What happened to a stretch of the native file."""

    REPLACED = "replaced"
    REMOVED = "removed"
    INSERTED = "inserted"
    RELINKED = "relinked"


@dataclass(frozen=True)
class NativeSpan:
    """A changed stretch of the native file.

    The original line (for an insertion the one before), what and which plant.
    """

    deed: Deed
    plant: str
    line: int
    uuid: str = ""
    pointer: str = ""
    raw: RawSpan | None = None
    new_line: str = ""


@dataclass(frozen=True)
class Planted:
    """A native file after planting.

    Its raw lines, and every stretch in which it differs from the original.
    """

    lines: tuple[str, ...]
    spans: tuple[NativeSpan, ...]


def plant(lines: Sequence[Line], plants: Sequence[Plant], version: Version, *, where: str) -> Planted:
    """Return the file with the plants of one version.

    Raises DataError where a selector finds nothing or two places.
    """
    chosen = [one for one in plants if version in one.versions]
    spans = [span for one in chosen for span in _spans(lines, one, where)]
    removed = {span.line: span.plant for span in spans if span.deed is Deed.REMOVED}
    for span in spans:
        if span.line in removed and span.deed is not Deed.REMOVED:
            raise DataError(
                f"{where}: '{span.plant}' changes line {span.line}, which '{removed[span.line]}' removes",
                hint="plant into a line that stays",
            )
    spans += _links(lines, spans, removed)
    return Planted(_applied(lines, spans), tuple(spans))


def selected(lines: Sequence[Line], selector: str | int, *, where: str) -> Line:
    """Return the one line that a selector names; DataError with the places where it names none or several."""
    if isinstance(selector, int):
        found = [line for line in lines if line.number == selector]
    else:
        found = [line for line in lines if line.uuid == selector]
        if not found and len(selector) >= 8:
            found = [line for line in lines if line.uuid.startswith(selector)]
    if len(found) != 1:
        places = f"names {len(found)} lines: {_numbers(found)}" if found else "names no line"
        raise DataError(f"{where}: '{selector}' {places}", hint="name one line by its uuid, or by its number")
    return found[0]


def _numbers(lines: Sequence[Line]) -> str:
    shown = ", ".join(str(line.number) for line in lines[:6])
    return f"{shown} and more" if len(lines) > 6 else shown


def _spans(lines: Sequence[Line], one: Plant, where: str) -> list[NativeSpan]:
    at = f"{where}, '{one.name}'"
    line = selected(lines, one.line, where=at)
    if one.kind is PlantKind.REMOVE:
        return _removal(lines, line, selected(lines, one.until or one.line, where=at), one.name, at)
    if one.kind is PlantKind.INSERT:
        new = _inserted(line, one)
        return [
            NativeSpan(
                Deed.INSERTED, one.name, line.number, new["uuid"], "/message/content/0/text", None, _json(new)
            )
        ]
    pointer = one.pointer or _only_text(line, one.find, at)
    raw = replace_in_json(line.raw, pointer, one.find, one.text, where=f"{at}, line {line.number}")
    return [NativeSpan(Deed.REPLACED, one.name, line.number, line.uuid, pointer, raw)]


def _removal(lines: Sequence[Line], first: Line, last: Line, name: str, at: str) -> list[NativeSpan]:
    if last.number < first.number:
        raise DataError(
            f"{at}: line {last.number} comes before line {first.number}", hint="exchange `line` and `until`"
        )
    taken = [line for line in lines if first.number <= line.number <= last.number]
    return [NativeSpan(Deed.REMOVED, name, line.number, line.uuid) for line in taken]


def _only_text(line: Line, find: str | None, at: str) -> str:
    """Return the pointer of the only text of a message (that holds `find`)."""
    texts = [(pointer, text) for pointer, text in strings(line.message, "/message") if _is_content(pointer)]
    fit = [pointer for pointer, text in texts if find is None or find in text]
    if len(fit) != 1:
        held = quoted(find) if find is not None else "a text"
        places = f"stands at {len(fit)} places: {', '.join(fit[:6])}" if fit else "stands nowhere"
        raise DataError(
            f"{at}, line {line.number}: {held} {places}", hint="give the `pointer` of the one you mean"
        )
    return fit[0]


def _is_content(pointer: str) -> bool:
    return pointer.startswith("/message/content") and not pointer.endswith(("/type", "/id", "/tool_use_id"))


def strings(value: object, at: str = "") -> Iterator[tuple[str, str]]:
    """Give every text inside a JSON value with its pointer."""
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, Mapping):
        for key, child in value.items():
            yield from strings(child, f"{at}/{str(key).replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from strings(child, f"{at}/{number}")


def _inserted(after: Line, one: Plant) -> dict[str, Any]:
    """Return a message that says `text`, with what the entry before it says about the session."""
    data = dict(after.data or {})
    kept = {key: data[key] for key in _SESSION_KEYS if key in data}
    new_id = str(uuid.uuid5(NAMESPACE, f"{after.uuid}|{one.source}|{one.text}"))
    message: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": one.text}]}
    if one.source is Actor.AGENT:
        model = after.message.get("model")
        message = {
            **({"model": model} if isinstance(model, str) else {}),
            "id": f"msg_{new_id.replace('-', '')[:24]}",
            "type": "message",
            **message,
            "role": "assistant",
        }
    kind = "assistant" if one.source is Actor.AGENT else "user"
    return {"parentUuid": after.uuid or None, **kept, "type": kind, "message": message, "uuid": new_id}


_SESSION_KEYS = ("isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "timestamp")


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data)


# --- links ------------------------------------------------------------------------------------------


def _links(
    lines: Sequence[Line], spans: Sequence[NativeSpan], removed: Mapping[int, str]
) -> list[NativeSpan]:
    """Return the changed parents.

    Of lines behind a removal, and of lines behind a message that was put in.
    """
    by_uuid = {line.uuid: line for line in lines if line.uuid}
    put_in = {span.line: span for span in spans if span.deed is Deed.INSERTED}
    anchors = {by_number.uuid: put_in[by_number.number] for by_number in lines if by_number.number in put_in}
    links: list[NativeSpan] = []
    for line in lines:
        if line.number in removed or not line.data:
            continue
        named = line.data.get("parentUuid")
        if not isinstance(named, str):
            continue
        parent, plant_name = _kept_parent(named, by_uuid, removed)
        if parent in anchors and line.number > anchors[parent].line:
            plant_name = plant_name or anchors[parent].plant
            parent = anchors[parent].uuid
        if parent != named:
            start, end = locate(line.raw, "/parentUuid", where=f"line {line.number}")
            raw = RawSpan(start, end, json.dumps(parent or None))
            links.append(NativeSpan(Deed.RELINKED, plant_name, line.number, line.uuid, "/parentUuid", raw))
    return links


def _kept_parent(named: str, by_uuid: Mapping[str, Line], removed: Mapping[int, str]) -> tuple[str, str]:
    """Return the nearest ancestor that stays ('': none), and the plant that removed those before it (''.

    None did).
    """
    reason = ""
    while named in by_uuid and by_uuid[named].number in removed:
        reason = removed[by_uuid[named].number]
        above = (by_uuid[named].data or {}).get("parentUuid")
        named = above if isinstance(above, str) else ""
    return named, reason


def _applied(lines: Sequence[Line], spans: Sequence[NativeSpan]) -> tuple[str, ...]:
    changed: dict[int, list[RawSpan]] = {}
    for span in spans:
        if span.raw is not None:
            changed.setdefault(span.line, []).append(span.raw)
    removed = {span.line for span in spans if span.deed is Deed.REMOVED}
    result: list[str] = []
    for line in lines:
        if line.number not in removed:
            result.append(apply_spans(line.raw, changed.get(line.number, ())))
        result += [span.new_line for span in spans if span.deed is Deed.INSERTED and span.line == line.number]
    return tuple(result)


# --- proofs -----------------------------------------------------------------------------------------


def prove_only_spans_differ(
    original: RunLog, planted: RunLog, spans: Sequence[NativeSpan], *, where: str
) -> None:
    """Raise DataError, naming both places, where the two logs differ outside the declared spans."""
    touched = {(span.uuid, span.pointer) for span in spans if span.deed is Deed.REPLACED}
    gone = {span.uuid for span in spans if span.deed in (Deed.REMOVED, Deed.INSERTED)}
    left = [one for one in original.passages() if not _declared(one, touched, gone)]
    right = [one for one in planted.passages() if not _declared(one, touched, gone)]
    for before, after in zip(left, right, strict=False):
        if (before.place and before.place.key, show(before)) != (
            after.place and after.place.key,
            show(after),
        ):
            raise _differs(before, after, where)
    if len(left) != len(right):
        extra = (left if len(left) > len(right) else right)[min(len(left), len(right))]
        raise DataError(
            f"{where}: outside the declared spans one version has a passage more: "
            f"{extra.place}, {quoted(extra.text)}",
            hint="declare it, or leave it as it is",
        )


def _declared(passage: Passage, touched: Collection[tuple[str, str]], gone: Collection[str]) -> bool:
    if passage.place is None:
        return False
    own, pointer = passage.place.uuid, passage.place.pointer
    return own in gone or any(
        own == line and (at == pointer or at.startswith(f"{pointer}/")) for line, at in touched
    )


def _differs(before: Passage, after: Passage, where: str) -> DataError:
    return DataError(
        f"{where}: it differs outside the declared spans: {before.place}, {quoted(before.text)} / "
        f"{after.place}, {quoted(after.text)}",
        hint="declare the change as a plant, or leave the text as it is",
    )


def refuse_traces(lines: Sequence[Line], traces: Sequence[str], *, where: str) -> None:
    """Raise DataError, naming the first places, where a trace of the step is left in any text of the file."""
    found = [
        f"{quoted(trace)} in line {line.number}, {pointer}, {position(text, occurrences(text, trace)[0])}"
        for line in lines
        for pointer, text in strings(line.data or {})
        for trace in traces
        if trace in text
    ]
    if found:
        raise DataError(
            f"{where}: the step was to be skipped, but the log still shows it: {'; '.join(found[:3])}",
            hint="remove or replace these places with a [[plant]]",
        )


def replaced_in(log: RunLog, name: str, find: str, text: str, *, where: str) -> RunLog:
    """Return a log written by hand with `find` replaced in the only passage of step `name`."""
    steps = tuple(
        replace(step, passages=_one_replaced(step.passages, find, text, where)) if step.name == name else step
        for step in log.steps
    )
    return replace(log, steps=steps)


def _one_replaced(passages: Sequence[Passage], find: str, text: str, where: str) -> tuple[Passage, ...]:
    fit = [number for number, one in enumerate(passages) if find in one.text]
    if len(fit) != 1:
        raise DataError(
            f"{where}: {quoted(find)} stands in {len(fit)} texts of the step", hint="quote it exactly"
        )
    return tuple(
        replace(one, text=replace_once(one.text, find, text, where=where)) if number == fit[0] else one
        for number, one in enumerate(passages)
    )
