"""Makes a run form callable: compiles its text with the functions that it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from types import CodeType, MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from compiler.ttir_to_numpy.batched_codegen import RUN_FILE, RunForm
from compiler.ttir_to_numpy.runtime import (
    conversions,
    integer_ops,
    number_ops,
    rounding,
    scaled_dot,
    special_functions,
)
from launch.buffers.element_types import Array
from launch.checks.own_order import OwnOrder
from launch.cpu import tensor_ops
from launch.cpu.control_flow import Branch, Paths, Rounds, chosen, loop
from launch.cpu.descriptors import BlockPointer, DescriptorAccesses, TensorDescriptor
from launch.cpu.device_print_assert import DevicePrints
from launch.cpu.lanes import check_extent, elementwise, map_elementwise, map_packs
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances
from launch.cpu.promises import Promises
from launch.cpu.turn_text import text_in_turns
from launch.cpu.undefined_lanes import UndefinedLanes

_UNEVEN = 8
"""The divisor of the batch size if programs may have different numbers of loop rounds."""
_TENSOR_OPS = (
    "concatenate", "dot", "full", "gather", "histogram", "join", "reduce", "reshape", "scan",
    "select", "to_half", "transpose",
)  # fmt: skip


_EXCHANGES = ("dot", "gather", "histogram", "reduce", "scan")
"""Operations between threads that usually compile to a barrier."""


def _nothing(*_: int) -> None:
    """Ignore a barrier, or a loop that begins."""


def _ignored(*values: Any) -> None:
    """Ignore a step, a promise, or lanes without a value."""


class Kernel:
    """A kernel that runs batches of `programs`; accesses go to `memory`.

    If its form has steps, `step` receives each value: its number in `form.steps`, and its lanes.
    `own_order` sees barriers, and what implies one.
    `replaced` functions take the place of those of the CPU device, by the names in the form.
    Without `promises`, hints and descriptors are not checked, and without `undefined` lanes, those
    that have no value are 0. If it runs `in_turns`, programs that wait are generators.
    """

    def __init__(
        self,
        form: RunForm,
        programs: ProgramInstances,
        memory: Any,
        prints: DevicePrints,
        step: Callable[[int, Any], None] = _ignored,
        replaced: Mapping[str, Any] = MappingProxyType({}),
        promises: Promises | None = None,
        own_order: OwnOrder | None = None,
        undefined: UndefinedLanes | None = None,
        *,
        in_turns: bool = False,
    ) -> None:
        self._form, self._programs = form, programs
        names = {**_numbers(), **_control(programs), **_memory(memory), **_prints(prints)}
        names["step"] = step
        names["undefined"] = _ignored if undefined is None else undefined.of
        names["promise"] = _ignored if promises is None else promises.check
        names["check_descriptor"] = _ignored if promises is None else promises.check_descriptor
        names |= _order(names, own_order)
        names["check_extent"] = partial(check_extent, programs)
        names |= replaced
        code = _compiled_in_turns(form.text) if in_turns else _compiled(form.text)
        exec(code, names)  # noqa: S102 - its task
        self._function: Callable[..., None] = names[form.entry]

    def batch_size(self, most_elements: int) -> int:
        """Return the number of programs to run at once: their largest tiles fit `most_elements`."""
        if not self._form.is_batchable:
            return 1
        if self._form.has_uneven_loops:  # programs that have left the loop compute along
            most_elements //= _UNEVEN
        return max(1, most_elements // self._form.largest_tile)

    def run_batch(self, numbers: Array, arguments: Sequence[Any]) -> None:
        """Run the programs with these numbers at once. Raises `PossibleRace`, `Stopped`."""
        self._programs.begin(numbers)
        with np.errstate(all="ignore"):
            self._function(*arguments)

    def begin_turns(self, numbers: Array, arguments: Sequence[Any]) -> Any:
        """Begin one program; return a generator of its turns, or anything else if it has ended."""
        self._programs.begin(numbers)
        return self._function(*arguments)


def _order(names: Mapping[str, Any], own_order: OwnOrder | None) -> Mapping[str, Any]:
    """Return the names by which `own_order` sees barriers, and what implies one."""
    if own_order is None:
        return {"barrier": _nothing, "enter_loop": _nothing}

    def exchanging(function: Callable[..., Any]) -> Callable[..., Any]:
        def exchange(*given: Any, **named: Any) -> Any:
            own_order.exchange()
            return function(*given, **named)

        return exchange

    return {
        "barrier": own_order.barrier,
        "enter_loop": own_order.enter_loop,
        **{name: exchanging(names[name]) for name in _EXCHANGES},
    }


@lru_cache(maxsize=4)
def _compiled(text: str) -> CodeType:
    """Return a form's code, cached because a launch may run it several times on fresh memory."""
    return compile(text, RUN_FILE, "exec", dont_inherit=True)


@lru_cache(maxsize=4)
def _compiled_in_turns(text: str) -> CodeType:
    return compile(text_in_turns(text), RUN_FILE, "exec", dont_inherit=True)


@cache
def _numbers() -> Mapping[str, Any]:
    modules = (number_ops, conversions, rounding, integer_ops, special_functions, scaled_dot)
    public = {
        name: value for module in modules for name, value in vars(module).items() if name[0] != "_"
    }
    shapes = {name: getattr(tensor_ops, name) for name in _TENSOR_OPS}
    return {**public, **shapes, "np": np, "ml_dtypes": ml_dtypes, "Pointer": Pointer}


def _control(programs: ProgramInstances) -> Mapping[str, Any]:
    def keep(new: Any, old: Any) -> Any:
        active = programs.active if programs.is_uneven else None
        return new if active is None else chosen(active, new, old)

    def counted(start: Any, end: Any, step: Any, dtype: Any = np.int32) -> Any:
        return loop(programs, start, end, step, dtype)

    def counted_unsigned(start: Any, end: Any, step: Any, dtype: Any = np.int32) -> Any:
        kind = f"u{np.dtype(dtype).itemsize}"
        start, end, step = (
            np.asarray(value, dtype).view(kind).astype(np.int64) for value in (start, end, step)
        )
        for number in loop(programs, start, end, step, np.int64):
            yield number.astype(kind).view(dtype)

    return {
        "begin_if": partial(Branch, programs), "begin_paths": partial(Paths, programs),
        "begin_while": partial(Rounds, programs), "keep": keep, "loop": counted,
        "program_id": programs.program_id, "num_programs": programs.num_programs,
        "elementwise": partial(elementwise, programs),
        "map_elementwise": partial(map_elementwise, programs),
        "map_packs": partial(map_packs, programs), "unsigned_loop": counted_unsigned,
    }  # fmt: skip


def _memory(memory: Any) -> Mapping[str, Any]:
    accesses = DescriptorAccesses(memory)
    kinds = ("load", "store", "reduce", "gather", "scatter")
    return {
        "TensorDescriptor": TensorDescriptor,
        "BlockPointer": BlockPointer,
        "load_block": accesses.load_block,
        "store_block": accesses.store_block,
        **{f"descriptor_{kind}": getattr(accesses, f"descriptor_{kind}") for kind in kinds},
        **{name: getattr(memory, name) for name in ("load", "store", "atomic", "compare_and_swap")},
    }


def _prints(prints: DevicePrints) -> Mapping[str, Any]:
    return {"check": prints.check, "show": prints.show, "assume": prints.assume}
