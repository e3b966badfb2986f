"""The tasks of children that prove kernels, and the preparation of their zygote."""

import gc

import numpy.ma  # noqa: F401 - NumPy's sets import it on first use, which a child cannot

from compiler.back import contexts, triton_api
from compiler.messages.wire import Task, task_of
from compiler.proof import solver
from launch.cpu import small_kernel
from launch.cpu.run_kernel import run
from launch.proof.proof_messages import ProveOrder
from launch.proof.prove_kernel import prove_kernel
from launch.recheck.recheck_by_bits import recheck_bits
from launch.recheck.recheck_by_running import recheck
from launch.recheck.recheck_fix import recheck_fix
from launch.recheck.recheck_messages import BitsOrder, FixOrder, RecheckOrder

__all__ = ["TASKS", "prewarm", "warm_up"]

TASKS: dict[str, Task] = dict(
    [
        task_of(ProveOrder, prove_kernel),
        task_of(RecheckOrder, recheck),
        task_of(BitsOrder, recheck_bits),
        task_of(FixOrder, recheck_fix),
    ]
)


def warm_up() -> None:
    """Import everything that a child may need. Call it once in a zygote, before it forks."""
    solver.prepare()
    order = small_kernel.small_order()
    run(order, small_kernel.TEXT, lambda *_: None)
    contexts.prepare(triton_api.make_backend(triton_api.target_of(order.target)))
    gc.collect()


def prewarm(_: str) -> None:
    """Do nothing: children are started one by one, when a proof asks for them."""
