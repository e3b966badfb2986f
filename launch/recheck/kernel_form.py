"""A kernel of a TTIR in a form that a re-check can run at any sizes, as it is or in 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from zlib import crc32

import numpy as np

from compiler.back import ir_module
from compiler.diagnostic import Failure
from compiler.messages.orders import IrBounds
from compiler.target import Target
from compiler.ttir_to_numpy.batched_codegen import RunForm, run_form
from compiler.ttir_to_numpy.generic_form import module_of
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.mlir_types import constant_of, element_of, pointee_of
from compiler.ttir_to_numpy.module_text import TranslatedKernel
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.runtime.launching import dtype_named
from compiler.ttir_to_numpy.task import generic_form
from launch.buffers.element_types import Array
from launch.checks.finding import Stopped
from launch.cpu.device_print_assert import DevicePrints
from launch.cpu.instance_locations import InstanceLocations
from launch.cpu.kernel import Kernel
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances, RoundsSpent
from launch.recheck import covered_accesses
from launch.recheck.access_memory import (
    AccessMemory,
    Event,
    Outside,
    ReachedElements,
    WatchedBuffer,
    address_of,
)
from launch.recheck.access_slice import accesses_of, cut_down, in_text_order
from launch.recheck.buffer_contents import BufferContents
from launch.recheck.contract_values import LegalLaunch
from launch.recheck.exact_integers import with_exact_integers
from launch.recheck.recheck_messages import RecheckedKernel

STAGE = "ttir"
_INTEGERS = frozenset({"i8", "i16", "i32", "i64", "index"})


class NotRunnable(Exception):
    """A kernel that the CPU device cannot run; the message explains why."""


class Ended(Exception):
    """An assertion of the kernel that does not hold ends its programs."""


@dataclass(frozen=True)
class BatchRun:
    """The accesses of a batch of programs of one launch."""

    trace: list[Event]
    reached: set[int]
    outside: dict[int, Outside]
    is_whole: bool
    """False where a long loop was cut, or an assertion ended the programs."""

    @property
    def touches(self) -> list[ReachedElements]:
        """Return the accesses, in the order in which they were made."""
        return [event for event in self.trace if isinstance(event, ReachedElements)]


class BoundedPrograms(ProgramInstances):
    """Programs whose loops make a bounded number of turns, of each of which `on_turn` hears."""

    on_turn: Callable[[], None] | None = None

    def __init__(self) -> None:
        self._turns = 0
        super().__init__((1, 1, 1))

    def start(self, grid: Sequence[int], most_turns: int) -> None:
        """Start a launch."""
        super().__init__(grid)
        self._turns = most_turns

    def begin_round(self, of_loop: int = 0) -> None:
        """Count a turn. Raises RoundsSpent."""
        self._turns -= 1
        if self._turns < 0:
            raise RoundsSpent
        if self.on_turn is not None:
            self.on_turn()
        super().begin_round(of_loop)


class Assertions(DevicePrints):
    """Assertions end a run without a finding."""

    def _refuse(self, condition: Array | bool, words: str) -> None:  # noqa: ARG002 - of its base
        holds = np.atleast_1d(condition)
        fails = ~holds.reshape(len(holds), -1).all(axis=1)
        active = self._programs.active
        if (fails if active is None else fails & active).any():
            raise Ended


class RunnableForm:
    """One form of a kernel, ready to run."""

    def __init__(
        self,
        form: RunForm,
        accesses: Sequence[Operation],
        needed: frozenset[int],
        *,
        is_exact: bool,
    ) -> None:
        numbers = {operation.number: place for place, operation in enumerate(accesses)}
        lines = {
            line: numbers[number]
            for line, number in enumerate(form.operations, start=1)
            if number in numbers
        }
        self._form = form
        self._programs = BoundedPrograms()
        self._memory = AccessMemory(
            self._programs, lines, form.operations, needed, is_exact=is_exact
        )
        self._programs.on_turn = self._memory.begin_turn
        prints = Assertions(self._programs, InstanceLocations(form.locations))
        self._kernel = Kernel(form, self._programs, self._memory, prints)

    @property
    def is_batchable(self) -> bool:
        """Return whether several programs may run at once."""
        return self._form.is_batchable

    @property
    def largest_tile(self) -> int:
        """Return the elements of the largest tensor."""
        return self._form.largest_tile

    def run(
        self,
        launch: LegalLaunch,
        buffers: Sequence[WatchedBuffer],
        contents: BufferContents,
        numbers: Sequence[int],
        most_turns: int,
    ) -> BatchRun:
        """Run programs of a launch at once."""
        self._programs.start(launch.grid, most_turns)
        self._memory.begin(buffers, contents, most_turns * 8 + len(self._form.operations))
        arguments = [
            argument_of(parameter.name, parameter.type, launch, buffers)
            for parameter in self._form.parameters
        ]
        is_whole = True
        try:
            self._kernel.run_batch(np.array(numbers, np.int64), arguments)
        except (RoundsSpent, Ended, Stopped):
            is_whole = False
        memory = self._memory
        return BatchRun(memory.trace, memory.reached, memory.outside, is_whole)


def argument_of(
    name: str, kind: str, launch: LegalLaunch, buffers: Sequence[WatchedBuffer]
) -> Pointer | Array:
    """Return an argument of a launch; floats differ by their names."""
    if kind.startswith("*"):
        number = next(at for at, buffer in enumerate(buffers) if buffer.name == name)
        return Pointer(address_of(number), dtype_named(kind.lstrip("*").removeprefix("k")))
    if name in launch.scalars:
        return np.array([launch.scalars[name]]).astype(dtype_named(kind))
    return np.array([0.5 + crc32(name.encode()) % 997 / 100]).astype(dtype_named(kind))


@dataclass(frozen=True)
class KernelForms:
    """A kernel's arguments and accesses, and its two forms."""

    types: dict[str, str]
    """The MLIR type of each argument, by name."""
    function: Operation
    accesses: list[Operation]
    constants: frozenset[int]
    """The integers that the kernel's text has."""
    exact: RunnableForm
    as_it_is: RunnableForm | None
    """None where no integer may wrap that could be seen."""
    with_stand_ins: Callable[[int], RunnableForm]
    """Makes a form in 64 bits with the stand-ins of that number in `STAND_INS`."""


