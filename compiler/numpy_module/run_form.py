"""The second form of a kernel in NumPy: what a CPU launch runs, many programs at once.

It is the artifact's text, made of the same tables, but that every value has a leading axis: of as
many programs as run at once, or of 1 where they all agree. It is no module of its own: what it
calls is given to it by who runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from compiler.lines.place import Spot
from compiler.lines.step import Step
from compiler.numpy_module import support_text
from compiler.numpy_module.batched.blocks import in_order
from compiler.numpy_module.batched.constants import Constants
from compiler.numpy_module.batched.extents import ExtentChecks
from compiler.numpy_module.batched.form import NAMES, run_form_with
from compiler.numpy_module.batched.lifetimes import with_deletions
from compiler.numpy_module.batched.reachable import Reachable
from compiler.numpy_module.batched.stepping import Stepping
from compiler.numpy_module.batched.uniform import Uniformity
from compiler.numpy_module.contraction import contract
from compiler.numpy_module.function_text import Telling, kind_of
from compiler.numpy_module.functions import Functions
from compiler.numpy_module.ir import Operation
from compiler.numpy_module.module_text import ToldKernel, entry_of, written_functions
from compiler.numpy_module.refusal import Untranslatable
from compiler.numpy_module.scope import INDENT, Line
from compiler.numpy_module.user_places import UserPlaces

RUN_FILE = "<run form>"
"""The file name that the text is compiled with, by which its frames are known."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One parameter of the kernel's IR, its type in Triton's spelling: `*fp32`, `i32`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RunForm:
    """A kernel's text, and what who runs it has to know of it.

    `places` has one for each line of the text, `None` where a line came from nowhere.
    `is_batchable` says whether several programs may run at once. `largest_tile` is in elements.
    Where it `has_uneven_loops`, some programs may go more rounds than others. One that `prints`
    must not be run again from its start: what was told cannot be taken back.
    `steps` are what `step(number, value)` shows, by its number.
    """

    text: str
    entry: str
    places: Sequence[Spot | None]
    parameters: Sequence[KernelParameter]
    is_batchable: bool
    largest_tile: int
    has_uneven_loops: bool
    prints: bool
    steps: Sequence[Step] = ()


def run_form(
    module: Operation,
    kernel: ToldKernel,
    files: Mapping[str, str],
    *,
    stepping: bool = False,
    checks_extents: bool = False,
) -> RunForm:
    """Return the run form of `kernel`; `files` are the user's, by path. Raises `Untranslatable`.

    With `stepping` each operation of the user's lines has a line, and shows what it made. One that
    `checks_extents` raises `AssertionError` where a value is narrower or wider than it should be.
    """
    if kernel.is_cuda:
        contract(module, fp_fusion=kernel.fp_fusion)
    functions = Functions(module, _reserved(), kernel.symbol, _reserved())
    entry = entry_of(functions, kernel)
    places, constants = UserPlaces(files), Constants()
    reachable = Reachable(functions, entry)
    for function in reachable.inside_regions():
        if in_order(function.regions[0]) is None:
            message = "a function of a reduction, scan or map, with branches that go back"
            raise Untranslatable(message, places.words_of(function))

    uniformity = Uniformity(reachable)
    form = run_form_with(constants)
    follower = Stepping(places.users_own, reachable.inside_regions()) if stepping else None
    extents = ExtentChecks(reachable.inside_regions()) if checks_extents else None
    telling = Telling(
        form, constants.spelling, places.words_of, uniformity.values, follower or extents
    )
    written = written_functions(functions, entry, telling)
    lines = [line for function in written for line in with_deletions(function)]
    head = constants.lines
    text = "\n".join([*head, *(INDENT * line.depth + line.text for line in lines)]) + "\n"
    return RunForm(
        text,
        functions.name_of(f"@{kernel.symbol}"),
        [*[None] * len(head), *_spots(lines, places)],
        _parameters(entry),
        reachable.is_batchable() and not stepping,
        reachable.largest_tile(),
        uniformity.has_uneven_loops,
        reachable.prints(),
        follower.steps if follower is not None else (),
    )


@cache
def _reserved() -> frozenset[str]:
    """Return the names that no function of a run form has; once, as each touches its page."""
    return NAMES | support_text.names() | support_text.never()


def _spots(lines: Sequence[Line], places: UserPlaces) -> list[Spot | None]:
    return [places.place_of(o) if (o := line.operation) is not None else None for line in lines]


def _parameters(entry: Operation) -> list[KernelParameter]:
    arguments = entry.regions[0][0].arguments
    return [KernelParameter(value.name, kind_of(value.type)) for value in arguments]
