"""Messages between a worker and the children of launches.

Standard library only: the service imports the findings, and it has no NumPy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import prod
from typing import Any, Literal

from compiler.diagnostic import Diagnostic
from compiler.messages.orders import IrBounds, Order
from compiler.target import Target

NumpyName = Literal[
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64",
]  # fmt: skip
"""The dtypes that a reference may return."""
_NUMPY_BYTES = {
    "bool": 1,
    **{f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
}
MARK_OUTPUT = (
    'In JSON that is "output": true, in text `:output` at the end, '
    "in Python `tritonc.array(x, output=True)`."
)
"""The end of a message that asks for an argument to be marked as an output."""
CHECK_TIMEOUT = "check_timeout"
"""The slug of a failure: a check of the kernel took too long, not the kernel itself."""
TUNING_SIDE_EFFECT = "tuning_side_effect"
"""The finding that an autotuned kernel's first call gives another result than later ones."""
BodyRange = Sequence[int]
"""The position of bytes in the body of an order's frame: offset and size."""


@dataclass(frozen=True, kw_only=True)
class TraceOrder:
    """A request to record at most `max_accesses` accesses of `programs`.

    `values` also records the values that they compute, with the same limit.
    """

    programs: list[list[int]] = field(default_factory=list)
    max_accesses: int = 10_000
    values: bool = False


@dataclass(frozen=True, kw_only=True)
class TuningOrder:
    """A request to run a kernel once more on the memory that it left, as its autotuner does.

    `file` and `line` are the kernel's. Before each run, the autotuner zeroes the arguments
    `reset_to_zero`, and after it restores `restore_value`.
    """

    kernel: str
    file: str | None
    line: int | None
    configurations: int
    reset_to_zero: Sequence[str] = ()
    restore_value: Sequence[str] = ()


MAX_BATCH_ELEMENTS = 1 << 16
"""Elements of one tensor in a batch of programs. Batches that fit a CPU cache run fastest."""


@dataclass(frozen=True, kw_only=True)
class RunOrder(Order):
    """An order to translate IR to NumPy and run it, without executing user Python.

    `ir` is the position of the text of `stage`. `parameters` are the paths of the kernel's run-time
    arguments, in its order: `x_ptr`, or `pair.1` for an item of a tuple.
    """

    task = "run"
    profile = "back"
    ir: BodyRange
    stage: str
    target: Target
    files: Sequence[str]
    """Paths of the user's files. Findings refer to lines in them."""
    allocations: Sequence[dict[str, Any]]
    arguments: dict[str, Any]
    parameters: Sequence[str]
    grid: Sequence[int]
    checks: Sequence[str] = ()
    trace: TraceOrder | None = None
    tuning: TuningOrder | None = None
    batch_elements: int = MAX_BATCH_ELEMENTS
    """The limit for the largest tensor of a batch of programs; a single program always runs."""
    fp_fusion: bool = True
    """The option `enable_fp_fusion`: fuse a product and a sum into one operation."""
    ir_bounds: IrBounds = field(default_factory=IrBounds)
    limit_s: float | None = None
    """The seconds after which the child is killed."""


@dataclass(frozen=True)
class Tolerance:
    """The allowed difference between an output and its expected values."""

    rtol: float = 0.0
    atol: float = 0.0
    equal_nan: bool = False
    max_mismatched_ratio: float = 0.0
    """The share of compared elements that may mismatch. An element that was never written, or that
    is not finite where a finite value was expected or the reverse, always fails."""
    atol_scale: Literal["absolute", "rms"] = "absolute"
    """`rms`: `atol` is a multiple of the root mean square of the expected values."""


@dataclass(frozen=True, kw_only=True)
class RoundingOrder:
    """A request to find reference elements too sensitive to rounding to judge a kernel by.

    Such elements change by more than `tolerances` (by output) when inputs change by
    `relative` of their size. With `only_copies`, only elements that copy or negate an input count.
    `wide` widens floating-point inputs to float64; otherwise the reference gets the kernel's own.
    With `replaces_non_finite`, only elements that no NaN or infinity of an input changes count.
    """

    seed: int
    wide: bool
    relative: float
    tolerances: dict[str, Tolerance]
    only_copies: bool = False
    replaces_non_finite: bool = False


@dataclass(frozen=True, kw_only=True)
class ReferenceOrder(Order):
    """An order to call a user's reference function, more than once if `doubt` is set.

    Its inputs are bound arguments in canonical JSON; `source` is the position of its text.
    """

    task = "reference"
    profile = "front"
    source: BodyRange
    allocations: Sequence[dict[str, Any]]
    arguments: dict[str, Any]
    constexprs: Mapping[str, Any] = field(default_factory=dict)
    doubt: RoundingOrder | None = None


