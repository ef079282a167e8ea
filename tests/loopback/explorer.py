"""Scripted explorers of a repository and a scripted judge of patches, as they answer a chat server.

The repository is that of `shop_history`: task k asks for `greet_k` in `shop/m<k>.py`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.loopback.chat_server import Asked, Says
from tests.mining._history import File, History

TASKS = 12


def module(k: int) -> str:
    return f"# module {k}\n\ndef open_{k}():\n    return {k}\n"


def solved(k: int) -> str:
    return f"{module(k)}\n\ndef greet_{k}(name):\n    return f'hello {{name}} from {k}'\n"


def shop_history(folder: Path, tasks: int = TASKS) -> Path:
    """Make a repository whose last commits are tasks, the last of them the first in a task file."""
    made = History(folder)
    begun: dict[str | bytes, File] = {f"shop/m{k}.py": module(k).encode() for k in range(tasks)}
    made.commit("Begin", {**begun, "README.md": b"A shop.\n"})
    for k in range(tasks):
        made.commit(f"Greet the guest in module {k}, by name", {f"shop/m{k}.py": solved(k).encode()})
    return made.made()


# --- explorers --------------------------------------------------------------------------------------------


def turn_of(asked: Asked) -> int:
    """How many steps were taken already."""
    return sum(message["role"] == "assistant" for message in messages_of(asked))


def messages_of(asked: Asked) -> list[dict[str, str]]:
    messages = asked.body["messages"]
    assert isinstance(messages, list)
    return messages


def module_of(asked: Asked) -> int:
    """Which module the brief is about."""
    text = " ".join(message["content"] for message in messages_of(asked)[:2])
    found = re.search(r"Greet the guest in module (\d+)", text)
    assert found is not None
    return int(found[1])


def items(k: int, quote: str | None = None) -> list[dict[str, Any]]:
    evidence = [{"path": f"shop/m{k}.py", "first": 3, "last": 4, "quote": quote or f"def open_{k}():"}]
    return [
        {"id": "greets", "kind": "does", "text": f"There is a function greet_{k} that takes a name.", "weight": 3,
         "evidence": evidence},
        {"id": "opens", "kind": "keeps", "text": f"open_{k} returns {k} as before.", "weight": 1, "evidence": evidence},
        {"id": "only_this", "kind": "scope", "text": "Nothing but this module is changed.", "weight": 1},
    ]  # fmt: skip


def good(asked: Asked) -> Says:
    """List, read, search, and write what it read."""
    k = module_of(asked)
    steps: Sequence[Mapping[str, object]] = [
        {"tool": "list", "path": "shop"},
        {"tool": "read", "path": f"./shop/m{k}.py"},
        {"tool": "search", "text": f"open_{k}("},
        {"tool": "write", "items": items(k)},
    ]
    return Says(json.dumps(steps[turn_of(asked)]))


def leaves(path: str) -> Any:
    """An explorer that looks around and then asks for `path`."""

    def answering(asked: Asked) -> Says:
        return Says(json.dumps({"tool": "read", "path": path if turn_of(asked) else "README.md"}))

    return answering


def never_ends(asked: Asked) -> Says:
    """An explorer that reads for ever."""
    return Says(json.dumps({"tool": "read", "path": f"shop/m{turn_of(asked) % TASKS}.py"}))


def invents(asked: Asked) -> Says:
    """An explorer that quotes what it never read."""
    return Says(json.dumps({"tool": "write", "items": items(module_of(asked), "def greet_guest(name):")}))


# --- a judge ----------------------------------------------------------------------------------------------


def judge(asked: Asked) -> Says:
    """Say yes to what a patch does, and rate it 10 where it does the task."""
    text = "\n".join(message["content"] for message in messages_of(asked))
    k = module_of(asked)
    patch = text.partition("The patch:\n\n")[2]
    does = f"+def greet_{k}(name):" in patch
    if "RATING" in text:
        return Says(f"RATING {10 if does else 2}\nBecause of what it does.")
    said = {
        f"There is a function greet_{k} that takes a name.": does,
        f"open_{k} returns {k} as before.": does,
        "Nothing but this module is changed.": does or ("NOTES.md" not in patch and "no change" not in patch),
    }
    named = re.findall(
        r'^"(s\d\d)": Is this statement true of the patch\? (.*) \(yes or no\)$', text, re.MULTILINE
    )
    return Says(json.dumps({label: said[statement] for label, statement in named}))
