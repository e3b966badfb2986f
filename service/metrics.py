"""Prometheus metrics: counters of this process, and gauges of the deployment."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from store.bucket import Bucket
from store.jobs.types import LaneLoad


class _BucketCollector(Collector):
    """Requests to the bucket of large blobs, counted where they are made."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def collect(self) -> Iterator[Metric]:
        """Yield the count of failed requests."""
        yield CounterMetricFamily(
            "tritond_bucket_failures",
            "Requests of this process to the bucket of large blobs that failed",
            value=self._bucket.failures,
        )


class Metrics:
    """Prometheus metrics of one process, in their own registry."""

    def __init__(self, bucket: Bucket | None = None) -> None:
        self.registry = CollectorRegistry()
        self.compilations = Counter(
            "tritond_compilations",
            "Compile requests by cache status (hit, miss, join)",
            ["cache"],
            registry=self.registry,
        )
        # the fastest path avoids the look-up of a labelled counter
        self.remembered = self.compilations.labels("memory")
        self.evictions = Counter(
            "tritond_evicted_while_answering",
            "Finished compilations whose blobs were evicted before the answer was sent",
            registry=self.registry,
        )
        self.direct_answers = Counter(
            "tritond_answered_without_artifacts",
            "Answers given without artifacts because the cache evicted them three times",
            registry=self.registry,
        )
        self.overruled = Gauge(
            "tritond_slices_overruled",
            "Kernels whose whole source gave another result than its slice",
            registry=self.registry,
        )
        self.queued = Gauge(
            "tritond_queued_jobs", "Jobs waiting for a worker", ["lane"], registry=self.registry
        )
        self.oldest_wait = Gauge(
            "tritond_queue_oldest_wait_seconds",
            "Time that the oldest of them has waited; 0 where none waits",
            ["lane"],
            registry=self.registry,
        )
        self.open_circuits = Gauge(
            "tritond_bucket_circuits_open",
            "Processes that make no requests to the bucket of large blobs, as the last ones failed",
            ["of"],
            registry=self.registry,
        )
        if bucket is not None:
            self.registry.register(_BucketCollector(bucket))
            self.open_circuits.labels("service").set_function(lambda: bucket.circuit.is_open)
        self.workers = Gauge("tritond_workers", "Live workers", ["kind"], registry=self.registry)

    def show_lanes(self, loads: Mapping[str, LaneLoad]) -> None:
        """Set what waits in each lane; lanes that are not there any more are not shown."""
        self.queued.clear()
        self.oldest_wait.clear()
        for lane, load in loads.items():
            self.queued.labels(lane).set(load.queued)
            self.oldest_wait.labels(lane).set(load.oldest_wait_ms / 1000)
