"""Requests of this process by route, method and status: how long they took, and their bytes.

Plain numbers in dictionaries, because they are counted for every hit. A route is its template, and
a method or a path that no route has is `other`, so no request adds a label of its choice.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from starlette.types import Scope

from jobs.work_context import CALLER_ID
from jobs.work_metrics import OTHER, SECONDS
from service.http.bodies_in_flight import IN_SCOPE
from store.usage import Used

_METHODS = {name: name for name in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")}


@dataclass(slots=True)
class _Tally:
    counts: list[int] = field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    sum_s: float = 0.0


class Traffic(Collector):
    """Counts requests when they are over."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, str, int], _Tally] = {}
        self._callers: dict[str, Used] = {}
        self._received_bytes = self._sent_bytes = 0

    def note(self, scope: Scope, status: int, seconds: float, sent_bytes: int) -> None:
        """Count a request that is over; `status` 0: it was not answered."""
        path = getattr(scope.get("route"), "path", OTHER)
        of = path, _METHODS.get(scope["method"], OTHER), status
        tally = self._tallies.get(of)
        if tally is None:
            tally = self._tallies[of] = _Tally()
        tally.counts[bisect_left(SECONDS, seconds)] += 1
        tally.sum_s += seconds
        body = scope.get(IN_SCOPE)
        received_bytes = 0 if body is None else body.size_bytes
        caller = scope["state"].get(CALLER_ID)
        if caller is not None:
            own = self._callers.get(caller)
            if own is None:
                own = self._callers[caller] = Used()
            own.requests += 1
            own.received_bytes += received_bytes
            own.sent_bytes += sent_bytes
        self._received_bytes += received_bytes
        self._sent_bytes += sent_bytes

    def take_callers(self) -> dict[str, Used]:
        """Return what each caller did since the last call."""
        taken, self._callers = self._callers, {}
        return taken

    def collect(self) -> Iterator[Metric]:
        """Yield the histogram of durations, and bytes of bodies."""
        yield self._durations()
        volume = CounterMetricFamily(
            "tritond_http_body_bytes", "Bytes of bodies, by direction", labels=["direction"]
        )
        volume.add_metric(["received"], self._received_bytes)
        volume.add_metric(["sent"], self._sent_bytes)
        yield volume

    def _durations(self) -> Metric:
        durations = HistogramMetricFamily(
            "tritond_http_request_seconds",
            "Time until requests were answered, the waits of `wait` included",
            labels=["route", "method", "status"],
        )
        for (path, method, status), tally in self._tallies.items():
            seen, buckets = 0, []
            for bound, count in zip((*SECONDS, "+Inf"), tally.counts, strict=True):
                seen += count
                buckets.append((str(bound), seen))
            durations.add_metric([path, method, str(status)], buckets, tally.sum_s)
        return durations
