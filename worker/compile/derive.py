"""Makes what is derived from a compilation: moves its blobs into a child, and the result out.

Runs in the worker parent, which looks into no artifact.
"""

import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import Field

from compiler.compilation import Compilation
from compiler.derivation import EXPORTS, Derivation, DeriveJob, key_of
from compiler.job import CompileJob
from compiler.target import parse_target
from store.compilations import Derived
from worker.compile.child_task import ChildTasks, TimeLimit
from worker.compile.compile import CompileContext, front_work
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import FailureReport, FrontReport, Malformed, Report, read_report
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.retry import run_task

DEADLINE_S = 120.0
MOST_HASHES = 16
MADE = "made"
"""The name of the one blob of a derivation."""
_MAPPED = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
_CACHED = ("source", "ttir", "ttgir", "llir", "ptx", "cubin")
_NEEDS_OF_EXPORT = {"c": "cubin", "cuda-inline": "ptx", "rust": "cubin", "python": "cubin"}
_Report = TypeVar("_Report", bound=Report)


class DerivationFailed(Exception):
    """Ends a derivation: `not_derivable`, `derivation_failed`, or `evicted`."""

    def __init__(self, slug: str, detail: str) -> None:
        super().__init__(detail)
        self.slug = slug


class CacheKeyReport(Report):
    """Of a cut child that hashed the kernel as Triton's JIT does; the name becomes file names."""

    name: str = Field(pattern=r"^[^\W\d]\w*$", max_length=200)
    source_hashes: list[Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]] = Field(
        min_length=1, max_length=MOST_HASHES
    )


async def derive(job: DeriveJob, bench: CompileContext, kept: Derived) -> bytes:
    """Return what `job` asks for. Raises DerivationFailed."""
    work = _Derivation(job, bench, kept, time.monotonic() + DEADLINE_S)
    match job.what:
        case "sass":
            return await work.sass()
        case "lines":
            return await work.lines()
        case "passes":
            return await work.passes()
        case "exports/triton-cache":
            return await work.triton_cache()
    return await work.export(job.what.removeprefix(EXPORTS))