def forms_of(
    kernel: RecheckedKernel, text: str, target: Target, bounds: IrBounds, *, overflow: bool
) -> KernelForms:
    """Return the forms of a kernel, cut down to its accesses. Raises NotRunnable."""
    with refusing():
        module, symbol, function = read_kernel(text, target, bounds)
        types = named_arguments(function, kernel.parameters)
        accesses = accesses_of(function)
        constants = constants_of(function)
        needed = cut_down(function)
        translated = TranslatedKernel(symbol, STAGE, list(types), is_cuda=False)
        files = dict.fromkeys(kernel.files, "")
        narrow = run_form(module, translated, files) if overflow else None
        own = with_exact_integers(function)
        exact = run_form(module, translated, files)

    @cache
    def stand_ins() -> list[Operation]:
        return covered_accesses.with_stand_ins(function, own)

    @cache
    def with_stand_ins(run: int) -> RunnableForm:
        covered_accesses.set_stand_ins(stand_ins(), *covered_accesses.STAND_INS[run])
        form = run_form(module, translated, files)
        return RunnableForm(form, accesses, needed, is_exact=True)

    return KernelForms(
        types,
        function,
        accesses,
        constants,
        RunnableForm(exact, accesses, needed, is_exact=True),
        None if narrow is None else RunnableForm(narrow, accesses, needed, is_exact=False),
        with_stand_ins,
    )


@contextmanager
def refusing() -> Iterator[None]:
    """Have what a kernel cannot be translated for raise NotRunnable."""
    try:
        yield
    except (Untranslatable, Failure) as refusal:
        raise NotRunnable(str(refusal)) from None
    except RecursionError:
        message = "it is nested too deeply"
        raise NotRunnable(message) from None


def read_kernel(text: str, target: Target, bounds: IrBounds) -> tuple[Operation, str, Operation]:
    """Return a module, the name of its kernel, and the kernel's function. Raises NotRunnable."""
    ir_module.check_size(text, STAGE, bounds)
    generic, symbol = generic_form(text, target, STAGE)
    module = module_of(generic)
    return module, symbol, _function_of(module)


def _function_of(module: Operation) -> Operation:
    functions = [
        operation for operation in module.regions[0][0].operations if operation.name == "tt.func"
    ]
    kernels = [function for function in functions if function.regions and function.regions[0]]
    if len(kernels) != 1:
        message = "a module of several functions"
        raise NotRunnable(message)
    return kernels[0]


def named_arguments(function: Operation, names: Sequence[str] | None) -> dict[str, str]:
    """Name a kernel's arguments; return their MLIR types. Raises NotRunnable."""
    arguments = function.regions[0][0].arguments
    if names is not None and len(names) == len(arguments):
        for argument, name in zip(arguments, names, strict=True):
            argument.name = name
    if len({argument.name for argument in arguments}) != len(arguments):
        message = "arguments without names"
        raise NotRunnable(message)
    for type_ in (argument.type for argument in arguments):
        if pointee_of(type_) is None and type_[:1] not in "ifb":
            message = f"an argument of type {type_[:80]}"
            raise NotRunnable(message)
    return {argument.name: argument.type for argument in arguments}


def constants_of(function: Operation) -> frozenset[int]:
    """Return the integers that a kernel's text has, as far as they are one for all elements."""
    constants = set[int]()
    for operation in in_text_order(function):
        if (
            operation.name == "arith.constant"
            and element_of(operation.results[0].type) in _INTEGERS
        ):
            text, is_one = constant_of(operation)
            if is_one:
                constants.add(int(text))
    return frozenset(constants)
