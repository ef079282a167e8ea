"""An OpenAI-compatible chat server on 127.0.0.1, in a thread of its own, that says what a test wants.

with ChatServer() as server:                      # says "SCORE: 7" to everything
    ... base_url=server.url ...
with ChatServer(lambda asked: Plain(status=503)) as server:
    ...
server.asked                                      # every request that arrived, in order
"""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from aiohttp import web


@dataclass(frozen=True)
class Asked:
    """One request: its parsed body, raw body and headers, and its number (0 is the first)."""

    body: Mapping[str, object]
    raw: bytes
    headers: Mapping[str, str]
    number: int

    @property
    def text(self) -> str:
        """The last message."""
        messages = self.body["messages"]
        assert isinstance(messages, list)
        return str(messages[-1]["content"])


@dataclass(frozen=True)
class Says:
    """A chat completion that says `content`."""

    content: object = "SCORE: 7"
    finish: str = "stop"
    refusal: str | None = None
    model: str = "loopback-1"
    fingerprint: str | None = None
    usage: Mapping[str, object] | None = field(
        default_factory=lambda: {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22}
    )
    headers: Mapping[str, str] = field(default_factory=dict)

    def as_plain(self) -> "Plain":
        """Return the response as bytes."""
        data: dict[str, object] = {
            "id": "chatcmpl-loopback",
            "object": "chat.completion",
            "created": 1,
            "model": self.model,
            "choices": [
                {
                    "index": 0,
                    "finish_reason": self.finish,
                    "logprobs": None,
                    "message": {"role": "assistant", "content": self.content, "refusal": self.refusal},
                }
            ],
        }
        if self.usage is not None:
            data["usage"] = self.usage
        if self.fingerprint is not None:
            data["system_fingerprint"] = self.fingerprint
        return Plain(body=json.dumps(data).encode(), headers=self.headers)


@dataclass(frozen=True)
class Plain:
    """Any response. `cut`: bytes of the body after which the connection drops; None: it is sent whole."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    cut: int | None = None

    @classmethod
    def error(cls, status: int, code: str = "", message: str = "no", **headers: str) -> "Plain":
        """Return an error in OpenAI's shape; underscores in a header's name become hyphens."""
        body = json.dumps({"error": {"message": message, "type": code or None, "code": code or None}})
        return cls(status, body.encode(), {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass(frozen=True)
class Hangs:
    """No response for `seconds`, then none at all: the connection drops."""

    seconds: float = 30.0


Answering = Callable[[Asked], Says | Plain | Hangs]


class ChatServer:
    """The server; a context manager. `delay`: seconds before each answer. `url`: the base URL to ask."""

    def __init__(self, answering: Answering = lambda _: Says(), *, delay: float = 0.0) -> None:
        self._answering = answering
        self._delay = delay
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._port = 0
        self.asked: list[Asked] = []
        self.answered = 0
        self.in_flight = 0
        self.most_in_flight = 0

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(10)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def counts(self) -> Counter[str]:
        """How often each last message was asked."""
        return Counter(asked.text for asked in self.asked)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self._port = runner.addresses[0][1]
        self._started.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        asked = Asked(json.loads(raw), raw, dict(request.headers), len(self.asked))
        self.asked.append(asked)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if self._delay:
                await asyncio.sleep(self._delay)
            answer = self._answering(asked)
            return await self._respond(request, answer.as_plain() if isinstance(answer, Says) else answer)
        finally:
            self.in_flight -= 1

    async def _respond(self, request: web.Request, answer: Plain | Hangs) -> web.StreamResponse:
        if isinstance(answer, Hangs):
            await asyncio.sleep(answer.seconds)
            return _dropped(request)
        headers = {**answer.headers, "Content-Type": answer.content_type}
        if answer.cut is None:
            self.answered += answer.status == 200
            return web.Response(status=answer.status, body=answer.body, headers=headers)
        if not answer.cut:
            return _dropped(request)
        response = web.StreamResponse(
            status=answer.status, headers={**headers, "Content-Length": str(len(answer.body))}
        )
        await response.prepare(request)
        await response.write(answer.body[: answer.cut])
        return _dropped(request, response)


def _dropped(request: web.Request, response: web.StreamResponse | None = None) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return response or web.Response()
