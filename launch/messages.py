"""Messages between a worker and the children of launches: one definition for both sides.

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
"""The position of bytes in the body of an order's frame: offset and size."""


@dataclass(frozen=True, kw_only=True)
class TraceOrder:
    """The programs whose accesses to record, and the maximum number of accesses.

    `values` asks for what they make, too: as many values at most.
    """

    programs: list[list[int]] = field(default_factory=list)
    max_accesses: int = 10_000
    values: bool = False


MOST_BATCH_ELEMENTS = 1 << 16
"""Limit of one tensor in a batch of programs: data in a processor's cache is fastest."""


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
    """The maximum size of the largest tensor in a batch of programs; one program always runs."""
    fp_fusion: bool = True
    """The option `enable_fp_fusion`: products are fused with sums."""
    ir_bounds: IrBounds = field(default_factory=IrBounds)
    limit_s: float | None = None
    """When the child that runs it is ended."""


@dataclass(frozen=True)
class Tolerance:
    """The allowed difference between an output and its expected values."""

    rtol: float = 0.0
    atol: float = 0.0
    equal_nan: bool = False
    max_mismatched_ratio: float = 0.0
    """Of the elements compared; one that is not finite, should not have been, or that nobody wrote
    is never within it."""
    atol_scale: Literal["absolute", "rms"] = "absolute"
    """`rms`: `atol` is a multiple of the root mean square of the expected values."""


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
    """Mantissa bits of the computation of the expected values; None: those of their type."""
    unwritten: Place | None = None
    expected_unwritten: Place | None = None
    tolerance: Tolerance = Tolerance()


@dataclass(frozen=True, kw_only=True)
class CompareOrder(Order):
    """Summarise outputs by name, and compare them with expected values; runs no user code.

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
    """The compiler's messages for a kernel that does not compile."""
    measure: dict[str, float] | None = None
    """The numbers that it rests on, by name, with their unit where they have one."""
    seeds: dict[str, int] | None = None
    """The seeds of random inputs with the finding, by argument, if not the launch's own."""
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
    """The outcome of a kernel's run; `deterministic` is null if it ran once."""

    findings: list[Finding]
    modified: list[ModifiedInput]
    deterministic: bool | None
    finished: bool = True
    """True if no finding stopped it."""


@dataclass(frozen=True, kw_only=True)
class ExpectedOutput:
    """A reference's result for one output: NumPy's dtype name, and the shape."""

    dtype: NumpyName
    shape: list[int]
    unchanged: bool = False
    """It is modified in place, and each element must keep its initial value."""
    scale: float | None = None
    """The root mean square of its finite elements, where the reference was doubted."""

    @property
    def size_bytes(self) -> int:
        """The size of its elements."""
        return prod(self.shape) * _NUMPY_BYTES[self.dtype]


@dataclass(frozen=True, kw_only=True)
class ReferenceReport:
    """A reference's expected values for each output that it returns."""

    outputs: dict[str, ExpectedOutput]


@dataclass(frozen=True, kw_only=True)
class ComparedOutput:
    """One output in numbers, and its comparison, as in the record of a launch."""

    summary: dict[str, Any] | None
    comparison: dict[str, Any] | None
    values: Any = None
    downgrade: Finding | None = None
    """The finding that it was computed with less precision than the expected values."""


@dataclass(frozen=True, kw_only=True)
class CompareReport:
    """The results for each output."""

    outputs: dict[str, ComparedOutput]
