"""The tasks that a child can run, and what a zygote does before it forks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.making.back import back
from compiler.making.cache_key import cache_key
from compiler.making.cut import cut
from compiler.making.describe import describe
from compiler.making.export import export
from compiler.making.forgetting import forget
from compiler.making.front import front
from compiler.making.lines import lines
from compiler.making.log import log
from compiler.making.parameters import parameters
from compiler.making.passes import passes
from compiler.making.posted import posted
from compiler.making.sass import sass
from compiler.making.triton_cache import triton_cache
from compiler.making.warming import touch, warm_up

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
