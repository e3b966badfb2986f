"""The tasks that a child can run, and what a zygote does before it forks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.back.back import back
from compiler.back.derive_tasks import export, lines, log
from compiler.back.describe import describe
from compiler.back.nvdisasm import sass
from compiler.back.passes import passes
from compiler.back.posted_ir import posted
from compiler.back.triton_cache import triton_cache
from compiler.front.cache_key import cache_key
from compiler.front.front import front
from compiler.front.jit_function import parameters
from compiler.front.warming import forget, touch, warm_up
from compiler.slice.slice import cut

__all__ = ["TASKS", "Send", "Task", "forget", "touch", "warm_up"]

Send = Callable[[dict[str, Any], bytes], None]
Task = Callable[[dict[str, Any], bytes, Send], dict[str, Any]]

TASKS: dict[str, Task] = {
    "cut": cut,
    "front": front,
    "parameters": parameters,
    "back": back,
    "posted": posted,
    "describe": describe,
    "sass": sass,
    "lines": lines,
    "log": log,
    "passes": passes,
    "export": export,
    "cache_key": cache_key,
    "triton_cache": triton_cache,
}