@dataclass(frozen=True, kw_only=True)
class OutputOrder:
    """One output to summarize, and to compare if `expected` is set.

    `unwritten` and `expected_unwritten` hold one bit per element, set for elements never written.
    """

    dtype: str
    shape: Sequence[int]
    returned: Literal["none", "summary", "values", "tensor"] = "summary"
    actual: BodyRange
    expected: BodyRange | None = None
    expected_dtype: str | None = None
    """NumPy's name; None: the type of the output."""
    expected_bits: int | None = None
    """Mantissa bits that the expected elements were computed with; None: all of their type's."""
    unwritten: BodyRange | None = None
    expected_unwritten: BodyRange | None = None
    precise: BodyRange | None = None
    """The expected elements in fp64, which show how far both sides are off."""
    tolerance: Tolerance = Tolerance()


class CauseKind(StrEnum):
    """The ways to lose precision, the most severe first."""

    DOT_ACCUMULATOR = "dot_accumulator"
    ACCUMULATOR = "accumulator"
    REDUCTION = "reduction"
    ATOMIC = "atomic"
    ROUNDED = "rounded"
    TF32 = "tf32"
    IMPRECISE_DOT = "imprecise_dot"


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One operation that computes with `bits` mantissa bits, including the hidden bit.

    `dtype` is MLIR's name of the type, or `tf32`. `file` is the path of the user's file, as in the
    request; it and the place in it are None if unknown.
    """

    kind: CauseKind
    dtype: str
    bits: int
    file: str | None = None
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, kw_only=True)
class CausesOrder(Order):
    """Find what may make kernels imprecise: the body is their TTIRs, one after the other."""

    task = "causes"
    profile = "prove"
    sizes_bytes: Sequence[int]


@dataclass(frozen=True, kw_only=True)
class CausesReport:
    """The causes in all of the TTIRs, the most severe first."""

    causes: list[Cause]


@dataclass(frozen=True, kw_only=True)
class CompareOrder(Order):
    """An order to summarize outputs, by name, and compare them; it runs no user code.

    `causes` are why the kernel may be imprecise; `reference_causes` why a reference kernel may be.
    """

    task = "compare"
    profile = "parse"
    outputs: dict[str, OutputOrder]
    causes: list[Cause] = field(default_factory=list)
    reference_causes: list[Cause] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One error of a run, with the user's source line if known."""

    kind: str
    access: Literal["read", "write"] | None = None
    argument: str | None = None
    index: list[int] | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    program: list[int] | None = None
    message: str
    scope: Literal["between_programs", "within_program"] | None = None
    """For a race, whether the two accesses belong to two program instances or to one."""
    diagnostics: list[Diagnostic] | None = None
    """The compiler's diagnostics for a kernel that does not compile."""
    measure: dict[str, float] | None = None
    """The measurements behind the finding, by name, with units in the names."""
    seeds: dict[str, int] | None = None
    """Seeds of the random inputs that showed it, by argument, if they differ from the launch's."""
    case: dict[str, Any] | None = None
    """The case that fuzzing found, in the form of an item of `cases`."""


@dataclass(frozen=True, kw_only=True)
class ModifiedInput:
    """An argument that the kernel changed although it is not an output."""

    argument: str
    elements: int
    first_index: list[int]


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """The result of running a kernel; `deterministic` is null if it ran once."""

    findings: list[Finding]
    modified: list[ModifiedInput]
    deterministic: bool | None
    finished: bool = True
    """True if no finding stopped the run."""
    causes: list[Cause] = field(default_factory=list)
    """The reasons why the kernel may be imprecise, the most severe first."""


@dataclass(frozen=True, kw_only=True)
class ExpectedOutput:
    """The NumPy dtype and shape of a reference's value for one output."""

    dtype: NumpyName
    shape: list[int]
    unchanged: bool = False
    """The output is updated in place, and each element must keep its initial value."""
    scale: float | None = None
    """The root mean square of its finite elements, if rounding sensitivity was measured."""

    @property
    def size_bytes(self) -> int:
        """The size of its elements in bytes."""
        return prod(self.shape) * _NUMPY_BYTES[self.dtype]


@dataclass(frozen=True, kw_only=True)
class ReferenceReport:
    """The expected outputs of a reference, for each output that it returns."""

    outputs: dict[str, ExpectedOutput]


@dataclass(frozen=True, kw_only=True)
class ComparedOutput:
    """Summary and comparison of one output, as in the record of a launch."""

    summary: dict[str, Any] | None
    comparison: dict[str, Any] | None
    values: Any = None
    expected: Any = None
    """The expected elements where `values` are returned and do not match."""
    downgrade: Finding | None = None
    """The finding that the output has less precision than the reference."""
    expects_only_nan: bool = False
    """True if every expected element is NaN, and NaN matches nothing."""


@dataclass(frozen=True, kw_only=True)
class CompareReport:
    """Summaries and comparisons of all outputs, by name."""

    outputs: dict[str, ComparedOutput]
