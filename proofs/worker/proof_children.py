"""The children that prove kernels: a zygote with z3 and Triton, started on first use."""

from dataclasses import replace
from pathlib import Path

from launch.proof.proof_messages import ProveOrder
from worker.code_digest import ROOT, feature_digest
from worker.feature import ChildSettings
from worker.launch.launch_children import ENVIRONMENT
from worker.pool.child_outcome import Caps
from worker.pool.pool import LazyPool, Pool
from worker.sandbox.profile import PROFILES

PROOF_TASKS = "launch.proof_tasks"
_RESULT_BYTES = 8 << 20
PROVING = (PROOF_TASKS, "proofs.worker.feature", "worker.pool.zygote")
"""The modules that proofs start from: the tasks of children, and what orders them."""
LIBRARIES = ("numpy", "triton", "z3-solver")
"""Distributions whose versions can change what is kept of a proof."""


def proof_digest(root: Path = ROOT) -> str:
    """Return the SHA-256 of all that can change a proof: source files and versions of libraries."""
    return feature_digest(PROVING, LIBRARIES, root)


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
