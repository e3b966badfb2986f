"""Makes a run form callable: compiles its text with the functions that it uses.

Where programs wait for each other, they take turns. Only loops without a number wait (`scf.while`):
a function that has or calls such a loop becomes a generator, which yields in it. The text is the
compiler's own, never the user's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from compiler.ttir_to_numpy.runtime import tensor_ops as runtime_ops
from launch.buffers.element_types import Array
from launch.checks.own_order import OwnOrder
from launch.cpu import tensor_ops
from launch.cpu.control_flow import Branch, Paths, Rounds, chosen, loop
from launch.cpu.descriptors import BlockPointer, DescriptorAccesses, TensorDescriptor
from launch.cpu.device_print_assert import DevicePrints
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances
from launch.cpu.promises import Promises
from launch.cpu.undefined_lanes import UndefinedLanes

_UNEVEN = 8
"""The divisor of the batch size if programs may have different numbers of loop rounds."""
_TENSOR_OPS = (
    "concatenate", "full", "gather", "histogram", "join", "reduce", "reshape", "scan",
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
        names = {
            **_numbers(),
            **_control(programs),
            **_memory(memory),
            "check": prints.check,
            "show": prints.show,
            "assume": prints.assume,
        }
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
        def exchange(*operands: Any, **named: Any) -> Any:
            own_order.exchange()
            return function(*operands, **named)

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
    shapes["dot"] = runtime_ops.dot
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


def elementwise(programs: ProgramInstances, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` for tensors whose last axis is the programs."""

    def over_lanes(*tensors: Array) -> Any:
        arrays = np.broadcast_arrays(*tensors)
        shape = arrays[0].shape
        with programs.lanes(shape):
            made = function(*[array.reshape(-1) for array in arrays])
        rows = made if isinstance(made, tuple) else (made,)
        shaped = tuple(np.broadcast_to(row, (arrays[0].size,)).reshape(shape) for row in rows)
        return shaped if isinstance(made, tuple) else shaped[0]

    if programs.count == 1:
        return over_lanes

    def over_lanes_of_all(*tensors: Array) -> Any:
        """Broadcast to every program if some are inactive, since lanes may then differ."""
        if programs.active is None:
            return over_lanes(*tensors)
        wide = [np.broadcast_to(t, (*t.shape[:-1], programs.count)) for t in tensors]
        return over_lanes(*wide)

    return over_lanes_of_all


def map_packs(
    programs: ProgramInstances, function: Callable[..., Any], pack: int, *tensors: Array
) -> Any:
    """Return the results of `function` for each `pack` neighbours of all tensors."""
    arrays = np.broadcast_arrays(*tensors)
    shape = arrays[0].shape
    rows = [array.reshape(shape[0], -1, pack) for array in arrays]
    each = [row[:, :, place] for row in rows for place in range(pack)]
    made = map_elementwise(programs, function, *each)
    made = made if isinstance(made, tuple) else (made,)
    packs = tuple(
        np.stack(made[first : first + pack], -1).reshape(-1, *shape[1:])
        for first in range(0, len(made), pack)
    )
    return packs if len(packs) > 1 else packs[0]


def map_elementwise(
    programs: ProgramInstances, function: Callable[..., Any], *tensors: Array
) -> Any:
    """Return the results of `function` for each element of tensors with the leading axis first."""
    made = elementwise(programs, function)(*[np.moveaxis(tensor, 0, -1) for tensor in tensors])
    if isinstance(made, tuple):
        return tuple(np.moveaxis(row, -1, 0) for row in made)
    return np.moveaxis(made, -1, 0)


def check_extent(
    programs: ProgramInstances, value: Any, shape: tuple[int, ...], made_by: str
) -> None:
    """Raise `AssertionError` unless `value` has `shape` after a leading axis of programs or of 1.

    Pointers may be narrower: each access broadcasts them to the shape of its tile.
    """
    if isinstance(value, Pointer):
        parts = [part.shape for part in (value.across, value.along) if part is not None]
        for part in parts:
            if part[0] not in (1, programs.count):
                raise AssertionError(f"{made_by}: a pointer of {part} for {programs.count}")
            np.broadcast_shapes(part[1:], shape)
        return
    shape_made = np.shape(value)
    if shape_made[:1] not in ((1,), (programs.count,)) or shape_made[1:] != shape:
        raise AssertionError(f"{made_by}: {shape_made}, but the part of one program is {shape}")


def text_in_turns(text: str) -> ast.Module:
    """Return the text's tree, whose functions yield after each decision of a loop to go on."""
    module = ast.parse(text)
    functions = {
        statement.name: statement
        for statement in module.body
        if isinstance(statement, ast.FunctionDef)
    }
    passed = {name for function in functions.values() for name in _passed(function)}
    waiting: set[str] = set()
    while True:
        further = {
            name
            for name, function in functions.items()
            if name not in waiting | passed
            and any(_waits(node) or _called(node) in waiting for node in _own(function))
        }
        if not further:
            break
        waiting |= further
    for name in waiting:
        _Turning(waiting).generic_visit(functions[name])
    return ast.fix_missing_locations(module)


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function, except those of functions in it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node
            pending += ast.iter_child_nodes(node)


def _called(node: ast.AST) -> str | None:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return node.func.id if is_call else None  # type: ignore[attr-defined]


def _passed(function: ast.FunctionDef) -> set[str]:
    """Return the names that a function uses as values, or in functions that it defines."""
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    counts = [_called(node) for node in _own(function)]
    loads = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
    return {name for name in names if loads.count(name) > counts.count(name)}


def _waits(node: ast.AST) -> bool:
    """Return True for `if not rounds.go_on(...):`."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.UnaryOp)
        and isinstance(node.test.operand, ast.Call)
        and isinstance(node.test.operand.func, ast.Attribute)
        and node.test.operand.func.attr == "go_on"
    )


class _Turning(ast.NodeTransformer):
    def __init__(self, waiting: set[str]) -> None:
        self._waiting = waiting

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        if not _waits(node):
            return node
        return [node, ast.copy_location(ast.Expr(ast.Yield(None)), node)]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _called(node) not in self._waiting:
            return node
        return ast.copy_location(ast.YieldFrom(node), node)
