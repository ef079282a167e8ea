"""A chat server on 127.0.0.1 that answers every request after a fixed delay; in a process of its own.

It does as little as a server can, so that what is measured is the client. Prints its port, then serves until
its standard input closes.
"""

import argparse
import asyncio
import contextlib
import json
import sys
from typing import cast

_CONTENT = {"text": "SCORE: 7", "one": "1"}


def answer(content: str) -> bytes:
    """Return one whole HTTP response with a chat completion that says `content`."""
    body = json.dumps(
        {
            "id": "chatcmpl-bench",
            "object": "chat.completion",
            "created": 1,
            "model": "bench-2026-11-30",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "logprobs": None,
                    "message": {"role": "assistant", "content": content, "refusal": None},
                }
            ],
            "usage": {"prompt_tokens": 150, "completion_tokens": 3, "total_tokens": 153},
            "system_fingerprint": "fp_bench",
        }
    ).encode()
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )


class ChatProtocol(asyncio.Protocol):
    """One connection: reads a request, waits, writes the answer; pipelining is not needed."""

    def __init__(self, delay: float, response: bytes) -> None:
        self._delay = delay
        self._response = response
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answer after the delay once the whole request is here."""
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        if len(body) >= length:
            self._buffer = body[length:]
            self._loop.call_later(self._delay, self._respond)

    def _respond(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(self._response)


async def serve(delay: float, content: str) -> None:
    """Serve until standard input closes."""
    loop = asyncio.get_running_loop()
    response = answer(content)
    server = await loop.create_server(lambda: ChatProtocol(delay, response), "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds")
    parser.add_argument("--content", choices=sorted(_CONTENT), default="text")
    options = parser.parse_args()
    with contextlib.suppress(ImportError):
        import uvloop

        uvloop.install()
    asyncio.run(serve(options.delay, _CONTENT[options.content]))


if __name__ == "__main__":
    main()
