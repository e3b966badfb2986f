"""The tasks of launches that a child can run, and the preparation of their zygote.

`reference` executes user Python and belongs into children of profile `front`. `compare` and `run`
execute none: `compare` belongs into `parse`, and those which parse IR into `back` (`run`) and
`prove` (`causes`).
"""

import gc

from compiler.back import contexts, triton_api
from compiler.front.standard_library import PRELOADED, preload
from compiler.front.stubs import torch_stub
from compiler.front.stubs.triton_modules import absence
from compiler.messages.wire import Task, task_of
from launch.checks.precision_causes import causes
from launch.cpu import small_kernel
from launch.cpu.run_kernel import run
from launch.messages import CausesOrder, CompareOrder, ReferenceOrder, RunOrder
from launch.reference.comparison import compare
from launch.reference.libraries import libraries
from launch.reference.reference import reference

__all__ = ["TASKS", "libraries", "prewarm", "warm_up"]

TASKS: dict[str, Task] = dict(
    [
        task_of(RunOrder, run),
        task_of(ReferenceOrder, reference),
        task_of(CompareOrder, compare),
        task_of(CausesOrder, causes),
    ]
)

_ALSO = (
    "cmath", "decimal", "random", "ml_dtypes", "numpy", "numpy.ctypeslib", "numpy.exceptions",
    "numpy.fft", "numpy.lib.format", "numpy.lib.recfunctions", "numpy.lib.scimath",
    "numpy.lib.stride_tricks", "numpy.linalg", "numpy.ma", "numpy.matlib", "numpy.polynomial",
    "numpy.random", "numpy.testing", "numpy.typing",
)  # fmt: skip

_COLLECTED_AFTER = 50_000
"""The number of new objects that triggers a garbage collection.

Reference counts already free blocks; searching them for cycles would cost a fifth of the time.
"""


def warm_up() -> None:
    """Import everything that a child may need and run one small kernel.

    Call it once in a zygote, before it forks; it leaves no thread and no file behind.
    """
    with absence(torch_stub.LIBRARY):
        preload((*PRELOADED, *_ALSO))
    prewarm("back")
    gc.collect()
    gc.set_threshold(_COLLECTED_AFTER)


def prewarm(profile: str) -> None:
    """Run a tiny kernel in children that run kernels, to take the page faults early."""
    if profile == "back":
        order = small_kernel.small_order()
        run(order, small_kernel.TEXT, lambda *_: None)
        contexts.prepare(triton_api.make_backend(triton_api.target_of(order.target)))
