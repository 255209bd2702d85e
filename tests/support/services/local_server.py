"""A web server on this machine that answers calls of an API."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Protocol, TypeVar

# method, path, content and token of a call → status, content and headers of its answer
Answer = Callable[[str, str, bytes, str | None], tuple[int, bytes, dict[str, str]]]


class LocalApi(Protocol):
    """An API of this machine; its address is set while it is served."""

    address: str

    def answer(
        self, method: str, path: str, content: bytes, token: str | None
    ) -> tuple[int, bytes, dict[str, str]]: ...


Api = TypeVar("Api", bound=LocalApi)


@contextmanager
def serving(api: Api, token: str) -> Iterator[Api]:
    """Serve the answers of an API; token: the header that has it."""
    with answering(api.answer, token) as api.address:
        yield api


@contextmanager
def answering(answer: Answer, token: str) -> Iterator[str]:
    """Serve answers on a local port; token: the header that has it. Yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            code, data, headers = answer(self.command, self.path, content, self.headers.get(token))
            self.send_response(code)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_PUT = reply

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=lambda: server.serve_forever(0.002), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
