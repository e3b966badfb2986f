"""The children that prove kernels: a zygote with z3 and Triton, started on first use."""

from dataclasses import replace

from launch.proof.proof_messages import ProveOrder
from worker.code_digest import proof_digest
from worker.feature import ChildSettings
from worker.launch.launch_children import ENVIRONMENT
from worker.pool.child_outcome import Caps
from worker.pool.lazy_pool import LazyPool
from worker.pool.pool import Pool
from worker.sandbox.profile import PROFILES

PROOF_TASKS = "launch.proof_tasks"
_RESULT_BYTES = 8 << 20


def proof_children(settings: ChildSettings, code: str) -> LazyPool:
    """Return the pool, which starts with the first proof. `code` is this process's digest of it."""
    limits = {ProveOrder.profile: PROFILES[ProveOrder.profile].limits}
    own = replace(
        settings.toolchain, tasks_module=PROOF_TASKS, environment=ENVIRONMENT, limits=limits
    )
    caps = Caps(result_bytes=_RESULT_BYTES)
    return LazyPool(
        lambda: Pool(
            own,
            spares={},
            caps=caps,
            on_outdated=settings.on_outdated,
            idle=settings.idle,
            is_current=lambda: proof_digest() == code,
        )
    )
