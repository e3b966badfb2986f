"""Prepares a process for recording: changes torch and Triton, and does everything once.

A zygote does it before it forks, so that its children open no file and find all caches filled.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import warnings

from compiler.front.preloaded import PRELOADED, preload
from programs.recorder import launch_recorder
from programs.recorder.not_recordable import NotRecordable
from programs.recorder.record import record
from programs.recorder.record_order import RecordOrder
from programs.recorder.torch_patches import (
    coarse_ops,
    fake_cuda,
    fake_guard,
    plain_paths,
    torch_patches,
    unread_times,
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
    """Change torch and Triton for recording, once in a process; nothing takes it back.

    Raises `FakeGuardError` where torch cannot be used for that.
    """
    if _prepared:
        return
    import torch

    warnings.simplefilter("ignore")
    fake_guard.install()
    logging.disable(logging.WARNING)  # torch wonders where its GPU is
    preload((*PRELOADED, *_ALSO))
    logging.disable(logging.NOTSET)
    torch._dynamo.trace_rules.get_torch_obj_rule_map()  # made late by torch, it reads its modules
    torch.set_num_threads(1)
    fake_guard.without_threads()
    torch_patches.install()
    fake_cuda.install()
    unread_times.install()
    coarse_ops.install()
    plain_paths.install()
    launch_recorder.install()
    _prepared.append(True)


def warm_up() -> None:
    """Prepare, and record programs that use most of torch. Leaves no thread and no file behind."""
    prepare()
    order = RecordOrder(entries=[{"kind": "script", "outputs": None}])
    for program in PROGRAMS:
        with contextlib.suppress(NotRecordable):
            record(order, program, {})
    gc.collect()  # and no freeze, before the zygote's: paths of what is frozen cannot be hidden
