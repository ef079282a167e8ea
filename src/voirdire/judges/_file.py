"""What a person writes to name a judge, as a JudgeSpec: an address on the command line, or a judge file in TOML.

An address is `BACKEND:MODEL`, or `path/to/file.py:function` for the backend `python`. A judge file ends in `.toml`:

    backend = "openai"
    model = "some-model"
    key_env = "SOME_API_KEY"

    [prompt]
    system = "You review the work of agents."
    user = "Log:\\n{{log}}\\n\\nLater:\\n{{outcome}}\\n\\nFirst line: PROCESS <0 to 10> DAMAGE <0 to 10>"

    [[question]]
    id = "process"
    kind = "score"
    text = "How good were the decisions?"

    [reader]
    name = "first_line"

Without [prompt] and [[question]] it says how the judge is reached, and a study says what it is asked.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from voirdire import plugins
from voirdire.errors import DataError, UsageError, VoirdireError
from voirdire.judges._prompted import check_reader, placeholders
from voirdire.model import Asking, JudgeSpec, Message, ReaderSpec
from voirdire.questions import Checklist, ChecklistItem, Choice, Predicate, Question, Score

Made = TypeVar("Made")

if TYPE_CHECKING:
    from pydantic import ValidationError

    from voirdire.judges._file_schema import JudgeTable, QuestionTable

DEFAULT_READER = "typed"
"""Read where a judge file names no reader: the backend answers typed questions as it best can."""

_ADDRESS = re.compile(r"(?P<backend>[a-z][a-z0-9_]+):(?P<model>.+)", re.DOTALL)
_FUNCTION = re.compile(r".+\.py:[A-Za-z_][A-Za-z0-9_.]*")
_SECRET_KEY = re.compile(
    r"(?:api|access|secret|auth|bearer|private)?[_-]?(?:key|token|secret|password|credentials?)|authorization|bearer",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(r"(?:sk|pk|rk|xai|gsk|hf|ghp|AIza)[-_]?[A-Za-z0-9_-]{16,}|Bearer\s+\S+")
_PASSWORD_IN_URL = re.compile(r"^[a-z][a-z0-9+.-]*://[^/@]*:[^/@]*@", re.IGNORECASE)


def read_spec(text: str) -> JudgeSpec:
    """Return what an address or the path of a judge file says; the judge is not opened.

    Raises UsageError for an address that names nothing, DataError for a file with a mistake, naming file and place.
    """
    text = text.strip()
    if text.endswith(".toml"):
        return _from_file(Path(text))
    match = _ADDRESS.fullmatch(text)
    if match and match["backend"] in plugins.names("judges"):
        return JudgeSpec(name=text, backend=match["backend"], model=match["model"].strip())
    if _FUNCTION.fullmatch(text):
        return JudgeSpec(name=text, backend="python", model=text)
    raise _no_judge(text, match["backend"] if match else None)


def json_schema_text() -> str:
    """Return the JSON schema of a judge file, as it stands in `data/schemas/judge.schema.json`."""
    from voirdire.judges._file_schema import json_schema

    return json.dumps(json_schema(), indent=2, sort_keys=False) + "\n"


def _no_judge(text: str, backend: str | None) -> UsageError:
    known = plugins.names("judges")
    if Path(text).is_file():
        return UsageError(
            f"'{text}' is not a judge file", hint="a judge file ends in .toml; a function is FILE.py:NAME"
        )
    near = get_close_matches(backend or text, known, n=1)
    if backend is not None:
        guess = f"did you mean '{near[0]}:'? " if near else ""
        return UsageError(
            f"there is no judge backend '{backend}'", hint=f"{guess}backends: {', '.join(known)}"
        )
    return UsageError(
        f"'{text}' names no judge",
        hint=f"write BACKEND:MODEL (backends: {', '.join(known)}), path/to/file.py:function or a judge file NAME.toml",
    )


# --- a judge file -----------------------------------------------------------------------------------


def _from_file(path: Path) -> JudgeSpec:
    data = _toml(path)
    _refuse_secrets(data, path)
    table = _validated(data, path)
    if table.backend not in plugins.names("judges"):
        raise _no_such(table.backend, plugins.names("judges"), "backend", f"{path}: backend")
    return JudgeSpec(
        name=table.name or path.stem,
        backend=table.backend,
        model=table.model,
        asking=_asking(table, path),
        sampling=_sampling(table, path),
        options=_options(table, path),
        remedies=_remedies(table, path),
        path=str(path),
        rules=_rules(table, path),
    )


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"there is no judge file {path}", hint="`voirdire init` writes one") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}", hint="save the file as UTF-8") from None
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}", hint="correct the path"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: not TOML: {error}", hint="correct the file at that place") from None


def _refuse_secrets(data: object, path: Path) -> None:
    """Raise DataError where a key or a password stands in the file; its text is never repeated."""
    for place, key, value in _leaves(data):
        looks_secret = isinstance(value, str) and (
            _SECRET_VALUE.fullmatch(value.strip()) or _PASSWORD_IN_URL.match(value.strip())
        )
        if (_SECRET_KEY.fullmatch(key) and isinstance(value, str)) or looks_secret:
            raise DataError(
                f"{path}: '{place}' holds a secret, and a judge file is shared",
                hint='put it into an environment variable and name that: `key_env = "MY_API_KEY"`',
            )


def _leaves(data: object, place: str = "", key: str = "") -> Iterator[tuple[str, str, object]]:
    if isinstance(data, Mapping):
        for name, value in data.items():
            yield from _leaves(value, f"{place}.{name}" if place else name, name)
    elif isinstance(data, list):
        for number, value in enumerate(data, start=1):
            yield from _leaves(value, f"{place}[{number}]", key)
    else:
        yield place, key, data


def _validated(data: dict[str, Any], path: Path) -> JudgeTable:
    from pydantic import ValidationError

    from voirdire.judges._file_schema import JudgeTable

    try:
        return JudgeTable.model_validate(data)
    except ValidationError as error:
        raise _mistake(error, data, path) from None


def _mistake(error: ValidationError, data: Mapping[str, Any], path: Path) -> DataError:
    """Return the first mistake in our words; unknown keys come first, since they explain the missing ones."""
    mistakes = error.errors(include_url=False, include_context=False)
    first = next((one for one in mistakes if one["type"] == "extra_forbidden"), mistakes[0])
    steps = [step for step in first["loc"] if not _is_branch(step)]
    *outer, last = steps
    where = _place(outer, data)
    if first["type"] == "extra_forbidden":
        valid = _keys_at(outer)
        near = get_close_matches(str(last), valid, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"keys there: {', '.join(valid)}"
        return DataError(f"{path}: unknown key '{last}' {where}", hint=hint)
    if first["type"] == "missing":
        return DataError(f"{path}: no key '{last}' {where}", hint=f"add `{last} = ...` there")
    name = f"'{last}' {where}" if isinstance(last, str) else f"entry {last + 1} of '{outer[-1]}'"
    return DataError(f"{path}: {name}: {_in_words(first)}", hint="correct the value")


def _is_branch(step: int | str) -> bool:
    """Whether pydantic, not the file, put the step there: the branch of a union that it tried."""
    return isinstance(step, str) and ("[" in step or step in ("list", "dict", "str"))


def _in_words(mistake: Mapping[str, Any]) -> str:
    said = str(mistake["msg"])
    return said[:1].lower() + said[1:]


def _place(steps: Sequence[int | str], data: Mapping[str, Any]) -> str:
    """Return where in the file, such as "in [[question]] 2 ('damage')"."""
    if not steps:
        return "at the top"
    said: list[str] = []
    found: Any = data
    for place, step in enumerate(steps):
        found = found[step]
        if isinstance(step, int):
            name = found.get("id") or found.get("name") if isinstance(found, Mapping) else None
            said[-1] = f"[[{steps[place - 1]}]] {step + 1}" + (
                f" ('{name}')" if isinstance(name, str) else ""
            )
        else:
            said.append(f"[{step}]")
    return "in " + ", ".join(said)


def _keys_at(steps: Sequence[int | str]) -> list[str]:
    from voirdire.judges import _file_schema as form

    tables: Mapping[tuple[str, ...], type[Any]] = {
        (): form.JudgeTable,
        ("prompt",): form.PromptTable,
        ("question",): form.QuestionTable,
        ("question", "items"): form.ChecklistItemTable,
        ("rule",): form.RuleTable,
    }
    named = tuple(step for step in steps if isinstance(step, str))
    table = tables.get(named[:1] if named[:1] == ("rule",) else named, form.JudgeTable)
    return list(table.model_fields)


def _options(table: JudgeTable, path: Path) -> dict[str, object]:
    """Return the backend's options: those with a key at the top, and [options]."""
    names = ("base_url", "key_env", "price_in", "price_out", "context")
    top = {name: getattr(table, name) for name in names if getattr(table, name) is not None}
    return _merged(top, table.options or {}, "options", path)


