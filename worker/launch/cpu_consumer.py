"""The consumer of launches on the CPU device, for everybody.

It uses the compile worker's children of the same process to slice sources.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from compiler.compilation import amended
from compiler.request.resolution import job_for
from compiler.toolchain import Toolchain
from jobs.core_kinds import LAUNCH
from launch.request.launch_job import LaunchJob
from store import workers
from store.events import Events
from store.jobs.types import cpu_lane
from store.launches import Launches
from worker.compile.lru_cache import LRUCache
from worker.consumer import Attempt, Consumer, Handler
from worker.launch.do_launch import LaunchContext, do_launch
from worker.launch.kernel_ir import KernelIr
from worker.launch.kernel_source import KernelSource
from worker.launch.launch_children import Children
from worker.replaced_toolchains import ReplacedToolchains, of_kind
from worker.worker_context import WorkerContext

_KIND: Final = "launch"


def cpu_consumer(context: WorkerContext) -> Consumer:
    """Return the consumer of launches on this toolchain's CPU device, one for each slot."""
    redis, children, compiling = context.queue.redis, context.children, context.compiling
    lanes_of = partial(_lanes_of, children)
    replaced = ReplacedToolchains(redis, partial(of_kind, _KIND), [compiling], lanes_of)
    launching = LaunchContext(
        Launches(redis),
        Events(redis),
        compiling.blobs,
        compiling,
        children,
        workers.Workers(redis),
        context.expected,
        known_sources=LRUCache[KernelSource](),
        known_irs=LRUCache[KernelIr](),
        remembered=context.memory.references,
        prove=None if context.prove_launch is None else partial(context.prove_launch, context),
    )

    def registration() -> workers.Worker:
        return workers.Worker(
            id=consumer.name,
            kind=_KIND,
            toolchain=compiling.toolchain.id,
            device=None,
            sandbox=context.branch.level,
            slots=consumer.count,
            busy=consumer.busy,
            sandbox_report=context.branch.report.to_dict(),
            references=children.languages,
        )

    consumer = Consumer(
        context.queue,
        f"{context.name}-launch",
        replaced.lanes,
        [Handler(LAUNCH, partial(_do, launching=launching))],
        context.slots,
        each_heartbeat=[replaced.look],
        registration=registration,
    )
    return consumer


async def _do(attempt: Attempt[LaunchJob], launching: LaunchContext) -> None:
    job = _with_toolchain(attempt.job, launching.compiling.toolchain)
    await do_launch(replace(attempt, job=job), launching)


def _with_toolchain(job: LaunchJob, toolchain: Toolchain) -> LaunchJob:
    """Return the launch as this toolchain does it.

    If no worker serves the launch's toolchain now, this one has the same Triton.
    """
    if job.compile_job.toolchain_id == toolchain.id:
        return job
    return amended(job, compile_job=job_for(job.compile_job, toolchain))


def _lanes_of(children: Children, toolchain_id: str) -> list[str]:
    return children.lanes(cpu_lane(toolchain_id))
