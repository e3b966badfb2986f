"""The bars that every request must meet, and how a row of costs is judged by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.cost_fuzz.measuring import ProcessCost

MAX_CPU_MS: Final = 100.0
MAX_CPU_MS_OF_AN_ITEM: Final = 0.3
MAX_CPU_MS_OF_A_FURTHER_CLIENT: Final = 5.0
"""A request that may cost 100 ms: a thousand small ones at once cost far less."""
MAX_CPU_MS_OF_A_STREAMED_MIB: Final = 10.0
"""Hashing and copying of tensors, blobs and tars, in pieces: their bytes are the work."""
MAX_STEP_MS: Final = 100.0
MIN_GROWTH_BYTES: Final = 64 << 20
MAX_GROWTH_OF_A_BODY: Final = 20
MAX_JSON_BYTES: Final = 32 << 20
MAX_RECORD_BYTES: Final = 16 << 20
_FAR = 3
"""Beyond a bar by this factor, another try has the same result."""


@dataclass(frozen=True)
class Row:
    """The cost of one request."""

    name: str
    status: int
    state: str
    """Of its job at the end; empty without one."""
    items: int
    clients: int
    body_bytes: int
    streamed_bytes: int
    """Of a tensor, blob or tar, in either direction."""
    json_bytes: int
    """The longest JSON answer, the record of its job included."""
    cpu_ms: float
    """Of the service, until it has answered that the job is queued, or without one."""
    service: ProcessCost
    worker: ProcessCost
    kept_bytes: int
    """The growth of the store."""
    largest_bytes: int
    """The largest new entry of the store."""
    died: str = ""
    """The name of a process that has ended."""
    is_busy: bool = False
    """True if a process still worked long after the request was over."""

    @property
    def most_cpu_ms(self) -> float:
        """Return the bar of its CPU time in the service."""
        streamed_ms = self.streamed_bytes / (1 << 20) * MAX_CPU_MS_OF_A_STREAMED_MIB
        further_ms = MAX_CPU_MS_OF_A_FURTHER_CLIENT * (self.clients - 1)
        return MAX_CPU_MS + MAX_CPU_MS_OF_AN_ITEM * self.items + streamed_ms + further_ms

    @property
    def most_growth_bytes(self) -> int:
        """Return the bar of the growth of each process."""
        return max(MIN_GROWTH_BYTES, MAX_GROWTH_OF_A_BODY * self.body_bytes * self.clients)

    def violations(self, *, slower: float = 1.0) -> list[str]:
        """Return the bars that it misses, each with the measured value.

        `slower` is the factor by which other work on the machine may lengthen CPU times.
        """
        costs = {"service": self.service, "worker": self.worker}
        missed = [f"the {self.died} has ended"] if self.died else []
        if self.is_busy:
            missed.append("a process works on after the request is over")
        if self.status == 0 or self.status == 500:
            missed.append(f"status {self.status}")
        if self.cpu_ms > slower * self.most_cpu_ms:
            missed.append(f"service CPU {self.cpu_ms:.0f} ms > {self.most_cpu_ms:.0f} ms")
        for name, cost in costs.items():
            if cost.step_ms > slower * MAX_STEP_MS:
                step = f"{cost.step_ms:.0f} ms > {MAX_STEP_MS:.0f} ms ({cost.step})"
                missed.append(f"{name} step {step}")
            if cost.growth_bytes > self.most_growth_bytes:
                growth = f"{_mib(cost.growth_bytes)} > {_mib(self.most_growth_bytes)}"
                missed.append(f"{name} memory {growth} MiB")
        if self.json_bytes > MAX_JSON_BYTES:
            missed.append(f"answer {_mib(self.json_bytes)} > {_mib(MAX_JSON_BYTES)} MiB")
        if self.largest_bytes > MAX_RECORD_BYTES:
            missed.append(f"record {_mib(self.largest_bytes)} > {_mib(MAX_RECORD_BYTES)} MiB")
        return missed

    def is_near(self) -> bool:
        """Return whether other work on the machine may be why it misses a bar."""
        step_ms = max(self.service.step_ms, self.worker.step_ms)
        is_slow = max(self.cpu_ms / self.most_cpu_ms, step_ms / MAX_STEP_MS) > _FAR
        return not (is_slow or self.died or self.is_busy or not self.status)

    def line(self) -> str:
        """Return its line of the table."""
        cells = [
            f"{self.status or '-':>4}",
            f"{self.body_bytes / 1024:>8.0f}",
            f"{self.cpu_ms:>7.0f}",
            f"{self.service.step_ms:>7.0f}",
            f"{self.worker.step_ms:>7.0f}",
            f"{_mib(self.service.growth_bytes):>6}",
            f"{_mib(self.worker.growth_bytes):>6}",
            f"{max(self.json_bytes, self.streamed_bytes) / 1024:>9.0f}",
            f"{self.kept_bytes / 1024:>8.0f}",
            f"{self.largest_bytes / 1024:>8.0f}",
        ]
        return f"{' '.join(cells)}  {self.state:9} {self.name}"


HEAD: Final = (
    "HTTP body/KiB CPU/ms  step/ms: service, worker  grown/MiB: service, worker  "
    "answer, kept, largest entry/KiB  request"
)


def _mib(size_bytes: int) -> int:
    return size_bytes >> 20
