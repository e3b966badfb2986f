"""Counts of workers and reapers: the work of a whole deployment, in Prometheus metrics.

A worker has no HTTP port. Each process counts in its own registry and adds what is new to the
counters in the store every few seconds; any service shows their sums. Labels come from closed
lists, or from toolchains and devices that workers registered, so no request adds a series.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, Metric
from prometheus_client.samples import Sample

from compiler.problem import Problem
from compiler.slug import Slug
from compiler.stages import COMPILED
from store.jobs.types import DeadLetter
from store.usage import UsageAccounts, UsageTally
from store.workers import Counters

SECONDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
"""Bounds of the buckets of all histograms."""
LEVELS: Final = ("front", "back")
"""Results within a compilation that others may have left in the cache."""
PHASES: Final = ("queue", "compile", "run", "total")
"""Of a launch, as its `timings_ms` names them."""
LOOPS: Final = ("service", "worker")
STAGES: Final = ("read", *COMPILED)
OTHER: Final = "other"
_SLUGS: Final = frozenset(Slug)
_PREFIX: Final = "metric:"


class WorkMetrics:
    """The counts of one process since its start."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.usage = UsageTally()
        self._published: dict[str, float] = {}
        self.queue_wait = Histogram(
            "tritond_queue_wait_seconds",
            "Time that claimed jobs waited for a worker",
            ["lane"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.stage = Histogram(
            "tritond_stage_seconds",
            "Time that the stages took of compilations that made them",
            ["stage"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.launch_phase = Histogram(
            "tritond_launch_phase_seconds",
            "Time that the phases of launches took",
            ["phase"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.loop_lag = Histogram(
            "tritond_loop_lag_seconds",
            "How late the event loops of services and workers were",
            ["of"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self.lookups = Counter(
            "tritond_stage_lookups",
            "Results within compilations that were looked up in the cache",
            ["level", "outcome"],
            registry=self.registry,
        )
        self.failures = Counter(
            "tritond_failures",
            "Jobs that a worker ended without success, by the slug of their problem",
            ["code"],
            registry=self.registry,
        )
        self.expired = Counter(
            "tritond_jobs_expired",
            "Jobs that no worker took in time (overdue), or that three lost (exhausted)",
            ["reason"],
            registry=self.registry,
        )
        self.gpu_busy = Counter(
            "tritond_gpu_busy_seconds",
            "Time that jobs had GPUs for themselves",
            ["device"],
            registry=self.registry,
        )

    def stage_took(self, stage: str, ms: float) -> None:
        """Count a stage that a compilation made; a name that is not known is `other`."""
        self.stage.labels(stage if stage in STAGES else OTHER).observe(ms / 1000)

    def ended(self, problem: Problem | None) -> None:
        """Count how a job ended."""
        if problem is not None:
            self.failed(problem.slug)

    def failed(self, code: str) -> None:
        """Count a failure; a code that is not known is `other`."""
        self.failures.labels(code if code in _SLUGS else OTHER).inc()

    def note_expired(self, reason: DeadLetter | None) -> None:
        """Count a job that a reaper ended."""
        self.expired.labels(reason or DeadLetter.EXHAUSTED).inc()

    def declare(self, lanes: Iterable[str], devices: Iterable[str]) -> None:
        """Have every series, at 0."""
        for metric, values in (
            (self.queue_wait, lanes),
            (self.stage, (*STAGES, OTHER)),
            (self.launch_phase, PHASES),
            (self.loop_lag, LOOPS),
            (self.failures, (*_SLUGS, OTHER)),
            (self.expired, DeadLetter),
            (self.gpu_busy, devices),
        ):
            for value in values:
                metric.labels(value)
        for level in LEVELS:
            for outcome in ("hit", "miss"):
                self.lookups.labels(level, outcome)

    async def publish(self, counters: Counters, usage: UsageAccounts) -> None:
        """Add what is new to the deployment's counters and accounts. Raises StoreUnavailable.

        What was not added then is added the next time. Where an answer of the store is lost, it may
        be added twice.
        """
        now = {_field(sample): sample.value for sample in self._samples()}
        new = {name: value - self._published.get(name, 0.0) for name, value in now.items()}
        if changed := {name: value for name, value in new.items() if value}:
            await counters.add_all(changed)
        self._published = now
        await self.usage.flush(usage)

    def with_totals(self, totals: Mapping[str, float]) -> Iterable[Metric]:
        """Yield the series that were declared, with the deployment's totals."""
        for metric in self.registry.collect():
            metric.samples = [
                sample._replace(value=totals.get(_field(sample), 0.0))
                for sample in metric.samples
                if not sample.name.endswith("_created")
            ]
            yield metric

    def _samples(self) -> Iterable[Sample]:
        for metric in self.registry.collect():
            yield from (each for each in metric.samples if not each.name.endswith("_created"))


def _field(sample: Sample) -> str:
    return f"{_PREFIX}{sample.name}{json.dumps(sample.labels, sort_keys=True)}"
