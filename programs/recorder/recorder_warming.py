"""Prepares a process for recording: patches torch and Triton, and records sample programs.

A zygote does this before it forks: its children may not open files, and start with full caches.
"""

import contextlib
import gc
import logging
import warnings

from compiler.front.standard_library import PRELOADED, preload
from programs.recorder import launch_recorder, sandbox_attempts
from programs.recorder.not_recordable import NotRecordable
from programs.recorder.record import record
from programs.recorder.record_order import RecordOrder
from programs.recorder.torch_patches import (
    coarse_ops,
    disabled_fast_paths,
    fake_cuda,
    fake_guard,
    opaque_times,
    torch_patches,
)
from programs.recorder.warming_programs import PROGRAMS

_ALSO = (
    "einops", "einops._torch_specific", "einops.layers.torch", "numpy", "numpy.fft",
    "numpy.linalg", "numpy.random", "random", "scipy",
    "torch._dynamo", "torch._dynamo.polyfills.loader", "torch._dynamo.trace_rules", "torch.amp",
    "torch.autograd.functional", "torch.autograd.profiler", "torch.cuda.amp",
    "torch.distributions", "torch.fft", "torch.func", "torch.jit", "torch.library",
    "torch.linalg", "torch.nn.attention", "torch.nn.init", "torch.nn.modules.utils",
    "torch.nn.parameter", "torch.nn.utils", "torch.nn.utils.parametrizations",
    "torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler", "torch.profiler",
    "torch.special", "torch.utils.benchmark", "torch.utils.checkpoint",
    "torch.utils.cpp_extension", "torch.utils.data", "triton.testing", "triton.tools",
    "typing_extensions",
)  # fmt: skip
_prepared: list[bool] = []


def prepare() -> None:
    """Patch torch and Triton for recording, once in a process, for good.

    Raises `FakeGuardError` if this torch cannot record.
    """
    if _prepared:
        return
    import torch

    warnings.simplefilter("ignore")
    fake_guard.install()
    logging.disable(logging.WARNING)  # torch warns about a missing GPU
    preload((*PRELOADED, *_ALSO))
    logging.disable(logging.NOTSET)
    torch._dynamo.trace_rules.get_torch_obj_rule_map()  # else made in a child, reading files
    torch.set_num_threads(1)
    fake_guard.start_without_threads()
    torch_patches.install()
    fake_cuda.install()
    opaque_times.install()
    coarse_ops.install()
    disabled_fast_paths.install()
    launch_recorder.install()
    sandbox_attempts.install()
    _prepared.append(True)


def warm_up() -> None:
    """Prepare, and record programs that use most of torch. Leaves no threads or open files."""
    prepare()
    order = RecordOrder(entries=[{"kind": "script", "outputs": None}])
    for program in PROGRAMS:
        with contextlib.suppress(NotRecordable):
            record(order, program, {})
    gc.collect()  # no gc.freeze(): the zygote hides paths first, which needs objects not frozen
