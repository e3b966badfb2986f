"""Measures the cost of refusing wrong bodies: CPU and memory, at the size limits.

All bodies of `refused_bodies.py` are posted to one service. The thirty most expensive ones are then
posted to a new service each, after a request that loads its lazy parts. The bar is 100 ms of CPU,
and 20 times the body's size in memory. Accepted bodies are reported separately.
"""

import argparse
import http.client
import sys
from dataclasses import dataclass
from pathlib import Path

from deployment import Deployment, Server
from refused_bodies import HEADERS, Refused, bodies
from table import Row, show

BAR_MS = 100.0
BAR_TIMES = 20.0
MIN_COUNTED_BYTES = 1 << 20
"""A smaller body counts as this large."""
MAX_BODIES = 30
TIMEOUT_S = 120.0
_NS_PER_MS = 1e6


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one body."""

    name: str
    size_bytes: int
    status: int
    cpu_ms: float
    memory_bytes: int
    slug: str

    @property
    def is_refused(self) -> bool:
        """True if the service refused it."""
        return self.status >= http.client.BAD_REQUEST

    @property
    def times(self) -> float:
        """The memory that it took, in multiples of the body's size."""
        return self.memory_bytes / max(self.size_bytes, MIN_COUNTED_BYTES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="bodies whose name contains this")
    parser.add_argument(
        "--most", type=int, default=MAX_BODIES, help="number of bodies measured alone"
    )
    arguments = parser.parse_args()
    chosen = [body for body in bodies() if arguments.only in body.name]
    with Deployment() as deployment:
        service = deployment.serve()
        first = []
        for body in chosen:
            cost = measured(service, body)
            first.append((cost, body))
            print(reported(cost), file=sys.stderr, flush=True)
        service.stop()
        refused = [(cost, body) for cost, body in first if cost.is_refused]
        refused.sort(key=lambda pair: max(pair[0].cpu_ms / BAR_MS, pair[0].times / BAR_TIMES))
        alone = [on_its_own(deployment, body) for _, body in reversed(refused[-arguments.most :])]
    accepted = sorted(
        (cost for cost, _ in first if not cost.is_refused), key=lambda cost: -cost.cpu_ms
    )
    print("accepted, so not under the bar:")
    for cost in accepted:
        print("  " + reported(cost))
    show([row for cost in alone for row in rows_of(cost)])


def rows_of(cost: Cost) -> list[Row]:
    """Return the rows of one body that was measured alone."""
    what = f"{cost.name} ({cost.size_bytes / 2**20:.1f} MiB, {cost.status} {cost.slug})"
    return [
        Row(f"{what}: CPU", f"{cost.cpu_ms:.0f} ms", f"{BAR_MS:g} ms", cost.cpu_ms / BAR_MS, 1.0),
        Row(
            f"{what}: memory",
            f"{cost.memory_bytes / 2**20:.0f} MiB",
            f"{BAR_TIMES:g} times its size",
            cost.times / BAR_TIMES,
            1.0,
        ),
    ]


def reported(cost: Cost) -> str:
    """Return a line about one body."""
    return (
        f"{cost.name}: {cost.size_bytes / 2**20:.1f} MiB, {cost.status} {cost.slug}, "
        f"{cost.cpu_ms:.0f} ms of CPU, {cost.memory_bytes / 2**20:.0f} MiB ({cost.times:.1f} times)"
    )


def on_its_own(deployment: Deployment, body: Refused) -> Cost:
    """Return the cost of `body` for a new service, after one small body."""
    service = deployment.serve()
    try:
        return measured(service, body)
    finally:
        service.stop()


def measured(service: Server, body: Refused) -> Cost:
    """Return the cost of `body`; a small wrong one precedes it, to load lazy parts."""
    posted(service, body, b"[]")
    content = body.content()
    if body.path_of is not None:
        body = body.at(content)
    cpu_before, memory_before = cpu_ns(service.pid), memory(service.pid, "VmRSS")
    Path(f"/proc/{service.pid}/clear_refs").write_text("5")
    status, slug = posted(service, body, content)
    grown = memory(service.pid, "VmHWM") - memory_before
    cpu_ms = (cpu_ns(service.pid) - cpu_before) / _NS_PER_MS
    return Cost(body.name, len(content), status, cpu_ms, max(grown, 0), slug)


def posted(service: Server, body: Refused, content: bytes) -> tuple[int, str]:
    """Return the status and the problem's slug in the answer to `content`."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=TIMEOUT_S)
    try:
        connection.request(body.method, body.path, content, HEADERS)
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if b'"isError":true' in text:  # a tool refuses with 200
        return http.client.UNPROCESSABLE_ENTITY, "isError"
    slug = text.partition(b'"slug":"')[2].partition(b'"')[0].decode()
    return answer.status, slug or (f"{len(text)} bytes")


def cpu_ns(pid: int) -> int:
    """Return the CPU time of all threads of a process so far."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


def memory(pid: int, what: str) -> int:
    """Return a figure of /proc/<pid>/status in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"{what}:")]
    return int(line.split()[1]) << 10


if __name__ == "__main__":
    main()
