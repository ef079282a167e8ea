"""Session files made for tests: entries as Claude Code writes them, one call per line."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from voirdire.importers.atif import Step, Text, Trajectory

Entry = dict[str, Any]


def entry(kind: str, uuid: str, parent: str | None, **more: Any) -> Entry:
    """Return an entry of the chain."""
    base: Entry = {"type": kind, "uuid": uuid, "parentUuid": parent, "isSidechain": False, "sessionId": "s-1"}
    return {**base, "version": "2.1.0", **more}


def user(uuid: str, parent: str | None, content: object, **more: Any) -> Entry:
    """Return a user's message, or tool results."""
    return entry("user", uuid, parent, message={"role": "user", "content": content}, **more)


def agent(uuid: str, parent: str | None, content: object, response: str | None = None, **more: Any) -> Entry:
    """Return a line of a response."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 7}
    message = {"id": response or f"msg-{uuid}", "role": "assistant", "model": "model-a", "usage": usage}
    return entry("assistant", uuid, parent, message={**message, "content": content}, **more)


def said(text: str) -> list[Mapping[str, Any]]:
    """Return a text block in its list."""
    return [{"type": "text", "text": text}]


def called(call_id: str, name: str = "Bash", **arguments: Any) -> list[Mapping[str, Any]]:
    """Return a tool call in its list."""
    return [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}]


def returned(call_id: str, content: object, **more: Any) -> list[Mapping[str, Any]]:
    """Return a tool result in its list."""
    return [{"type": "tool_result", "tool_use_id": call_id, "content": content, **more}]


def file_of(*entries: object) -> bytes:
    """Return the bytes of a session file; a text is a raw line."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in entries]
    return "".join(f"{line}\n" for line in lines).encode()


def without_places(trajectory: Trajectory) -> Trajectory:
    """Return the trajectory as a file of its own would give it, places left out: for comparing two."""
    return replace(
        trajectory,
        steps=tuple(_step_without_places(step) for step in trajectory.steps),
        subagents=tuple(without_places(one) for one in trajectory.subagents),
    )


def _step_without_places(step: Step) -> Step:
    return replace(
        step,
        message=tuple(Text(text.text) for text in step.message),
        reasoning=tuple(Text(text.text) for text in step.reasoning),
        calls=tuple(replace(call, place=None) for call in step.calls),
        results=tuple(
            replace(result, content=tuple(Text(text.text) for text in result.content))
            for result in step.results
        ),
    )
