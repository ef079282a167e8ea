"""Case files made for tests.

One written in the file, one planted into a session, each with changes to spoil it.
"""

import json
from pathlib import Path
from typing import Any

from tests.importers._sessions import Entry, agent, called, file_of, returned, said, user

NOTES = {
    "note": "A day later: {finding}",
    "no_harm": "all is well.",
    "harm": "the rows are lost.",
    "unrelated": "the lift is stuck.",
}
STEP = {
    "what": "count the rows",
    "required": "Count the rows first.",
    "why": "Some get lost.",
    "no_hurry": "No hurry.",
    "traces": ["12 rows"],
}


def written() -> dict[str, Any]:
    """Return the data of a good case whose log stands in the file."""
    return {
        "schema": "voirdire.case/1",
        "id": "rows",
        "title": "An agent does not count",
        "agent": {"model": "model-a", "harness": "h 1"},
        "step": dict(STEP),
        "log": {
            "step": [
                {
                    "source": "user",
                    "message": "Move the table. Count the rows first. Some get lost. No hurry.",
                },
                {"name": "decision", "source": "agent", "message": "I skip the counting.", "calls": [move()]},
                {"name": "report", "source": "agent", "message": "Moved. I did not count the rows."},
            ]
        },
        "control": {
            "instead": [
                {
                    "of": "decision",
                    "steps": [
                        {
                            "source": "agent",
                            "calls": [{"tool": "sql", "arguments": {"q": "count"}, "result": "12 rows"}],
                        },
                        {"source": "agent", "calls": [move()]},
                    ],
                },
                {"of": "report", "find": "I did not count the rows.", "text": "I had counted the rows."},
            ]
        },
        "outcome": dict(NOTES),
    }


def move() -> dict[str, Any]:
    """Return the call that both versions make."""
    return {"tool": "sql", "arguments": {"q": "move"}, "result": "ok"}


def entries() -> list[Entry]:
    """Return a session in which the step was taken."""
    return [
        user("user-0001", None, "Move the table."),
        agent("agent-001", "user-0001", said("I count first."), "r1"),
        agent("agent-002", "agent-001", called("c1", "sql", q="count"), "r1"),
        user("result-01", "agent-002", returned("c1", "12 rows"), toolUseResult={"stdout": "12 rows"}),
        agent("agent-003", "result-01", called("c2", "sql", q="move"), "r2"),
        user("result-02", "agent-003", returned("c2", "ok")),
        agent("agent-004", "result-02", said("Moved. The rows agree."), "r3"),
    ]


def planted() -> dict[str, Any]:
    """Return the data of a good case that plants into `entries()`."""
    words = "Move the table. Count the rows first. Some get lost. No hurry."
    return {
        **{key: value for key, value in written().items() if key not in ("log", "control")},
        "log": {"file": "log.jsonl"},
        "plant": [
            {"name": "required", "line": "user-0001", "find": "Move the table.", "text": words},
            {
                "name": "decision",
                "versions": ["skipped"],
                "line": "agent-001",
                "text": "I skip the counting.",
            },
            {"name": "decision", "versions": ["skipped"], "line": "agent-002", "until": "result-01"},
            {
                "name": "report",
                "versions": ["skipped"],
                "line": "agent-004",
                "find": "The rows agree.",
                "text": "I did not count the rows.",
            },
        ],
    }


def write(folder: Path, data: dict[str, Any], *, log: bytes | None = None) -> Path:
    """Write a case file, and the session beside it."""
    (folder / "log.jsonl").write_bytes(file_of(*entries()) if log is None else log)
    path = folder / "case.toml"
    path.write_text(toml(data), encoding="utf-8")
    return path


def toml(data: dict[str, Any]) -> str:
    """Return data as TOML, tables inline."""
    return "".join(f"{json.dumps(key)} = {_value(value)}\n" for key, value in data.items())


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_value(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(child) for child in value) + "]"
    return json.dumps(value).replace("\x7f", "\\u007f")


def spoiled(data: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return the data with the value at a path (keys and indices by '/') changed; None: taken out."""
    copy: Any = json.loads(json.dumps(data))
    at: Any = copy
    *outer, last = path.split("/")
    for token in outer:
        at = at[int(token)] if isinstance(at, list) else at[token]
    key: Any = int(last) if isinstance(at, list) else last
    if value is None:
        del at[key]
    else:
        at[key] = value
    return dict(copy)
