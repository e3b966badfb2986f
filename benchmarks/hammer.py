"""A caller that never waits: posts one request again and again over several connections.

It runs as a separate process (`python hammer.py`). Its first line of stdin is what to post, as
JSON; each further line is for how many seconds. It answers each with how often each status came.
"""

import json
import selectors
import socket
import sys
import time
from collections import Counter
from typing import Any

CONNECTIONS = 8
_READ_BYTES = 1 << 16


def main() -> None:
    """Serve orders until the end of stdin."""
    order = json.loads(sys.stdin.readline())
    for line in sys.stdin:
        print(json.dumps(hammered(**order, seconds=float(line))), flush=True)


def hammered(port: int, path: str, secret: str, body: Any, seconds: float) -> Counter[str]:
    """Post `body` for so long; return how often each status came."""
    text = json.dumps(body)
    request = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}"
    ).encode()
    selector, answers = selectors.DefaultSelector(), Counter[str]()
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    for connection in connections:
        selector.register(connection, selectors.EVENT_READ, bytearray())
        connection.sendall(request)
    until_s = time.monotonic() + seconds
    while (left_s := until_s - time.monotonic()) > 0:
        for ready, _ in selector.select(left_s):
            received = ready.data
            received += ready.fileobj.recv(_READ_BYTES)
            head, _, rest = received.partition(b"\r\n\r\n")
            length = head.lower().partition(b"content-length:")[2].split(b"\r")[0]
            if length and len(rest) >= int(length):
                answers[head.split()[1].decode()] += 1
                received.clear()
                ready.fileobj.sendall(request)
    for connection in connections:
        connection.close()
    return answers


if __name__ == "__main__":
    main()
