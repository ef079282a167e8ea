"""A server on 127.0.0.1 that serves one file, whole or in part, and may drop the connection half-way."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """`ranges`: whether it obeys Range; `drop_after`: bytes after which the next answer ends; None: it is whole."""

    content: bytes
    ranges: bool = True
    drop_after: int | None = None
    status: int = 200
    announces: int | None = None
    url: str = ""
    asked: list[str | None] = field(default_factory=list)
    """The Range header of each request."""

    @contextmanager
    def running(self) -> Iterator["FileServer"]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_port}/model.gguf"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _handler(file: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            file.asked.append(wanted)
            if file.status != 200:
                self.send_error(file.status)
                return
            begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and file.ranges else 0
            if begin >= len(file.content) and begin:
                self.send_error(416)
                return
            body = file.content[begin:]
            self.send_response(206 if begin else 200)
            self.send_header("Content-Length", str(file.announces or len(body)))
            self.end_headers()
            drop, file.drop_after = file.drop_after, None
            self.wfile.write(body if drop is None else body[:drop])

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    return Handler
