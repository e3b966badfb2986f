"""Prometheus metrics: counters of this process, and gauges of the deployment."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from jobs.work_metrics import WorkMetrics
from service.http.traffic import Traffic
from store.bucket import Bucket
from store.jobs.types import LaneLoad
from store.workers import Worker

SANDBOX_LEVELS = ("strict", "standard", "weak", "unsafe", "launcher")


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


class _DeploymentCollector(Collector):
    """Counts of all processes, as the store has them."""

    def __init__(self) -> None:
        self.declared = WorkMetrics()
        self.totals: Mapping[str, float] = {}

    def collect(self) -> Iterator[Metric]:
        """Yield every declared series."""
        yield from self.declared.with_totals(self.totals)


class Metrics:
    """Prometheus metrics of one process, in their own registry."""

    def __init__(self, traffic: Traffic, bucket: Bucket | None = None) -> None:
        self.registry = CollectorRegistry()
        self.compilations = Counter(
            "tritond_compilations",
            "Compile requests by cache status (hit, miss, join)",
            ["cache"],
            registry=self.registry,
        )
        self.memory_hits = 0
        """A plain number until the next scrape: the fastest answer pays for no lock."""
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
        self.sandboxes = Gauge(
            "tritond_workers_by_sandbox",
            "Live workers by the level of their sandbox",
            ["level"],
            registry=self.registry,
        )
        self.gpus = Gauge("tritond_gpus", "GPUs that take jobs", ["device"], registry=self.registry)
        self.stored = Gauge(
            "tritond_stored_bytes",
            "Bytes in the store: requests of unfinished jobs, records and blobs of the cache",
            ["kind"],
            registry=self.registry,
        )
        self.work = WorkMetrics()
        """Counts that this process adds to the deployment's, since it may reap."""
        self._deployment = _DeploymentCollector()
        self.registry.register(traffic)
        self.registry.register(self._deployment)

    def show_memory_hits(self) -> None:
        """Add them to the compilations."""
        hits, self.memory_hits = self.memory_hits, 0
        self.compilations.labels("memory").inc(hits)

    def show_workers(self, workers: Sequence[Worker], devices: Sequence[str]) -> None:
        """Set what lives now; `devices` are all classes of GPUs that ever were here."""
        for kind in ("compile", "launch"):
            self.workers.labels(kind).set(sum(worker.kind == kind for worker in workers))
        circuits = [worker.blobs["circuit"] for worker in workers if worker.blobs]
        self.open_circuits.labels("workers").set(circuits.count("open"))
        for level in SANDBOX_LEVELS:
            self.sandboxes.labels(level).set(sum(worker.sandbox == level for worker in workers))
        self.gpus.clear()
        for device in devices:
            self.gpus.labels(device).set(sum(worker.device == device for worker in workers))

    def show_totals(
        self, totals: Mapping[str, float], lanes: Iterable[str], devices: Sequence[str]
    ) -> None:
        """Show the deployment's counts, every series of `lanes` and `devices` and no other."""
        self._deployment.declared = WorkMetrics()
        self._deployment.declared.declare(lanes, devices)
        self._deployment.totals = totals

    def show_lanes(self, loads: Mapping[str, LaneLoad]) -> None:
        """Set what waits in each lane; lanes that are not there any more are not shown."""
        self.queued.clear()
        self.oldest_wait.clear()
        for lane, load in loads.items():
            self.queued.labels(lane).set(load.queued)
            self.oldest_wait.labels(lane).set(load.oldest_wait_ms / 1000)
