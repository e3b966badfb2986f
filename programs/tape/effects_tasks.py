"""The task of reading what kernels do to their parameters, for children of a small zygote.

The zygote runs no user code, and needs the standard library only.
"""

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field

from compiler.messages.orders import Order
from compiler.messages.wire import Send, Task, task_of
from programs.tape.kernel_effects import kernel_effects

__all__ = ["TASKS", "prewarm", "warm_up"]


@dataclass(frozen=True, kw_only=True)
class EffectsOrder(Order):
    """Read the effects of kernels: the body is their TTIRs, one after the other."""

    task = "effects"
    profile = "parse"
    sizes_bytes: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class EffectsReport:
    """For each TTIR the names of parameters that are read, and written; null where unknown."""

    effects: list[list[list[str]] | None] = field(default_factory=list)


def read_effects(order: EffectsOrder, body: bytes, _: Send) -> EffectsReport:
    """Return the effects of the kernels in `body`, in order."""
    found: list[list[list[str]] | None] = []
    at = 0
    for size_bytes in order.sizes_bytes:
        text = bytes(body[at : at + size_bytes]).decode(errors="replace")
        at += size_bytes
        one = kernel_effects(text)
        found.append(None if one is None else [sorted(one.reads), sorted(one.writes)])
    return EffectsReport(effects=found)


TASKS: dict[str, Task] = dict([task_of(EffectsOrder, read_effects)])


def warm_up() -> None:
    """Leave what is loaded out of later collections."""
    gc.collect()


def prewarm(_: str) -> None:
    """Do nothing: there is nothing to run first."""