def _sampling(table: JudgeTable, path: Path) -> dict[str, object]:
    """Return what is sent to the model with each request; the limit of an answer is part of it."""
    top = {"max_tokens": table.max_tokens} if table.max_tokens is not None else {}
    return _merged(top, table.sampling or {}, "sampling", path)


def _merged(
    top: Mapping[str, object], inner: Mapping[str, object], name: str, path: Path
) -> dict[str, object]:
    twice = sorted(top.keys() & inner.keys())
    if twice:
        raise DataError(f"{path}: '{twice[0]}' stands at the top and in [{name}]", hint="keep one of them")
    return {**top, **inner}


def _remedies(table: JudgeTable, path: Path) -> tuple[Mapping[str, object], ...]:
    for number, remedy in enumerate(table.remedy or (), start=1):
        known = plugins.names("remedies")
        if remedy.name not in known:
            raise _no_such(remedy.name, known, "remedy", f"{path}: [[remedy]] {number}")
    return tuple(remedy.model_dump() for remedy in table.remedy or ())


def _rules(table: JudgeTable, path: Path) -> dict[str, tuple[str, str]]:
    for probe in table.rule or {}:
        if probe not in plugins.names("probes"):
            raise _no_such(probe, plugins.names("probes"), "probe", f"{path}: [rule.{probe}]")
    return {probe: (rule.text, rule.negated) for probe, rule in (table.rule or {}).items()}