@dataclass(frozen=True, slots=True)
class _Derivation:
    job: DeriveJob
    bench: CompileContext
    kept: Derived
    deadline: float

    @property
    def compilation(self) -> Compilation:
        return self.job.compilation

    async def sass(self) -> bytes:
        parts = await self._artifacts([name for name in ("cubin", "ptx") if self._has(name)])
        return await self._made_by("back", "sass", {}, parts)

    async def lines(self) -> bytes:
        parts = await self._artifacts([name for name in _MAPPED if self._has(name)])
        if not self._has("cubin"):
            return await self._made_by("back", "lines", {}, parts)
        sass = await self._kept_sass()
        if sass is not None:
            return await self._made_by("back", "lines", {}, parts | {"sass": sass})
        cubin = await self._artifacts(["cubin"])
        made = await self._all_made_by("back", "lines", {}, parts | cubin, {"lines", "sass"})
        if "sass" in made:
            await self._keep_sass(made["sass"])
        return made["lines"]

    async def passes(self) -> bytes:
        request = self._request()
        header: dict[str, Any] = {"language": "ttir", "locations": None, "canonicalize": True}
        if request.ir is not None:
            stage = request.ir.stage
            header |= {"language": request.ir.language, "canonicalize": request.ir.canonicalize}
            text = (await self._artifacts([stage]))[stage]
        else:
            front, text = await self._source(request)
            header |= {"language": front.language, "locations": front.locations.model_dump()}
        return await self._made_by("back", "passes", self._common() | header, {"ir": text})

    async def export(self, form: str) -> bytes:
        header = {"format": form, "facts": self._facts()}
        parts = await self._artifacts([_NEEDS_OF_EXPORT[form]])
        return await self._made_by("back", "export", header, parts)

    async def triton_cache(self) -> bytes:
        request = self._request()
        if request.ir is not None:
            detail = "Triton's cache knows IR by the file it was read from; post source instead."
            raise DerivationFailed("not_derivable", detail)
        front, slice_ = await self._front_work(request)
        header = front | {"sources": request.texts}
        outcome = await self._run("cut", "cache_key", header, slice_)
        report = self._read(CacheKeyReport, outcome)
        header = self._common() | {"facts": self._facts(), **report.model_dump()}
        parts = await self._artifacts([stage for stage in _CACHED if self._has(stage)])
        return await self._made_by("back", "triton_cache", header, parts)

    async def _kept_sass(self) -> bytes | None:
        hit = await self.kept.hit(key_of(self.compilation, "sass"), [MADE])
        return hit.included[MADE] if hit is not None else None

    async def _keep_sass(self, data: bytes) -> None:
        digest = await self.bench.blobs.put(data)
        made = Derivation(state="succeeded", what="sass", digest=digest, size_bytes=len(data))
        key = key_of(self.compilation, "sass")
        await self.kept.write(key, made.model_dump_json().encode(), {MADE: digest})

    async def _source(self, request: CompileJob) -> tuple[FrontReport, bytes]:
        """Return the stage `source`, made anew: its text alone lacks the loops' locations."""
        header, slice_ = await self._front_work(request)
        progress = Progress()
        tasks = ChildTasks(
            self.bench.pool,
            self.bench.toolchain,
            request,
            progress,
            lambda _: None,
            TimeLimit(self.deadline - time.monotonic()),
        )
        try:
            front = await tasks.run("front", header | {"stop_after": "source"}, slice_, FrontReport)
        except CompilationFailed as failure:
            raise DerivationFailed("derivation_failed", str(failure)) from failure
        return front, progress.stages["source"]

    async def _front_work(self, request: CompileJob) -> tuple[dict[str, Any], bytes]:
        try:
            return await front_work(request, self.bench, Progress())
        except CompilationFailed as failure:
            raise DerivationFailed("derivation_failed", str(failure)) from failure

    async def _made_by(
        self, profile: str, task: str, header: dict[str, Any], parts: dict[str, bytes]
    ) -> bytes:
        return (await self._all_made_by(profile, task, header, parts, {task}))[task]

    async def _all_made_by(
        self,
        profile: str,
        task: str,
        header: dict[str, Any],
        parts: dict[str, bytes],
        known: AbstractSet[str],
    ) -> dict[str, bytes]:
        """Return the bodies that `task` sent: that of its own name, and others that are `known`."""
        sizes = {name: len(data) for name, data in parts.items()}
        header = header | {"sizes": sizes}
        outcome = await self._run(profile, task, header, b"".join(parts.values()), known)
        self._read(Report, outcome)
        made = {stage.name: stage.body for stage in outcome.stages}
        if task not in made:
            detail = f"The child made {', '.join(made) or 'nothing'}, not {task}."
            raise DerivationFailed("derivation_failed", detail)
        return made

    async def _run(
        self,
        profile: str,
        task: str,
        header: dict[str, Any],
        body: bytes,
        stages: AbstractSet[str] = frozenset(),
    ) -> ChildOutcome:
        remaining_s = max(self.deadline - time.monotonic(), 0.001)
        return await run_task(
            self.bench.pool,
            profile,
            header | {"task": task},
            body,
            deadline_s=remaining_s,
            stages=stages,
            triton=self.bench.toolchain.triton,
        )

    def _read(self, model: type[_Report], outcome: ChildOutcome) -> _Report:
        try:
            if outcome.result is not None:
                return read_report(model, outcome.result)
            if outcome.failure is not None and outcome.failure.get("slug") == "not_derivable":
                raise DerivationFailed("not_derivable", str(outcome.failure.get("message")))
            if outcome.failure is not None:
                failure = read_report(FailureReport, outcome.failure)
                raise DerivationFailed("derivation_failed", failure.message)
        except Malformed as error:
            raise DerivationFailed("derivation_failed", f"The report is broken: {error}") from None
        detail = f"The process that derived {self.job.what} ended with {outcome.ending}: "
        if outcome.ending is Ending.DEADLINE:
            detail = f"Deriving {self.job.what} took more than {DEADLINE_S:g} s: "
        raise DerivationFailed("derivation_failed", detail + outcome.detail)

    async def _artifacts(self, stages: Sequence[str]) -> dict[str, bytes]:
        parts = {}
        for stage in stages:
            data = await self.bench.blobs.get(self.compilation.artifacts[stage].digest)
            if data is None:
                raise DerivationFailed("evicted", f"The artifact {stage} has left the cache.")
            parts[stage] = data
        return parts

    def _has(self, stage: str) -> bool:
        return stage in self.compilation.artifacts

    def _request(self) -> CompileJob:
        if self.job.compile_job is None:
            raise DerivationFailed("evicted", "The request of the compilation has left the cache.")
        return self.job.compile_job

    def _facts(self) -> dict[str, Any]:
        return self.compilation.model_dump(
            mode="json", exclude={"artifacts", "diagnostics", "stdout", "timings_ms"}
        )

    def _common(self) -> dict[str, Any]:
        target = parse_target(self.compilation.target)
        return {
            "options": self.compilation.options,
            "target": {
                "backend": target.backend,
                "arch": target.arch,
                "warp_size": target.warp_size,
            },
            "stop_after": self.compilation.stop_after,
        }
