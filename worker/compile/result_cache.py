"""The cache of front and back results, which compilations share.

The key has all inputs of a child except `stop_after`; the value has every stage that was reached.
So a compilation that stops earlier uses it too.
"""

import json
import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from compiler.job import CompileJob
from compiler.languages import BY_IR
from compiler.messages.orders import FrontOrder
from compiler.messages.reports import FrontReport
from compiler.messages.wire import members_of
from store.blobs import Blobs
from store.compilations import Derived
from store.records import Hit
from store.stored import read_stored
from worker.compile.progress import Progress, Reusable
from worker.compile.reports import BackReport
from worker.pool.child_outcome import SentStage

_ASKS = {"asks": True}
logger = logging.getLogger(__name__)
_BackReport = TypeVar("_BackReport", bound=BackReport)


class CachedFact(Enum):
    """Facts that the cache keeps instead of the result of some front ends."""

    READS_HIDDEN_OPTIONS = "asks for options that it was not given"


@dataclass(frozen=True, slots=True)
class CacheScope:
    """The jobs that share results: those of one toolchain in one namespace ("": in all)."""

    toolchain_id: str
    namespace: str

    @property
    def key_inputs(self) -> dict[str, Any]:
        """The arguments for the functions of `compiler.key`."""
        return {"toolchain_id": self.toolchain_id, "namespace": self.namespace}


@dataclass(frozen=True, slots=True)
class ResultCache:
    """The results that one compilation may use."""

    job: CompileJob
    progress: Progress
    on_stage: Callable[[SentStage], None]
    fronts: Derived
    backs: Derived
    refresh: bool
    """True if nothing may come from the cache."""

    async def front(self, key: str) -> FrontReport | CachedFact | None:
        """Return a front result and take its stages, or a fact about it, or None."""
        hit = await self._hit(self.fronts, key, FrontOrder.stages)
        self._note("front", key, hit)
        if hit is None:
            return None
        value = json.loads(hit.record)
        if value == _ASKS:
            return CachedFact.READS_HIDDEN_OPTIONS
        if not self._goes_far_enough(value["language"], hit):
            return None
        report = read_stored(FrontReport, hit.record)
        self.progress.stdout += value["stdout"]
        self._take(hit, report.timings_ms)
        return report

    async def back(
        self, key: str, stages: Collection[str], model: type[_BackReport]
    ) -> _BackReport | None:
        """Return a back result and take its stages, or None."""
        hit = await self._hit(self.backs, key, stages)
        self._note("back", key, hit)
        if hit is None:
            return None
        report = read_stored(model, hit.record)
        if self.job.stop_after not in report.facts:
            return None
        self._take(hit, report.timings_ms)
        return report

    def _note(self, level: str, key: str, hit: Hit | None) -> None:
        outcome = "miss" if hit is None else "hit"
        self.progress.lookups.append((level, outcome))
        logger.debug("job %s: %s %s under %s", self.job.key, level, outcome, key)

    def keep_front(self, key: str, report: FrontReport) -> None:
        """Keep the front end's result, and what the source printed, for other jobs."""
        self.progress.made_ms |= report.timings_ms
        value = members_of(report) | {"stdout": self.progress.stdout}
        self._keep(self.fronts, key, FrontOrder.stages, json.dumps(value).encode())

    def keep_reads_hidden(self, key: str) -> None:
        """Record for other jobs that a front end reads options that were hidden from it."""
        self.progress.reusable.append(Reusable(self.fronts, key, json.dumps(_ASKS).encode(), ()))

    def keep_back(self, key: str, stages: Collection[str], report: BackReport) -> None:
        """Keep the back end's result for other jobs."""
        self.progress.made_ms |= report.timings_ms
        self._keep(self.backs, key, stages, report.model_dump_json().encode())

    def _keep(self, level: Derived, key: str, stages: Collection[str], value: bytes) -> None:
        made = tuple(stage for stage in self.progress.stages if stage in stages)
        self.progress.reusable.append(Reusable(level, key, value, made))

    async def _hit(self, level: Derived, key: str, stages: Collection[str]) -> Hit | None:
        if self.refresh:
            return None
        order = self.job.target.stages
        wanted = order[: order.index(self.job.stop_after) + 1]
        return await level.hit(key, [stage for stage in wanted if stage in stages])

    def _goes_far_enough(self, language: str, hit: Hit) -> bool:
        goes_on = BY_IR[language].has_ttir and self.job.stop_after != "source"
        return ("ttir" if goes_on else "source") in hit.included

    def _take(self, hit: Hit, timings_ms: dict[str, float]) -> None:
        self.progress.stages |= hit.included
        self.progress.digests |= {stage: hit.blobs[stage] for stage in hit.included}
        for stage, data in hit.included.items():
            self.on_stage(SentStage(stage, timings_ms.get(stage, 0.0), data))


async def put_stages(progress: Progress, blobs: Blobs, namespace: str) -> dict[str, str]:
    """Store new stages, let `namespace` read all stages, and return their digests.

    Raises StoreUnavailable.
    """
    new = {stage: data for stage, data in progress.stages.items() if stage not in progress.digests}
    put = await blobs.put_many(list(new.values()))
    digests = progress.digests | dict(zip(new, put, strict=True))
    await blobs.allow(digests.values(), namespace)
    return {stage: digests[stage] for stage in progress.stages}


async def put_reusable(progress: Progress, digests: Mapping[str, str]) -> None:
    """Write the results that other jobs may use; `digests` are of the stages, which are stored.

    Raises StoreUnavailable.
    """
    for item in progress.reusable:
        blobs = {stage: digests[stage] for stage in item.stages}
        await item.level.write(item.key, item.value, blobs)
