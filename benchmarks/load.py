"""A cheap load generator: keep-alive connections with one request each at a time.

It runs as a separate process (`python load.py`, a `Load` as JSON on stdin, a `Report` on stdout),
so that its cost is not counted as the server's. It uses plain sockets to stay cheap.
"""

import json
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import cycle, islice

_LENGTH = b"\r\ncontent-length:"
_READ_BYTES = 1 << 18


@dataclass(frozen=True)
class Load:
    """`count` POSTs of `bodies` in turn, `connections` at a time; every answer must be a 200."""

    port: int
    path: str
    bodies: list[str]
    count: int
    connections: int


@dataclass(frozen=True)
class Report:
    """The total time, each answer's latency, the bytes of all bodies, and the last body."""

    seconds: float
    latencies_ms: list[float]
    body_bytes: int
    last_body: str

    def percentile_ms(self, percent: float) -> float:
        """Return the latency that `percent` of the answers did not exceed."""
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def in_own_process(load: Load) -> Report:
    """Run `load` in a separate process and return its report."""
    command = [sys.executable, __file__]
    done = subprocess.run(
        command, input=json.dumps(asdict(load)), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"the load generator failed: {done.stderr}")
    return Report(**json.loads(done.stdout))


@dataclass
class _Connection:
    """One socket and its pending answer."""

    socket: socket.socket
    sent_at: float = 0.0
    received: bytearray = field(default_factory=bytearray)

    def send(self, request: bytes) -> None:
        self.received.clear()
        self.sent_at = time.perf_counter()
        self.socket.sendall(request)

    def body(self) -> bytes | None:
        """Read available bytes; return the body once it is complete."""
        data = self.socket.recv(_READ_BYTES)
        if not data:
            raise RuntimeError(f"the server hung up after {bytes(self.received[:200])!r}")
        self.received += data
        end = self.received.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self.received[:end]).lower()
        if not head.startswith(b"http/1.1 200"):
            raise RuntimeError(f"not a 200: {bytes(self.received[:2000])!r}")
        length = int(head.partition(_LENGTH)[2].partition(b"\r\n")[0])
        if len(self.received) < end + 4 + length:
            return None
        return bytes(self.received[end + 4 :])


def run(load: Load) -> Report:
    """Send everything; raise RuntimeError at the first answer that is not a complete 200."""
    selector = selectors.DefaultSelector()
    connections = [_connect(load.port) for _ in range(min(load.connections, load.count))]
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    requests = islice(cycle(_rendered(load)), load.count)
    latencies_ms: list[float] = []
    body_bytes = 0
    body = b""
    started = time.perf_counter()
    for connection in connections:
        connection.send(next(requests))
    while len(latencies_ms) < load.count:
        for ready, _ in selector.select():
            connection = ready.data
            whole = connection.body()
            if whole is not None:
                body = whole
                body_bytes += len(body)
                latencies_ms.append((time.perf_counter() - connection.sent_at) * 1000)
                if request := next(requests, None):
                    connection.send(request)
    return Report(time.perf_counter() - started, latencies_ms, body_bytes, body.decode())


def _connect(port: int) -> _Connection:
    connected = socket.create_connection(("127.0.0.1", port))
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _Connection(connected)


def _rendered(load: Load) -> Iterator[bytes]:
    for body in load.bodies:
        data = body.encode()
        head = (
            f"POST {load.path} HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        yield head.encode() + data


if __name__ == "__main__":
    json.dump(asdict(run(Load(**json.load(sys.stdin)))), sys.stdout)
