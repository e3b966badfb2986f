"""What a worker and the children of launches say to each other: one definition for both sides.

Standard library only: children have no more, and a service that answers findings lacks NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Literal

from compiler.diagnostic import Diagnostic
from compiler.messages.orders import IrBounds, Order
from compiler.target import Target

NumpyName = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
"""The types that a reference's answer may have."""
_NUMPY_BYTES = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
}
CHECK_TIMEOUT = "check_timeout"
"""The slug of a failure: not the kernel took too long, but a check of it."""
Place = Sequence[int]
"""Where bytes lie in the body of an order's frame: offset and size."""


@dataclass(frozen=True, kw_only=True)
class TraceOrder:
    """Which programs' accesses to record, and how many at most.

    `values` asks for what they make, too: as many values at most.
    """

    programs: list[list[int]] = field(default_factory=list)
    max_accesses: int = 10_000
    values: bool = False


MOST_BATCH_ELEMENTS = 1 << 16
"""Of one tensor of a batch of programs: what stays in a processor's cache is fastest."""


@dataclass(frozen=True, kw_only=True)
class RunOrder(Order):
    """Translate IR to NumPy, and run it; no user Python.

    `ir` is where the text of `stage` lies. `parameters` are the paths of those arguments that the
    kernel takes at run time, in its order: `x_ptr`, or `pair.1` for an item of a tuple.
    """

    task = "run"
    profile = "back"
    ir: Place
    stage: str
    target: Target
    files: Sequence[str]
    """The user's, by path: findings name places in them."""
    allocations: Sequence[dict[str, Any]]
    arguments: dict[str, Any]
    parameters: Sequence[str]
    grid: Sequence[int]
    checks: Sequence[str] = ()
    trace: TraceOrder | None = None
    batch_elements: int = MOST_BATCH_ELEMENTS
    """How large the largest tensor of a batch of programs may be; one program always runs."""
    fp_fusion: bool = True
    """The option `enable_fp_fusion`: products are fused with sums."""
    ir_bounds: IrBounds = field(default_factory=IrBounds)
    limit_s: float | None = None
    """When the child that runs it is ended."""


@dataclass(frozen=True)
class Tolerance:
    """How far an output may be from what was expected."""

    rtol: float = 0.0
    atol: float = 0.0
    equal_nan: bool = False
    max_mismatched_ratio: float = 0.0
    """Of the elements compared; one that is not finite, should not have been, or that nobody wrote
    is never within it."""
    atol_scale: Literal["absolute", "rms"] = "absolute"
    """`rms`: `atol` is a multiple of the root mean square of what was expected."""


@dataclass(frozen=True, kw_only=True)
class DoubtOrder:
    """Widen floating-point inputs to float64, and find elements that say nothing of a kernel.

    Such elements change by more than `tolerances` (by output) allow when inputs change by
    `relative` of themselves. With `only_copies` nothing says something but what comes out as it
    went in, or its negative. Not `wide`: inputs are what the kernel gets.
    """

    seed: int
    wide: bool
    relative: float
    tolerances: dict[str, Tolerance]
    only_copies: bool = False


@dataclass(frozen=True, kw_only=True)
class ReferenceOrder(Order):
    """Call a user's reference function, more than once where it is to be doubted.

    Its inputs are bound arguments in canonical JSON; `source` is where its text lies.
    """

    task = "reference"
    profile = "front"
    source: Place
    allocations: Sequence[dict[str, Any]]
    arguments: dict[str, Any]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    doubt: DoubtOrder | None = None


@dataclass(frozen=True, kw_only=True)
class OutputOrder:
    """One output to look at, and to compare where something is `expected`.

    `unwritten` and `expected_unwritten` are bits, one for each element that nobody wrote.
    """

    dtype: str
    shape: Sequence[int]
    returned: Literal["none", "summary", "values", "tensor"] = "summary"
    actual: Place
    expected: Place | None = None
    expected_dtype: str | None = None
    """NumPy's name; None: stored as the output is."""
    expected_bits: int | None = None
    """Of mantissa that the expected elements were made with; None: as many as their type has."""
    unwritten: Place | None = None
    expected_unwritten: Place | None = None
    tolerance: Tolerance = Tolerance()


@dataclass(frozen=True, kw_only=True)
class CompareOrder(Order):
    """Look at outputs, by name, and compare them with what was expected; runs no user code.

    `ir` is where the text lies of what ran, in TTIR, if its precision is in question, and
    `reference_ir` that of a kernel that is the reference.
    """

    task = "compare"
    profile = "parse"
    outputs: dict[str, OutputOrder]
    ir: Place | None = None
    reference_ir: Place | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that a run did wrong, at the user's own line where that is known."""

    kind: str
    access: Literal["read", "write"] | None = None
    argument: str | None = None
    index: list[int] | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    program: list[int] | None = None
    message: str
    diagnostics: list[Diagnostic] | None = None
    """What a compiler said of a kernel that does not compile."""
    measure: dict[str, float] | None = None
    """The numbers that it rests on, by name, with their unit where they have one."""
    seeds: dict[str, int] | None = None
    """Of the random inputs that it was found with, by argument, where they are not the launch's."""
    case: dict[str, Any] | None = None
    """The case that fuzzing found, as an item of `cases` would say it."""


@dataclass(frozen=True, kw_only=True)
class ModifiedInput:
    """An argument that is no output, and was changed."""

    argument: str
    elements: int
    first_index: list[int]


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """How a kernel ran; `deterministic` is null where it ran once."""

    findings: list[Finding]
    modified: list[ModifiedInput]
    deterministic: bool | None
    finished: bool = True
    """Whether no finding stopped it."""


@dataclass(frozen=True, kw_only=True)
class ExpectedOutput:
    """What a reference returned for one output: NumPy's dtype name, and the shape."""

    dtype: NumpyName
    shape: list[int]
    unchanged: bool = False
    """It is an output in place, and each element is to be what it was before."""
    scale: float | None = None
    """The root mean square of its finite elements, where the reference was doubted."""

    @property
    def size_bytes(self) -> int:
        """What its elements take."""
        return prod(self.shape) * _NUMPY_BYTES[self.dtype]


@dataclass(frozen=True, kw_only=True)
class ReferenceReport:
    """What a reference expects of each output that it does not leave out."""

    outputs: dict[str, ExpectedOutput]


@dataclass(frozen=True, kw_only=True)
class ComparedOutput:
    """One output in numbers, and against what was expected, as the record of a launch has them."""

    summary: dict[str, Any] | None
    comparison: dict[str, Any] | None
    values: Any = None
    downgrade: Finding | None = None
    """That it was made with less precision than what was expected."""


@dataclass(frozen=True, kw_only=True)
class CompareReport:
    """What is to be known of each output."""

    outputs: dict[str, ComparedOutput]
