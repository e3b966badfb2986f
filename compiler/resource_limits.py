"""Checks that a compiled kernel can be launched at all, and names the exceeded resource.

A kernel that compiled but cannot be launched is not a failure, since its artifacts are useful. It
gets warnings.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.compilation import Parameter
from compiler.diagnostic import Diagnostic
from compiler.occupancy import (
    REGISTERS_PER_THREAD,
    Needs,
    multiprocessor_of,
    occupancy,
    shared_limit_bytes,
)
from compiler.target import CudaMultiprocessor, Target

MAXIMUM_THREADS = 1024
_SMALLEST_BLOCK = 16
_MOST_NAMES = 4


@dataclass(frozen=True)
class CompileSettings:
    """The compile settings of the kernel, for advice on changes."""

    options: dict[str, Any]
    parameters: Sequence[Parameter]


def fits(target: Target, needs: Needs) -> bool | None:
    """Return whether a block can be launched, `None` where the limits are not known."""
    if multiprocessor_of(target) is None:
        return None
    return not list(_excesses(target, needs))


def warnings(target: Target, needs: Needs, asked: CompileSettings) -> list[Diagnostic]:
    """Return a warning for everything a block asks too much of: the size, the limit, the advice."""
    last: Any = target.stages[-1]
    return [
        Diagnostic(
            severity="warning",
            stage=last,
            message=f"The kernel cannot be launched on {target}: {excess}.",
            hint=_advice(what, asked),
        )
        for what, excess in _excesses(target, needs)
    ]


def _excesses(target: Target, needs: Needs) -> Iterator[tuple[str, str]]:
    has = multiprocessor_of(target)
    if has is None:
        return
    most = shared_limit_bytes(target) or 0
    if needs.shared_bytes > most:
        yield "shared", f"shared memory {_kib(needs.shared_bytes)} > {_kib(most)} of a block"
    if needs.threads > MAXIMUM_THREADS:
        yield "threads", f"{needs.threads} threads > {MAXIMUM_THREADS} of a block"
    elif isinstance(has, CudaMultiprocessor) and _lacks_registers(target, needs):
        words = f"{needs.registers} registers in each of {needs.threads} threads"
        yield "registers", f"{words} are more than a multiprocessor has"
    if isinstance(has, CudaMultiprocessor) and has.tensor_columns < needs.tensor_columns:
        columns = f"{needs.tensor_columns} columns > {has.tensor_columns}"
        yield "tensor", f"tensor memory {columns} of a multiprocessor"


def _lacks_registers(target: Target, needs: Needs) -> bool:
    alone = Needs(needs.registers, 0, needs.threads)
    found = occupancy(target, alone)
    return needs.registers > REGISTERS_PER_THREAD or bool(found and found.blocks_per_sm == 0)


def _advice(what: str, asked: CompileSettings) -> str:
    blocks = _listed(_block_sizes(asked.parameters))
    match what:
        case "threads":
            return "Reduce num_warps."
        case "registers":
            return "Reduce num_warps, or set maxnreg to have the compiler spill."
        case "tensor":
            sizes = _block_sizes(asked.parameters)
            wide = _listed({name: sizes[name] for name in sizes if not _is_of_k(name)})
            return f"Reduce {wide or 'the blocks that tl.dot accumulates into'}."
    stages = asked.options.get("num_stages")
    named = f"num_stages (now {stages})" if stages and stages > 1 else ""
    return f"Reduce {' or '.join(filter(None, (named, blocks or 'the size of the blocks')))}."


def _block_sizes(parameters: Sequence[Parameter]) -> dict[str, int]:
    """Return the constants that are block sizes by their look, those of K first."""
    found = {p.name: p.value for p in parameters if p.role == "constexpr" and _is_block_size(p)}
    return dict(sorted(found.items(), key=lambda item: (not _is_of_k(item[0]), item[0])))


def _is_of_k(name: str) -> bool:
    return name.upper().endswith("K")


def _listed(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} (now {sizes[name]})" for name in list(sizes)[:_MOST_NAMES])


def _is_block_size(parameter: Parameter) -> bool:
    value, name = parameter.value, parameter.name.upper()
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and value >= _SMALLEST_BLOCK and ("BLOCK" in name or "TILE" in name)


def _kib(size_bytes: int) -> str:
    """Return a size in KB, rounded up, so that one more than a limit never reads as the limit."""
    return f"{math.ceil(size_bytes / 102.4 - 1e-9) / 10:g} KB"
