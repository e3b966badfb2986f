"""The tasks of launches that a child can run, and what their zygote does before it forks.

`interpret` and `reference` execute user Python and belong into children of profile `front`;
`compare` executes none and belongs into `cut`, and so does `run`, which parses IR and belongs into
`back`. Their zygote needs `launch_children.ENVIRONMENT`.
"""

from __future__ import annotations

import gc
from typing import Any

from compiler.back import contexts, triton_api
from compiler.front.module import forget_earlier
from compiler.front.preloaded import PRELOADED, preload
from compiler.front.stubs import torch_stub
from compiler.front.stubs.triton_modules import absence
from compiler.messages.wire import Task, task_of
from launch.cpu import small_kernel
from launch.cpu.run_kernel import run
from launch.interpreter import triton_interpreter
from launch.interpreter.interpret import interpret
from launch.messages import CompareOrder, InterpretOrder, ReferenceOrder, RunOrder
from launch.reference.comparison import compare
from launch.reference.libraries import libraries
from launch.reference.reference import reference

__all__ = ["TASKS", "libraries", "touch", "warm_up"]

TASKS: dict[str, Task] = dict(
    [
        task_of(RunOrder, run),
        task_of(InterpretOrder, interpret),
        task_of(ReferenceOrder, reference),
        task_of(CompareOrder, compare),
    ]
)

_ALSO = (
    "cmath", "decimal", "random", "ml_dtypes", "numpy", "numpy.ctypeslib", "numpy.exceptions",
    "numpy.fft", "numpy.lib.format", "numpy.lib.recfunctions", "numpy.lib.scimath",
    "numpy.lib.stride_tricks", "numpy.linalg", "numpy.ma", "numpy.matlib", "numpy.polynomial",
    "numpy.random", "numpy.testing", "numpy.typing",
)  # fmt: skip

_COLLECTED_AFTER = 50_000
"""Objects until a garbage collection.

Blocks come and go by reference count; to search them for cycles would cost a fifth of the time.
"""

_SOURCE = b"""import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x + x

@triton.jit
def warm(x_ptr, z_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, offsets < n, 0)
    for _ in range(0, 2):
        x = tl.where(x > 0, twice(x), 0) + tl.max(x, 0) + tl.sum(tl.exp(x), 0) + tl.cdiv(n, 2)
    tl.store(z_ptr + offsets, x, mask=offsets < n)
"""


def warm_up() -> None:
    """Import all that a child may need and run one small kernel.

    To be called once in a zygote, before it forks; leaves no thread and no file behind. Raises
    `RuntimeError` in an environment without `launch_children.ENVIRONMENT`.
    """
    if not triton_interpreter.is_on():
        message = "launch tasks need TRITON_INTERPRET=1 in the environment when Triton is imported"
        raise RuntimeError(message)
    with absence(torch_stub.LIBRARY):
        preload((*PRELOADED, *_ALSO))
    triton_interpreter.read_library()
    triton_interpreter.improve()
    touch("front")
    touch("back")
    gc.collect()
    gc.set_threshold(_COLLECTED_AFTER)


def touch(profile: str) -> None:
    """Run a tiny kernel to take its page faults early, where kernels are run."""
    if profile == "back":
        order = small_kernel.small_order()
        run(order, small_kernel.TEXT, lambda *_: None)
        contexts.prepare(triton_api.make_backend(triton_api.target_of(order.target)))
    if profile != "front":
        return
    interpret(_order(), _SOURCE, lambda *_: None)
    forget_earlier()  # the stand-ins of a kernel's module are none of a reference's


def _order() -> InterpretOrder:
    def buffer(allocation: int, *, output: bool) -> dict[str, Any]:
        return {
            "kind": "buffer", "allocation": allocation, "shape": [40], "strides": [1], "offset": 0,
            "dtype": "fp32", "output": output,
        }  # fmt: skip

    allocation = {"dtype": "fp32", "elements": 40, "align_bytes": 16, "body": None}
    uniform = {"kind": "uniform", "seed": 1, "low": 0, "high": 1}
    return InterpretOrder(
        kernel="warm",
        module="warm",
        source=(0, len(_SOURCE)),
        allocations=[
            {**allocation, "name": "x_ptr", "init": uniform, "output": False},
            {**allocation, "name": "z_ptr", "init": None, "output": True},
        ],
        arguments={
            "x_ptr": buffer(0, output=False),
            "z_ptr": buffer(1, output=True),
            "n": {"kind": "scalar", "value": 40, "dtype": "i32"},
        },
        constexprs={"BLOCK": {"int": "32"}},
        grid=(2, 1, 1),
    )
