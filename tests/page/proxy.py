"""A proxy that serves tritond under a path prefix, as operators do."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

NOT_PASSED_ON = {"transfer-encoding", "connection", "content-length", "date", "server"}


@contextmanager
def under(path: str, url: str) -> Iterator[str]:
    """Serve `url` under `path`, which begins and ends with a slash; yield the new address."""
    upstream = urlsplit(url).netloc

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(path):
                self.send_error(404)
                return
            length = int(self.headers.get("Content-Length", 0))
            headers = {name: value for name, value in self.headers.items() if name != "Origin"}
            asked = http.client.HTTPConnection(upstream, timeout=90)
            asked.request(
                self.command,
                "/" + self.path.removeprefix(path),
                self.rfile.read(length) if length else None,
                headers | {"Host": upstream},
            )
            answer = asked.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in NOT_PASSED_ON:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            asked.close()

        do_POST = do_PUT = do_GET  # noqa: N815  (the names that http.server looks for)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}"
    finally:
        server.shutdown()
        server.server_close()