def _no_such(name: str, known: Sequence[str], kind: str, place: str) -> DataError:
    near = get_close_matches(name, known, n=1)
    guess = f"did you mean '{near[0]}'? " if near else ""
    hint = f"{guess}there are: {', '.join(known) or 'none in this version'}"
    return DataError(f"{place}: there is no {kind} '{name}'", hint=hint)


# --- what the judge is asked ------------------------------------------------------------------------


def _asking(table: JudgeTable, path: Path) -> Asking | None:
    """Return what the file says is asked, or None where it leaves that to a study."""
    if table.prompt is None and table.question is None:
        if table.reader is not None:
            raise DataError(f"{path}: a [reader] without questions", hint="add [prompt] and [[question]]")
        return None
    if table.prompt is None:
        raise DataError(
            f"{path}: questions without a [prompt]", hint="add [prompt] with `user = ...` naming parts"
        )
    if table.question is None:
        raise DataError(
            f"{path}: a [prompt] without a question", hint="add [[question]] with id, kind and text"
        )
    asking = Asking(
        messages=_messages(table.prompt.system, table.prompt.user, path),
        questions=_questions(table.question, path),
        reader=_reader(table),
    )
    if asking.reader.name not in plugins.names("readers"):
        raise _no_such(asking.reader.name, plugins.names("readers"), "reader", f"{path}: [reader]")
    _with_place(f"{path}: [reader]", lambda: check_reader(asking))
    return asking


