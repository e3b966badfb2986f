"""Makes the order for the child that writes a cache file of Triton's autotuner.

The results are the sweep's. The decorator's configurations come from the toolchain that compiled
the winner, since the key of the file depends on both.
"""

from compiler.autotune import AutotuneReading
from compiler.cached_tuning import NotCacheable, autotune_cache_order
from compiler.derivation import DeriveJob
from compiler.job import CompileJob
from compiler.messages.autotuning import AutotuneCacheOrder
from worker.compile.autotune_reading import AutotunedSource, read_autotuner
from worker.pool.pool import Pool


async def autotune_cache_order_of(
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
    found = await read_autotuner(pool, asked)
    if isinstance(found, AutotuneReading):
        return autotune_cache_order(found, job.tuned, job.compilation.options)
    why = found.failure.message if found.failure is not None else str(found.outcome.ending)
    raise NotCacheable(f"the autotuner cannot be read: {why}")
