"""The tasks that a child can run, and a zygote's preparation before it forks."""

from compiler.back.back import back
from compiler.back.derive_tasks import explain, export, hot_lines, instructions, lines, log
from compiler.back.describe import describe
from compiler.back.diff_task import diff
from compiler.back.nvdisasm import sass
from compiler.back.passes import passes
from compiler.back.posted_ir import lower_posted_ir
from compiler.back.triton_cache import triton_cache
from compiler.back.type_layouts import layouts
from compiler.front.autotune_cache import autotune_cache
from compiler.front.autotuner import autotune
from compiler.front.cache_key import cache_key
from compiler.front.front import front
from compiler.front.jit_function import parameters
from compiler.front.script.recorded_launches import launches
from compiler.front.warming import forget, prewarm, warm_up
from compiler.messages import autotuning, orders
from compiler.messages.script_launches import LaunchesOrder
from compiler.messages.wire import Task, task_of
from compiler.reading.read_source import read_source
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
        task_of(orders.SassOrder, sass),
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