def _messages(system: str | None, user: str, path: Path) -> tuple[Message, ...]:
    messages = [Message("system", system)] if system is not None else []
    messages.append(Message("user", user))
    if not any(placeholders(message.text) for message in messages):
        raise DataError(
            f"{path}: [prompt] names no part, so every item would look alike",
            hint="write {{task}}, {{response}}, {{log}}",
        )
    for message in messages:
        for broken in re.findall(r"\{\{(.*?)\}\}", message.text, re.DOTALL):
            if not placeholders("{{" + broken + "}}"):
                raise DataError(
                    f"{path}: [prompt] {message.role}: '{{{{{broken[:40]}}}}}' is not a part's name",
                    hint="a name is made of letters, digits and underscores",
                )
        _refuse_half_a_name(message, path)
    return tuple(messages)


_HALF_A_NAME = re.compile(
    r"\{\{[ \t]*(?P<opened>[A-Za-z_]\w*)[ \t]*\}?|(?<!\{)\{[ \t]*(?P<closed>[A-Za-z_]\w*)[ \t]*\}\}"
)


def _refuse_half_a_name(message: Message, path: Path) -> None:
    """Raise DataError for a part's name that lacks a brace: it would be sent to the judge as it stands."""
    without = re.sub(r"\{\{\s*[A-Za-z_]\w*\s*\}\}", lambda whole: " " * len(whole[0]), message.text)
    half = _HALF_A_NAME.search(without)
    if half is None:
        return
    line = message.text.count("\n", 0, half.start()) + 1
    raise DataError(
        f"{path}: [prompt] {message.role}, line {line}: '{half[0]}' lacks a brace",
        hint=f"write {{{{{half['opened'] or half['closed']}}}}}",
    )


def _questions(tables: Sequence[QuestionTable], path: Path) -> tuple[Question, ...]:
    seen: dict[str, int] = {}
    questions = []
    for number, table in enumerate(tables, start=1):
        place = f"{path}: [[question]] {number} ('{table.id}')"
        if table.id in seen:
            raise DataError(
                f"{place}: question {seen[table.id]} has the same id",
                hint="give each question an id of its own",
            )
        seen[table.id] = number
        _only_keys_of_its_kind(table, place)
        questions.append(_with_place(place, lambda table=table: _question(table)))  # type: ignore[misc]
    return tuple(questions)


_KEYS_OF_KIND = {
    "predicate": (),
    "choice": ("options",),
    "score": ("range", "levels"),
    "checklist": ("items",),
}
_NEEDED = {"choice": "options", "checklist": "items"}


def _only_keys_of_its_kind(table: QuestionTable, place: str) -> None:
    for key in ("range", "levels", "options", "items"):
        if getattr(table, key) is not None and key not in _KEYS_OF_KIND[table.kind]:
            raise DataError(
                f"{place}: a {table.kind} has no '{key}'",
                hint=f"remove it, or make the question a {_kind_with(key)}",
            )
    needed = _NEEDED.get(table.kind)
    if needed and getattr(table, needed) is None:
        raise DataError(f"{place}: a {table.kind} needs '{needed}'", hint=f"add `{needed} = [...]`")


def _kind_with(key: str) -> str:
    return next(kind for kind, keys in _KEYS_OF_KIND.items() if key in keys)


def _question(table: QuestionTable) -> Question:
    match table.kind:
        case "predicate":
            return Predicate(table.id, table.text)
        case "choice":
            options = table.options or ()
            described = dict(options) if isinstance(options, Mapping) else None
            return Choice(table.id, table.text, tuple(options), described)
        case "score":
            levels = tuple(table.levels or ())
            low, high = table.range or ((0, len(levels) - 1) if levels else (0, 10))
            return Score(table.id, table.text, low, high, levels)
        case "checklist":
            items = [ChecklistItem(each.id, each.text, each.weight, each.scope) for each in table.items or ()]
            return Checklist(table.id, table.text, tuple(items))


def _reader(table: JudgeTable) -> ReaderSpec:
    if table.reader is None:
        return ReaderSpec(DEFAULT_READER)
    return ReaderSpec(table.reader.name, dict(table.reader.model_extra or {}))


def _with_place(place: str, make: Callable[[], Made]) -> Made:
    """Return what `make` makes; an error of ours is given the place in the file."""
    try:
        return make()
    except VoirdireError as error:
        raise DataError(f"{place}: {error}", hint=error.hint) from None
