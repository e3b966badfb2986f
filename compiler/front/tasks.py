"""The tasks that a child can run, and a zygote's preparation before it forks."""

import gc
import linecache
import sys
from collections.abc import Iterator
from typing import Any

from triton import knobs

from compiler.back import contexts, triton_api
from compiler.back.back import back
from compiler.back.derive_tasks import (
    derived_text,
    diff,
    export,
    hot_lines,
    instructions,
    lines,
    log,
)
from compiler.back.describe import describe, facts
from compiler.back.passes import passes
from compiler.back.posted_ir import lower_posted_ir
from compiler.back.triton_cache import triton_cache
from compiler.back.type_layouts import layouts
from compiler.explain.task import explain
from compiler.front import module, standard_library, triton_knobs
from compiler.front.autotuner import autotune, autotune_cache
from compiler.front.cache_key import cache_key
from compiler.front.front import front
from compiler.front.jit_function import parameters
from compiler.front.script.recorded_launches import launches
from compiler.front.standard_library import PRELOADED, preload
from compiler.front.stubs import driver_stub, torch_stub, triton_modules
from compiler.front.stubs.triton_modules import absence
from compiler.messages import autotuning, orders
from compiler.messages.orders import BackOrder, FrontOrder, ReadOrder
from compiler.messages.reports import FrontReport
from compiler.messages.script_launches import LaunchesOrder
from compiler.messages.wire import Task, task_of
from compiler.reading.read_source import read_source
from compiler.target import STANDARD_TARGET, Target, common_targets, parse_target
from compiler.ttir_to_numpy.task import numpy

__all__ = ["TASKS", "forget", "prewarm", "warm_up"]

TASKS: dict[str, Task] = dict(
    [
        task_of(orders.ReadOrder, read_source),
        task_of(orders.FrontOrder, front),
        task_of(orders.ParametersOrder, parameters),
        task_of(autotuning.AutotuneOrder, autotune),
        task_of(LaunchesOrder, launches),
        task_of(autotuning.AutotuneCacheOrder, autotune_cache),
        task_of(orders.BackOrder, back),
        task_of(orders.PostedOrder, lower_posted_ir),
        task_of(orders.DescribeOrder, describe),
        task_of(orders.DerivedTextOrder, derived_text),
        task_of(orders.LinesOrder, lines),
        task_of(orders.InstructionsOrder, instructions),
        task_of(orders.ExplanationOrder, explain),
        task_of(orders.DiffOrder, diff),
        task_of(orders.HotLinesOrder, hot_lines),
        task_of(orders.LogOrder, log),
        task_of(orders.PassesOrder, passes),
        task_of(orders.LayoutsOrder, layouts),
        task_of(orders.NumpyOrder, numpy),
        task_of(orders.ExportOrder, export),
        task_of(orders.CacheKeyOrder, cache_key),
        task_of(orders.TritonCacheOrder, triton_cache),
    ]
)
_caches: list[Any] = []
"""The `lru_cache`s of our modules: their content comes from user texts."""


_SOURCE = b"""import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x + x

@triton.jit
def warm(x_ptr, n, BLOCK: tl.constexpr = 64):
    total = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        total += twice(tl.load(x_ptr + tl.arange(0, BLOCK)))
    tl.store(x_ptr + tl.arange(0, BLOCK), total + tl.sum(total))
"""
_TARGET = parse_target(STANDARD_TARGET)
_OPTIONS = {"enable_fp_fusion": True}


def forget() -> None:
    """Empty every cache that our tasks or the standard library's reader of texts may fill."""
    for cache in _caches:
        cache.cache_clear()
    linecache.clearcache()


def _found_caches() -> Iterator[Any]:
    for name, found in list(sys.modules.items()):
        if name.startswith("compiler."):
            things = list(vars(found).values())
            yield from (thing for thing in things if hasattr(thing, "cache_clear"))


def warm_up() -> None:
    """Import all that a child may need and run one compilation of every kind.

    Starts ptxas twice for its version.

    To be called once in a zygote, before it forks; leaves no thread and no file behind.
    """
    contexts.disable_reproducers()
    with absence(torch_stub.LIBRARY):
        preload(PRELOADED)
    standard_library.keep()
    for tool in (knobs.nvidia.ptxas, knobs.nvidia.ptxas_blackwell):
        tool.version.strip()
    facts()
    triton_knobs.initial_state()
    triton_api.load_libraries()
    prewarm("parse")
    for target in common_targets():
        _compile(target, target.stages[-1])
    for target in common_targets():  # afterwards, since compiling takes the context
        _prepare_context(target)
    module.forget_earlier()
    _caches[:] = _found_caches()
    driver_stub.forget()
    triton_api.forget_files()
    triton_modules.keep("triton")
    triton_modules.keep_texts("triton.language")
    gc.collect()


def prewarm(profile: str) -> None:
    """Run a tiny task of `profile`'s kind (parse, front, back) to take its page faults early."""
    if profile == "parse":
        read_source(ReadOrder(), _SOURCE)
    elif profile == "front":
        _front(_TARGET)
    else:
        _compile(_TARGET, "ptx")
    if profile != "parse":
        _prepare_context(_TARGET)


def _prepare_context(target: Target) -> None:
    contexts.prepare(triton_api.make_backend(triton_api.target_of(target)))


def _front(target: Target) -> tuple[FrontReport, bytes]:
    artifacts: dict[str, bytes] = {}

    def keep(header: dict[str, Any], body: bytes) -> None:
        artifacts[header["stage"]] = body

    order = FrontOrder(
        kernel="warm",
        signature={"x_ptr": "*fp32", "n": "i32"},
        constexprs={},
        hints={"x_ptr": ["divisible_by_16"]},
        options=_OPTIONS,
        target=target,
    )
    return front(order, _SOURCE, keep), artifacts["ttir"]


def _compile(target: Target, stop_after: str) -> None:
    made, ttir = _front(target)
    order = BackOrder(
        locations=made.locations, options=_OPTIONS, target=target, stop_after=stop_after
    )
    back(order, ttir, lambda *_: None)
