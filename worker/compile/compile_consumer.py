"""The consumer of compilations, and of data read from sources or derived from compilations."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from compiler.derivation import DeriveJob
from compiler.inspection import InspectJob
from compiler.job import CompileJob
from jobs.core_kinds import COMPILATION, DERIVATION, INSPECTION
from store.compilations import Derived
from store.events import Events
from store.jobs.types import compile_lane, derive_lane, inspect_lane
from store.subscription import invalidate
from store.workers import Worker
from worker.compile.compile import CompileContext
from worker.compile.compile_job import CompileStores, do_compilation
from worker.compile.derive import do_derivation
from worker.compile.inspect_job import do_inspection
from worker.consumer import Attempt, Consumer, Handler
from worker.replaced_toolchains import ReplacedToolchains, of_kind
from worker.worker_context import DescribeWorker, WorkerContext

_LANES = (compile_lane, inspect_lane, derive_lane)
_KIND: Final = "compile"


def compile_consumer(
    context: WorkerContext,
    toolchains: Sequence[CompileContext],
    inspections: Derived,
    describe: DescribeWorker,
) -> Consumer:
    """Return the consumer of all toolchains; `describe` adds what else the worker offers."""
    redis = context.queue.redis
    replaced = ReplacedToolchains(
        redis,
        partial(of_kind, _KIND),
        toolchains,
        lambda toolchain_id: [lane(toolchain_id) for lane in _LANES],
    )
    stores = CompileStores(context.compilations, Events(redis), partial(invalidate, redis))

    async def compile_(attempt: Attempt[CompileJob]) -> None:
        await do_compilation(attempt, stores, replaced.context_of(attempt.claim.lane))

    async def inspect(attempt: Attempt[InspectJob]) -> None:
        await do_inspection(attempt, replaced.context_of(attempt.claim.lane), inspections)

    async def derive(attempt: Attempt[DeriveJob]) -> None:
        compiling = replaced.context_of(attempt.claim.lane)
        await do_derivation(attempt, compiling, context.derivations)

    def registration() -> Worker:
        branch, bucket = context.branch, context.compiling.blobs.bucket
        worker = Worker(
            id=consumer.name,
            kind=_KIND,
            toolchain=context.compiling.toolchain.id,
            toolchains=[each.toolchain.id for each in toolchains],
            device=None,
            sandbox=branch.level,
            slots=consumer.count,
            busy=consumer.busy,
            sandbox_report=branch.report.to_dict(),
            blobs=bucket.state() if bucket else None,
        )
        return describe(worker)

    consumer = Consumer(
        context.queue,
        context.name,
        replaced.lanes,
        [Handler(COMPILATION, compile_), Handler(INSPECTION, inspect), Handler(DERIVATION, derive)],
        context.slots,
        each_heartbeat=[replaced.look],
        registration=registration,
    )
    return consumer
