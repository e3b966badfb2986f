"""Counts of many processes: added up in the store, shown with every series and no other."""

from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from compiler.slug import Slug
from jobs.work_metrics import WorkMetrics

LANE = "compile:0123456789abcdef"


class FakeCounters:
    """Adds in memory what `store.workers.Counters` adds in Redis."""

    def __init__(self) -> None:
        self.totals: dict[str, float] = {}

    async def add_all(self, amounts: dict[str, float]) -> None:
        for name, by in amounts.items():
            self.totals[name] = self.totals.get(name, 0.0) + by

    async def add(self, used: dict[str, object]) -> None:
        assert used == {}


async def published(*processes: WorkMetrics) -> dict[str, float]:
    counters: Any = FakeCounters()
    for each in processes:
        await each.publish(counters, counters)
        await each.publish(counters, counters)
    return counters.totals


def shown(totals: dict[str, float]) -> str:
    declared = WorkMetrics()
    declared.declare([LANE], ["cuda:90 NVIDIA H200"])

    class Shown(Collector):
        def collect(self):
            return declared.with_totals(totals)

    registry = CollectorRegistry()
    registry.register(Shown())
    return generate_latest(registry).decode()


async def test_two_processes_are_added_up_and_nothing_is_added_twice():
    one, other = WorkMetrics(), WorkMetrics()
    one.queue_wait.labels(LANE).observe(0.2)
    other.queue_wait.labels(LANE).observe(2.0)
    text = shown(await published(one, other))

    assert f'tritond_queue_wait_seconds_bucket{{lane="{LANE}",le="0.25"}} 1.0' in text
    assert f'tritond_queue_wait_seconds_count{{lane="{LANE}"}} 2.0' in text
    assert f'tritond_queue_wait_seconds_sum{{lane="{LANE}"}} 2.2' in text


def test_every_series_is_there_before_any_worker():
    text = shown({})

    assert 'tritond_gpu_busy_seconds_total{device="cuda:90 NVIDIA H200"} 0.0' in text
    assert 'tritond_stage_lookups_total{level="front",outcome="hit"} 0.0' in text
    assert all(f'tritond_failures_total{{code="{code}"}} 0.0' in text for code in Slug)


async def test_hostile_names_make_no_series():
    process = WorkMetrics()
    for n in range(100):
        process.stage_took(f'x{n}"}} 1\n', 1.0)
        process.failed(f"code-{n}")
        process.queue_wait.labels(f"compile:forgotten-{n}").observe(1.0)
    text = shown(await published(process))

    assert len(text.splitlines()) == len(shown({}).splitlines())
    assert 'tritond_stage_seconds_count{stage="other"} 100.0' in text
    assert 'tritond_failures_total{code="other"} 100.0' in text
