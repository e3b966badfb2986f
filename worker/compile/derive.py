"""Makes derivations: moves a compilation's blobs into a child, and the result out.

Runs in the worker's own process, which parses no artifact.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from compiler.cached_tuning import NotCacheable
from compiler.compilation import Compilation
from compiler.derivation import EXPLAINED, EXPORTS, KINDS, Derivation, DeriveJob, key_of
from compiler.job import CompileJob
from compiler.messages.orders import (
    CacheKeyOrder,
    DerivedTextOrder,
    ExplanationOrder,
    ExportOrder,
    FrontOrder,
    InstructionsOrder,
    LayoutsOrder,
    LinesOrder,
    NumpyOrder,
    Order,
    PassesOrder,
    TritonCacheOrder,
)
from compiler.stages import COMPILED, MAPPED
from compiler.target import parse_target
from store.compilations import Derived
from worker.compile.autotune_cache_order import autotune_cache_order_of
from worker.compile.child_run import carry_out
from worker.compile.child_task import TimeLimit
from worker.compile.compile import CompileContext
from worker.compile.diff_order import ArtifactEvicted, diff_order_of
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import (
    CacheKeyReport,
    DerivationFailureReport,
    FrontReport,
    Malformed,
    Report,
    read_report,
)
from worker.compile.source_reader import read_source
from worker.pool.child_outcome import ChildOutcome, Ending

DEADLINE_S = 120.0
MADE = "made"
"""The name of the one blob of a derivation."""
_NEEDS_OF_EXPORT = {"c": "cubin", "cuda-inline": "ptx", "rust": "cubin", "python": "cubin"}
_Report = TypeVar("_Report", bound=Report)


class DerivationFailed(Exception):
    """Ends a derivation: `not_derivable`, `derivation_failed`, or `evicted`."""

    def __init__(self, slug: str, detail: str) -> None:
        super().__init__(detail)
        self.slug = slug


async def derive(job: DeriveJob, context: CompileContext, kept: Derived) -> bytes:
    """Return what `job` asks for. Raises DerivationFailed."""
    work = _Derivation(job, context, kept, TimeLimit(DEADLINE_S))
    made_by = {
        "lines": work.lines,
        "instructions": work.instructions,
        "explanation": work.explanation,
        "passes": work.passes,
        "layouts": work.layouts,
        "autotune-cache": work.autotune_cache,
        "diff": work.diff,
        "numpy": work.numpy,
        "exports/triton-cache": work.triton_cache,
    }
    if job.what in made_by:
        return await made_by[job.what]()
    if job.what.startswith(EXPORTS):
        return await work.export(job.what.removeprefix(EXPORTS))
    return await work.text(job.what)


@dataclass(frozen=True, slots=True)
class _Derivation:
    job: DeriveJob
    context: CompileContext
    kept: Derived
    limit: TimeLimit

    @property
    def compilation(self) -> Compilation:
        return self.job.compilation

    async def text(self, stage: str) -> bytes:
        """Return the text of a derived stage that others' texts alone make."""
        reads = KINDS[stage].reads
        parts = await self._artifacts([name for name in reads if self._has(name)])
        return await self._made(DerivedTextOrder(stage=stage, sizes=_sizes(parts)), parts)

    async def lines(self) -> bytes:
        parts = await self._artifacts([name for name in MAPPED if self._has(name)])
        if self._has("cubin"):
            sass = await self._kept_sass()
            parts |= await self._artifacts(["cubin"]) if sass is None else {"sass": sass}
        return await self._made_and_sass(LinesOrder(sizes=_sizes(parts)), parts)

    async def instructions(self) -> bytes:
        sass = await self._kept_sass() if self._has("cubin") else None
        if sass is not None:
            parts = {"sass": sass}
        else:
            needed = ("amdgcn",) if self._has("amdgcn") else ("cubin", "ptx")
            parts = await self._artifacts([name for name in needed if self._has(name)])
        return await self._made_and_sass(InstructionsOrder(sizes=_sizes(parts)), parts)

    async def explanation(self) -> bytes:
        parts = await self._artifacts([name for name in EXPLAINED if self._has(name)])
        warps = (self.compilation.metadata or {}).get("num_warps")
        order = ExplanationOrder(
            sizes=_sizes(parts),
            target=self.compilation.target,
            num_warps=warps if isinstance(warps, int) else None,
        )
        return await self._made(order, parts)

    async def passes(self) -> bytes:
        request = self._request()
        compilation = self.compilation
        order = PassesOrder(
            canonicalize=True,
            options=compilation.options,
            target=parse_target(compilation.target),
            stop_after=compilation.stop_after,
            ir_bounds=self.context.ir_bounds,
        )
        if request.ir is not None:
            stage, canonicalize = request.ir.stage, request.ir.canonicalize
            text = (await self._artifacts([stage]))[stage]
            order = replace(order, language=request.ir.language, canonicalize=canonicalize)
        else:
            front, text = await self._source(request)
            order = replace(order, language=front.language, locations=front.locations.as_message())
        return await self._made(order, {"ir": text})

    async def layouts(self) -> bytes:
        order = LayoutsOrder(
            target=parse_target(self.compilation.target), ir_bounds=self.context.ir_bounds
        )
        return await self._made(order, await self._artifacts(["ttgir"]))

    async def autotune_cache(self) -> bytes:
        """Return the file that Triton's autotuner loads, with the folder it belongs in."""
        try:
            order = await autotune_cache_order_of(self.job, self._request(), self.context.pool)
        except NotCacheable as error:
            raise DerivationFailed("not_derivable", str(error)) from error
        return await self._made(order, {})

    async def diff(self) -> bytes:
        """Return the differences from another compilation, of any toolchain: texts are compared."""
        try:
            order, parts = await diff_order_of(self.job, self.context.blobs)
        except ArtifactEvicted as error:
            raise DerivationFailed("evicted", str(error)) from error
        return await self._made(order, parts)

    async def numpy(self) -> bytes:
        """Return the kernel in NumPy, of the stage before any pass: nothing is folded away yet."""
        stage = "source" if self._has("source") else "ttir"
        known = self.compilation.parameters
        order = NumpyOrder(
            stage=stage,
            target=parse_target(self.compilation.target),
            files=self._request().texts,
            parameters=[parameter.name for parameter in known if parameter.role == "runtime"],
            fp_fusion=self.compilation.options.get("enable_fp_fusion") is not False,
            ir_bounds=self.context.ir_bounds,
        )
        return await self._made(order, await self._artifacts([stage]))

    async def export(self, form: str) -> bytes:
        parts = await self._artifacts([_NEEDS_OF_EXPORT[form]])
        return await self._made(ExportOrder(format=form, record=self._record()), parts)

    async def triton_cache(self) -> bytes:
        request = self._request()
        if request.ir is not None:
            detail = "Triton's cache knows IR by the file it was read from; post source instead."
            raise DerivationFailed("not_derivable", detail)
        front, text = await self._front_order(request)
        hashed = CacheKeyOrder(front=front)
        _, key = await self._run(hashed, text, CacheKeyReport)
        parts = await self._artifacts([stage for stage in COMPILED if self._has(stage)])
        order = TritonCacheOrder(
            name=key.name,
            source_hashes=key.source_hashes,
            record=self._record(),
            options=self.compilation.options,
            target=parse_target(self.compilation.target),
            sizes=_sizes(parts),
        )
        return await self._made(order, parts)

    async def _kept_sass(self) -> bytes | None:
        hit = await self.kept.hit(key_of(self.compilation, "sass"), [MADE])
        return hit.included[MADE] if hit is not None else None

    async def _keep_sass(self, data: bytes) -> None:
        digest = await self.context.blobs.put(data)
        made = Derivation(state="succeeded", what="sass", digest=digest, size_bytes=len(data))
        key = key_of(self.compilation, "sass")
        await self.kept.write(key, made.model_dump_json().encode(), {MADE: digest})

    async def _source(self, request: CompileJob) -> tuple[FrontReport, bytes]:
        """Make the stage `source` again: its text alone lacks the loops' locations."""
        order, text = await self._front_order(request)
        progress = Progress()
        tasks = self.context.tasks_of(request, progress, self.limit)
        try:
            front = await tasks.run(replace(order, stop_after="source"), text, FrontReport)
        except CompilationFailed as failure:
            raise DerivationFailed("derivation_failed", str(failure)) from failure
        return front, progress.stages["source"]

    async def _front_order(self, request: CompileJob) -> tuple[FrontOrder, bytes]:
        """Return the order of the compilation's front child, and the source that it executes."""
        tasks = self.context.tasks_of(request, Progress(), self.limit)
        run = self.context.run_of(tasks)
        try:
            reading = await read_source(tasks, self.context.readings)
            order = run.front_order(reading, run.bind(reading))
        except CompilationFailed as failure:
            raise DerivationFailed("derivation_failed", str(failure)) from failure
        return order, (request.source or "").encode()

    async def _made(self, order: Order, parts: dict[str, bytes]) -> bytes:
        return (await self._all_made(order, parts))[order.task]

    async def _made_and_sass(self, order: Order, parts: dict[str, bytes]) -> bytes:
        """Return the body that the task is named after, and keep SASS that it made on the way."""
        made = await self._all_made(order, parts)
        if "sass" in made:
            await self._keep_sass(made["sass"])
        return made[order.task]

    async def _all_made(self, order: Order, parts: dict[str, bytes]) -> dict[str, bytes]:
        """Return the bodies that the task sent; one has the task's name."""
        outcome, _ = await self._run(order, b"".join(parts.values()), Report)
        made = {stage.name: stage.body for stage in outcome.stages}
        if order.task not in made:
            detail = f"The child made {', '.join(made) or 'nothing'}, not {order.task}."
            raise DerivationFailed("derivation_failed", detail)
        return made

    async def _run(
        self, order: Order, body: bytes, model: type[_Report]
    ) -> tuple[ChildOutcome, _Report]:
        outcome = await carry_out(
            self.context.pool,
            order,
            body,
            deadline_s=self.limit.left_s(),
            triton=self.context.toolchain.triton,
        )
        try:
            if outcome.result is not None:
                return outcome, read_report(model, outcome.result)
            raise self._failed(outcome)
        except Malformed as error:
            raise DerivationFailed("derivation_failed", f"The report is invalid: {error}") from None

    def _failed(self, outcome: ChildOutcome) -> DerivationFailed:
        if outcome.failure is not None:
            failure = read_report(DerivationFailureReport, outcome.failure)
            is_ours = failure.slug != "not_derivable"
            return DerivationFailed(
                "derivation_failed" if is_ours else failure.slug, failure.message
            )
        if outcome.ending is Ending.DEADLINE:
            why = f"Deriving {self.job.what} took more than {DEADLINE_S:g} s"
        else:
            why = f"The process that derived {self.job.what} ended with {outcome.ending}"
        return DerivationFailed("derivation_failed", f"{why}: {outcome.detail}")

    async def _artifacts(self, stages: Sequence[str]) -> dict[str, bytes]:
        parts = {}
        for stage in stages:
            data = await self.context.blobs.get(self.compilation.artifacts[stage].digest)
            if data is None:
                raise DerivationFailed(
                    "evicted",
                    f"The artifact {stage} has left the cache. Post the compilation again.",
                )
            parts[stage] = data
        return parts

    def _has(self, stage: str) -> bool:
        return stage in self.compilation.artifacts

    def _request(self) -> CompileJob:
        if self.job.compile_job is None:
            raise DerivationFailed(
                "evicted", "The request of the compilation has left the cache. Post it again."
            )
        return self.job.compile_job

    def _record(self) -> dict[str, Any]:
        return self.compilation.model_dump(
            mode="json", exclude={"artifacts", "diagnostics", "stdout", "timings_ms"}
        )


def _sizes(parts: dict[str, bytes]) -> dict[str, int]:
    return {name: len(data) for name, data in parts.items()}
