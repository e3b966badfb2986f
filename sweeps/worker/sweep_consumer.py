"""The consumer of sweeps. It only waits and submits, and takes no slot of a compilation."""

from functools import partial

from compiler.toolchain import Toolchain
from store import workers
from store.launches import Launches
from store.stored import read_stored
from sweeps.stored_sweeps import Sweeps
from sweeps.sweep_kind import SWEEP
from sweeps.worker.do_sweep import do_sweep
from sweeps.worker.launch_compilation import LaunchCompilations
from sweeps.worker.sweep_run import SweepStores
from worker.consumer import Consumer, Handler
from worker.worker_context import WorkerContext

SWEEPS_AT_ONCE = 64
"""Several times what one caller may have: they only wait."""


def sweep_consumer(context: WorkerContext) -> Consumer:
    """Return the consumer of sweeps of all toolchains.

    When this worker leaves, another one goes on with what a sweep waits for.
    """
    redis = context.queue.redis
    stores = SweepStores(
        Sweeps(redis),
        context.client,
        context.compilations,
        Launches(redis),
        partial(_described, workers.Toolchains(redis)),
        LaunchCompilations(context.compiling),
        context.derivations,
        context.compiling.blobs,
        context.prove_kernel,
    )
    return Consumer(
        context.queue,
        f"{context.name}-sweeps",
        [SWEEP.name],
        [Handler(SWEEP, partial(do_sweep, stores=stores))],
        SWEEPS_AT_ONCE,
        gives_back_at_once=True,
    )


async def _described(registered: workers.Toolchains, toolchain_id: str) -> Toolchain | None:
    description = await registered.describe(toolchain_id)
    return None if description is None else read_stored(Toolchain, description)
