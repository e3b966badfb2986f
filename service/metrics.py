"""What the service counts, for GET /metrics; a registry of its own for every application."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class Metrics:
    """Prometheus metrics of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.compilations = Counter(
            "tritond_compilations",
            "Compile requests by what the cache said (hit, miss, join)",
            ["cache"],
            registry=self.registry,
        )
        # a labelled counter costs a look-up that the fastest path can do without
        self.remembered = self.compilations.labels("memory")
        self.evictions = Counter(
            "tritond_evicted_while_answering",
            "Finished compilations whose blobs were gone before they could be answered",
            registry=self.registry,
        )
        self.direct_answers = Counter(
            "tritond_answered_without_artifacts",
            "Answers given without artifacts because the cache evicted them three times",
            registry=self.registry,
        )
        self.overruled = Gauge(
            "tritond_slices_overruled",
            "Kernels that the whole text of a source made otherwise than its slice",
            registry=self.registry,
        )
        self.queued = Gauge(
            "tritond_queued_jobs", "Jobs waiting for a worker", ["lane"], registry=self.registry
        )
        self.workers = Gauge(
            "tritond_workers", "Workers that are alive", ["kind"], registry=self.registry
        )
