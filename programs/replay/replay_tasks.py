"""The task of replaying, for a separate zygote that never sees user code.

The zygote needs `launch_children.TORCH_ENVIRONMENT`.
"""

import gc
import importlib
import warnings

import torch

from compiler.back import contexts, triton_api
from compiler.messages.wire import Task, task_of
from launch.cpu import small_kernel
from launch.cpu.run_kernel import run
from launch.reference import libraries as numbers
from programs.replay import warming_networks
from programs.replay.replay import replay
from programs.replay.replay_order import ReplayOrder

__all__ = ["TASKS", "libraries", "prewarm", "warm_up"]

_ALSO = (
    "decimal", "ml_dtypes", "numpy", "numpy.lib.stride_tricks", "numpy.ma",
    "torch._decomp", "torch._refs",
    "torch._meta_registrations", "torch._prims", "torch._refs.fft", "torch._refs.linalg",
    "torch._refs.nn.functional", "torch._refs.special", "torch._subclasses.functional_tensor",
    "torch._subclasses.schema_check_mode", "torch.fft", "torch.fx.experimental.proxy_tensor",
    "torch.fx.experimental.symbolic_shapes", "torch.linalg", "torch.special",
)  # fmt: skip


TASKS: dict[str, Task] = dict([task_of(ReplayOrder, replay)])


def libraries() -> dict[str, str]:
    """Return the versions on which a replay's numbers depend, besides its tape."""
    capability = torch.backends.cpu.get_cpu_capability()
    return numbers.libraries() | {"torch": torch.__version__, "capability": capability}


def warm_up() -> None:
    """Import everything that a replay may need, and run most of it once, without new threads."""
    warnings.simplefilter("ignore")
    for name in _ALSO:
        importlib.import_module(name)
    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    warming_networks.run_all()
    prewarm("back")
    gc.collect()


def prewarm(profile: str) -> None:
    """Run a tiny kernel to take its page faults early."""
    if profile == "back":
        order = small_kernel.small_order()
        run(order, small_kernel.TEXT, lambda *_: None)
        contexts.prepare(triton_api.make_backend(triton_api.target_of(order.target)))
