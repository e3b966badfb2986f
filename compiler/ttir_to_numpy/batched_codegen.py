"""The second form of a kernel in NumPy: CPU launches run it, many programs at once.

It is the artifact's text, made of the same tables, but that every value has a leading axis: of as
many programs as run at once, or of 1 where they all agree. It is not a separate module: what it
calls is given to it by who runs it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from compiler.lines.pipelined_load import PipelinedLoad
from compiler.lines.source_location import SourceLocation
from compiler.lines.step import Step
from compiler.ttir_to_numpy import runtime_text
from compiler.ttir_to_numpy.batched.access_masks import AccessMasks
from compiler.ttir_to_numpy.batched.blocks import in_order
from compiler.ttir_to_numpy.batched.computed_from import waited_atomics
from compiler.ttir_to_numpy.batched.constant_list import Constants
from compiler.ttir_to_numpy.batched.extents import ExtentChecks
from compiler.ttir_to_numpy.batched.form import NAMES, run_form_with
from compiler.ttir_to_numpy.batched.lifetimes import with_deletions
from compiler.ttir_to_numpy.batched.program_axes import ProgramAxes
from compiler.ttir_to_numpy.batched.reachable import Reachable
from compiler.ttir_to_numpy.batched.repeated_accesses import RepeatedAccesses
from compiler.ttir_to_numpy.batched.stepping import Stepping, Watching
from compiler.ttir_to_numpy.batched.undefined_values import UndefinedSource, undefined_sources
from compiler.ttir_to_numpy.batched.uniform import Uniformity
from compiler.ttir_to_numpy.contraction import contract
from compiler.ttir_to_numpy.function_text import FunctionCodegen, kind_of
from compiler.ttir_to_numpy.functions import Functions
from compiler.ttir_to_numpy.ir import Operation, UserLocations
from compiler.ttir_to_numpy.module_text import TranslatedKernel, entry_of, written_functions
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.scope import INDENT, Line

RUN_FILE = "<run form>"
"""The file name that the text is compiled with, by which its frames are known."""


@dataclass(frozen=True, slots=True)
class BatchedParameter:
    """One parameter of the kernel's IR, its type in Triton's spelling: `*fp32`, `i32`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RunForm:
    """A kernel's text, and the facts that its runtime needs.

    `locations` has one for each line of the text, `None` where a line came from nowhere.
    `operations` has the number of each line's operation in the IR, -1 where it has none.
    `is_batchable` is whether several programs may run at once. `largest_tile` is in elements.
    Where it `has_uneven_loops`, some programs may go more rounds than others. One that `prints`
    must not be run again from its start: what was told cannot be taken back. If it `has_atomics`,
    its values may depend on the order of programs; if it `waits`, its accesses may, too. If it
    `repeats`, a program may access an element again after it wrote it. `pipelined` loads may be
    issued before stores of their loop; keys are numbers of operations.
    `undefined` are the operations whose lanes may lack a value, as `undefined(number)` names them.
    `steps` are what `step(number, value)` shows, by its number. `masks` are those of accesses,
    `axes` those of the grid that writes depend on.
    """

    text: str
    entry: str
    locations: Sequence[SourceLocation | None]
    operations: Sequence[int]
    parameters: Sequence[BatchedParameter]
    is_batchable: bool
    largest_tile: int
    has_uneven_loops: bool
    prints: bool
    has_atomics: bool = False
    waits: bool = False
    repeats: bool = False
    pipelined: Mapping[int, PipelinedLoad] = field(default_factory=dict)
    steps: Sequence[Step] = ()
    undefined: Sequence[UndefinedSource] = ()
    masks: AccessMasks | None = None
    axes: ProgramAxes | None = None


def run_form(
    module: Operation,
    kernel: TranslatedKernel,
    files: Mapping[str, str],
    *,
    stepping: bool = False,
    checks_extents: bool = False,
    watched: Collection[int] = (),
) -> RunForm:
    """Return the run form of `kernel`; `files` are the user's, by path. Raises `Untranslatable`.

    With `stepping` each operation of the user's lines has a line, and shows what it made. One that
    `checks_extents` raises `AssertionError` where a value is narrower or wider than it should be.
    `watched` operations, by number, show their result and operands.
    """
    if kernel.is_cuda:
        contract(module, fp_fusion=kernel.fp_fusion)
    functions = Functions(module, _reserved(), kernel.symbol, _reserved())
    entry = entry_of(functions, kernel)
    locations, constants = UserLocations(files), Constants()
    reachable = Reachable(functions, entry)
    _refuse_loops(reachable, locations)
    uniformity = Uniformity(reachable)
    waited = waited_atomics(reachable)
    repeated = RepeatedAccesses(reachable, entry)
    pipelined = repeated.pipelined()
    undefined = undefined_sources(reachable, locations)
    marked_loops = {load.loop for load in pipelined.values()}
    form = run_form_with(constants, waited, undefined, marked_loops)
    follower = Stepping(locations.users_own, reachable.inside_regions()) if stepping else None
    extents = ExtentChecks(reachable.inside_regions()) if checks_extents else None
    watching = Watching(watched, reachable.inside_regions()) if watched else None
    codegen = FunctionCodegen(
        form,
        constants.spelling,
        locations.words_of,
        uniformity.values,
        follower or extents or watching,
    )
    written = written_functions(functions, entry, codegen)
    lines = [line for function in written for line in with_deletions(function)]
    head = constants.lines
    text = "\n".join([*head, *(INDENT * line.depth + line.text for line in lines)]) + "\n"
    return RunForm(
        text,
        functions.name_of(f"@{kernel.symbol}"),
        [*[None] * len(head), *_locations(lines, locations)],
        [*[-1] * len(head), *(-1 if (o := line.operation) is None else o.number for line in lines)],
        _parameters(entry),
        reachable.is_batchable() and not stepping,
        reachable.largest_tile(),
        uniformity.has_uneven_loops,
        reachable.prints(),
        reachable.has_atomics(),
        bool(waited),
        repeated.may_repeat(),
        pipelined,
        follower.steps if follower is not None else (),
        undefined.sources,
        AccessMasks(reachable),
        ProgramAxes(reachable),
    )


def _refuse_loops(reachable: Reachable, locations: UserLocations) -> None:
    """Raise `Untranslatable` for a function of a region in which a branch goes back."""
    for function in reachable.inside_regions():
        if in_order(function.regions[0]) is None:
            message = "a function of a reduction, scan or map, with branches that go back"
            raise Untranslatable(message, locations.words_of(function))


@cache
def _reserved() -> frozenset[str]:
    """Return the names that no function of a run form has; once, as each touches its page."""
    return NAMES | runtime_text.names() | runtime_text.never()


def _locations(lines: Sequence[Line], locations: UserLocations) -> list[SourceLocation | None]:
    return [
        locations.location_of(o) if (o := line.operation) is not None else None for line in lines
    ]


def _parameters(entry: Operation) -> list[BatchedParameter]:
    arguments = entry.regions[0][0].arguments
    return [BatchedParameter(value.name, kind_of(value.type)) for value in arguments]
