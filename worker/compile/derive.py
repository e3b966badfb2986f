"""Does claimed derivations: moves a compilation's blobs into a child, and the result out.

Runs in the worker's own process, which parses no artifact.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

from pydantic import Field

from compiler.autotune import AutotuneReading
from compiler.cached_tuning import NotCacheable, autotune_cache_order
from compiler.compilation import Compilation
from compiler.derivation import EXPLAINED, EXPORTS, KINDS, Derivation, DeriveJob, key_of
from compiler.job import CompileJob
from compiler.messages.autotuning import AutotuneCacheOrder
from compiler.messages.orders import (
    CacheKeyOrder,
    DerivedTextOrder,
    DiffOrder,
    DiffSide,
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
from compiler.messages.reports import CacheKeyReport, FrontReport
from compiler.problem import failure_problem
from compiler.stages import COMPILED, MAPPED
from compiler.target import parse_target
from store.blobs import Blobs
from store.compilations import Derived
from store.jobs.types import KEPT_S
from worker.compile.autotune_reading import AutotunedSource, read_autotuner
from worker.compile.child_task import Reader, TimeLimit, carry_out, read_source
from worker.compile.compile import CompileContext
from worker.compile.compile_job import SUCCESS_KEPT_S, success_kept_s
from worker.compile.front_report import read_front_report
from worker.compile.message_limits import MessageLimits
from worker.compile.progress import CompilationFailed, Progress
from worker.compile.reports import (
    DerivationFailureReport,
    FunctionName,
    Hash,
    Malformed,
    Report,
)
from worker.consumer import Attempt
from worker.pool.child_outcome import ChildOutcome, Ending
from worker.pool.pool import Pool

DEADLINE_S = 120.0
MADE = "made"
"""The name of the one blob of a derivation."""
_NEEDS_OF_EXPORT = {"c": "cubin", "cuda-inline": "ptx", "rust": "cubin", "python": "cubin"}
_Report = TypeVar("_Report")
read_cache_key = MessageLimits({str: FunctionName}).reader(
    CacheKeyReport,
    source_hashes=Annotated[list[Hash], Field(min_length=1, max_length=16)],
)
_ASSEMBLY = "amdgcn"
"""Counted in any case; the other kind of assembly, SASS, is not an artifact."""
_OF_NO_DIFF = frozenset({"artifacts", "stdout", "timings_ms", "abi", "metadata", "assumptions"})
_logger = logging.getLogger(__name__)


class DerivationFailed(Exception):
    """Ends a derivation: `not_derivable`, `derivation_failed`, or `evicted`."""

    def __init__(self, slug: str, detail: str) -> None:
        super().__init__(detail)
        self.slug = slug


async def derive(job: DeriveJob, context: CompileContext, kept: Derived) -> bytes:
    """Return what `job` asks for. Raises DerivationFailed."""
    work = _Derivation(job, context, kept, TimeLimit(DEADLINE_S))
    if job.what in METHODS:
        return await METHODS[job.what](work)
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
        """Return the text of a derived stage that needs only the texts of other stages."""
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
            order = replace(order, language=front.language, locations=front.locations)
        return await self._made(order, {"ir": text})

    async def layouts(self) -> bytes:
        order = LayoutsOrder(
            target=parse_target(self.compilation.target), ir_bounds=self.context.ir_bounds
        )
        return await self._made(order, await self._artifacts(["ttgir"]))

    async def autotune_cache(self) -> bytes:
        """Return the file that Triton's autotuner loads, with the folder it belongs in."""
        try:
            order = await _autotune_cache_order_of(self.job, self._request(), self.context.pool)
        except NotCacheable as error:
            raise DerivationFailed("not_derivable", str(error)) from error
        return await self._made(order, {})

    async def diff(self) -> bytes:
        """Return the differences from another compilation, of any toolchain: texts are compared."""
        try:
            order, parts = await _diff_order_of(self.job, self.context.blobs)
        except _ArtifactEvicted as error:
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
        _, key = await self._run(hashed, text, read_cache_key)
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
            front = await tasks.run(replace(order, stop_after="source"), text, read_front_report)
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
        outcome, _ = await self._run(order, b"".join(parts.values()), Report.read)
        made = {stage.name: stage.body for stage in outcome.stages}
        if order.task not in made:
            detail = f"The child made {', '.join(made) or 'nothing'}, not {order.task}."
            raise DerivationFailed("derivation_failed", detail)
        return made

    async def _run(
        self, order: Order, body: bytes, read: Reader[_Report]
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
                return outcome, read(outcome.result)
            raise self._failed(outcome)
        except Malformed as error:
            raise DerivationFailed("derivation_failed", f"The report is invalid: {error}") from None

    def _failed(self, outcome: ChildOutcome) -> DerivationFailed:
        if outcome.failure is not None:
            failure = DerivationFailureReport.read(outcome.failure)
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


METHODS: Mapping[str, Callable[[_Derivation], Awaitable[bytes]]] = {
    "lines": _Derivation.lines,
    "instructions": _Derivation.instructions,
    "explanation": _Derivation.explanation,
    "passes": _Derivation.passes,
    "layouts": _Derivation.layouts,
    "autotune-cache": _Derivation.autotune_cache,
    "diff": _Derivation.diff,
    "numpy": _Derivation.numpy,
    "exports/triton-cache": _Derivation.triton_cache,
}
"""The methods of kinds that are not made from the stages that they read alone."""


def _sizes(parts: dict[str, bytes]) -> dict[str, int]:
    return {name: len(data) for name, data in parts.items()}


# The order for the child that writes a cache file of Triton's autotuner.
#
# The results are the sweep's. The decorator's configurations come from the toolchain that compiled
# the winner, since the key of the file depends on both.


async def _autotune_cache_order_of(
    job: DeriveJob, request: CompileJob, pool: Pool
) -> AutotuneCacheOrder:
    """Return the order for the results of `job`, `request` being what compiled the winner.

    Raises NotCacheable, Malformed.
    """
    if request.source is None or job.tuned is None:
        raise NotCacheable("posted IR has no autotuner; take the winners as `json`")
    kernel = request.kernel or job.compilation.kernel
    asked = AutotunedSource(
        request.source, request.files, kernel, request.target_name, request.module, request.absent
    )
    reading = await read_autotuner(pool, asked)
    if isinstance(reading, AutotuneReading):
        return autotune_cache_order(reading, job.tuned, job.compilation.options)
    why = reading.failure.message if reading.failure is not None else str(reading.outcome.ending)
    raise NotCacheable(f"the autotuner cannot be read: {why}")


# The order of a diff: the records of two compilations, and the texts to compare as its parts.


class _ArtifactEvicted(Exception):
    """An artifact has left the cache."""


async def _diff_order_of(job: DeriveJob, blobs: Blobs) -> tuple[DiffOrder, dict[str, bytes]]:
    """Return the order and the parts of its body, in their order. Raises ArtifactEvicted."""
    compared = job.compared
    assert compared is not None
    assert job.compile_job is not None
    sides = (
        (job.compilation, job.compile_job, compared.sass_of_first),
        (compared.compilation, compared.compile_job, compared.sass),
    )
    parts_of_sides = [
        await _parts(compilation, request, sass, compared.stages, blobs)
        for compilation, request, sass in sides
    ]
    a, b = (
        DiffSide(
            record=compilation.model_dump(mode="json", exclude={*_OF_NO_DIFF}),
            sizes={name: len(data) for name, data in parts.items()},
        )
        for (compilation, _, _), parts in zip(sides, parts_of_sides, strict=True)
    )
    body = {f"a/{name}": data for name, data in parts_of_sides[0].items()}
    body |= {f"b/{name}": data for name, data in parts_of_sides[1].items()}
    return DiffOrder(a=a, b=b, compared=list(compared.stages)), body


async def _parts(
    compilation: Compilation,
    request: CompileJob,
    sass: str | None,
    stages: tuple[str, ...],
    blobs: Blobs,
) -> dict[str, bytes]:
    """Return the texts of one side by stage, and the user's files."""
    artifacts = compilation.artifacts
    digests: Mapping[str, str] = {
        stage: artifacts[stage].digest for stage in (*stages, _ASSEMBLY) if stage in artifacts
    } | ({"sass": sass} if sass is not None else {})
    parts = {}
    for stage, digest in digests.items():
        data = await blobs.get(digest)
        if data is None:
            raise _ArtifactEvicted(
                f"The artifact {stage} has left the cache. Post the compilation again."
            )
        parts[stage] = data
    return parts | {"files": json.dumps(request.texts).encode()}


# One claimed derivation. The order is that of compilations: blobs, then the finish, then the record
# in the cache.


async def do_derivation(
    attempt: Attempt[DeriveJob], context: CompileContext, kept: Derived
) -> None:
    """Do a derivation and finish it. Raises StoreUnavailable.

    If no worker serves the compilation's toolchain any more, the result is answered but not stored
    under its key.
    """
    job = attempt.job
    record = None if attempt.claim.refresh else await kept.read(job.key)
    if record is not None:
        await attempt.finish(record, reusable=True, keep_s=SUCCESS_KEPT_S)
        return
    try:
        data = await derive(job, context, kept)
    except DerivationFailed as failure:
        _logger.info("cannot derive %s of %s: %s", job.what, job.compilation.key, failure)
        reusable = failure.slug == "not_derivable"
        await attempt.finish(_failed(job.what, failure), reusable=reusable, keep_s=KEPT_S)
        return
    digest = await context.blobs.put(data)
    outcome = Derivation(state="succeeded", what=job.what, digest=digest, size_bytes=len(data))
    record = outcome.model_dump_json().encode()
    is_own = job.compilation.toolchain.id == context.toolchain.id
    counts = await attempt.finish(record, reusable=True, keep_s=success_kept_s(is_own=is_own))
    if counts and is_own:
        await kept.write(job.key, record, {MADE: digest})


def _failed(what: str, failure: DerivationFailed) -> Derivation:
    problem = failure_problem(failure.slug, str(failure))
    return Derivation(state="failed", what=what, problem=problem)
