"""An invented GPU: variants have given times, and launches report them.

It tests the search alone; no kernel runs.
"""

import random
from dataclasses import dataclass, field

from launch.request.verdict import Verdict
from sweeps.search.candidate import Build, TimedRun, candidate_of
from sweeps.search.measurement import MeasuredTime, Measurement
from sweeps.search.search_request import SearchRequest
from sweeps.search.variant_search import VariantSearch

TARGET = "cuda:90"


def variants(count, sizes=(None,)):
    """Return this many configs, each at every size; sizes vary fastest."""
    found = []
    for block in range(count):
        for size in sizes:
            values = {"constexprs.BLOCK": block} | ({} if size is None else {"arguments": size})
            found.append(candidate_of(len(found), values, TARGET))
    return found


@dataclass
class FakeGpu:
    """Answers runs with `times_us` by variant; `noise` varies them between launches.

    `clock` scales all times by the number of earlier launches.
    """

    times_us: dict[int, float]
    noise: float = 0.0
    seed: int = 1
    verdicts: dict[int, Verdict | None] = field(default_factory=dict)
    doubts: dict[int, str] = field(default_factory=dict)
    noisy: set[int] = field(default_factory=set)
    clock: object = staticmethod(lambda launches: 1.0)
    ran: list[TimedRun] = field(default_factory=list)

    def __post_init__(self):
        self.random = random.Random(self.seed)

    def run(self, run):
        """Return the result of a run; its interval is what launchers allow between two runs."""
        self.ran.append(run)
        verdict = self.verdicts.get(run.index, Verdict.PASSED)
        time = self.times_us[run.index] * self.clock(len(self.ran))
        time *= 1 + self.random.gauss(0, self.noise)
        repeats = max(3, min(run.repeats, int(run.max_ms * 1000 / time)))
        span = 0.035 * time
        is_noisy = run.index in self.noisy
        span *= 4 if is_noisy else 1
        measured = MeasuredTime(time, time - span, time + span, repeats, is_noisy)
        launch_id = f"{run.index}/{run.stage}"
        if verdict is None or verdict is Verdict.ILLEGAL_ACCESS:
            measured = None
        return Measurement(launch_id, verdict, measured, self.doubts.get(run.index))

    def stages(self, index):
        return [run.stage for run in self.ran if run.index == index]


def built(index, **more):
    return Build(f"key-{index}", more.get("launched_as", f"cubin-{index}"), more.get("resources"))


def searched(candidates, gpu, *, builds=None, has_reference=True, most_runs=None, **asked):
    """Return the finished search; all variants were built before the first run."""
    search = VariantSearch(candidates, SearchRequest(**asked), has_reference=has_reference)
    for one in candidates:
        build = (builds or {}).get(one.index, built(one.index))
        search.failed(one.index) if build == "failed" else search.built(one.index, build)
    drive(search, gpu, most_runs)
    return search


def drive(search, gpu, most_runs=None):
    while upcoming := search.upcoming():
        for run in upcoming:
            if most_runs is not None and len(gpu.ran) >= most_runs:
                search.end(1.5)
            if search.is_wanted(run):
                search.add_measurement(run, gpu.run(run))
