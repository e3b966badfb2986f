"""Messages between a worker and the children that re-check proofs. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from compiler.messages.orders import IrBounds, Order
from compiler.target import Target

RecheckOutcome = Literal["agrees", "violated", "timeout", "not_modelled"]
"""`agrees`: no violation was seen. `timeout`: the time was over before an answer. `not_modelled`:
the re-check cannot read the kernel, or this part of it."""


@dataclass(frozen=True, kw_only=True)
class RecheckedKernel:
    """A kernel whose proof is re-checked. `ttir_bytes` is the size of its TTIR in the body."""

    ttir_bytes: int
    contract: str
    constants: Mapping[str, int]
    """Integer constexprs, and arguments specialized to 1, by name."""
    parameters: Sequence[str] | None = None
    """The user's names of the TTIR's arguments, in order; None: those in the TTIR."""
    files: Sequence[str] = ()
    fp_fusion: bool = True


@dataclass(frozen=True, kw_only=True)
class RecheckOrder(Order):
    """An order to run a kernel, whose TTIR is the body, at sizes that keep its contract."""

    task: ClassVar[str] = "recheck"
    profile: ClassVar[str] = "prove"
    target: Target
    kernel: RecheckedKernel
    other: RecheckedKernel | None = None
    """A second kernel, whose TTIR follows in the body: do both store the same?"""
    checks: Sequence[str]
    """`bounds`, `overflow` and `races`, as the proof was asked for."""
    most_size: int
    """The largest scalar or size, from the proof's limits."""
    most_elements: int
    """The most elements of a buffer."""
    ir_bounds: IrBounds = field(default_factory=IrBounds)


@dataclass(frozen=True, kw_only=True)
class BitsOrder(RecheckOrder):
    """The same order for the re-check by bit-vectors."""

    task: ClassVar[str] = "recheck_bits"


@dataclass(frozen=True, kw_only=True)
class FixOrder(RecheckOrder):
    """An order to run a kernel and `other`, a changed one that should keep its meaning."""

    task: ClassVar[str] = "recheck_fix"
    access: int
    """The access that was changed, by its place in the TTIR."""
    is_masked: bool
    """True for a mask, False for wider integers."""


@dataclass(frozen=True, kw_only=True)
class CheckRecheck:
    """The result of a re-check for one check of an access, or of two kernels."""

    outcome: RecheckOutcome
    runs: int = 0
    """Launches that reached the access; 0 for bit-vectors."""
    message: str = ""
    """Of a violation: what happened, such as `reads x_ptr[8] of 8 elements`."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Of a violation: scalars, the contract's sizes and the grid (`grid.x`) of that launch."""


@dataclass(frozen=True, kw_only=True)
class AccessRecheck:
    """One access. `checks` has `bounds`, `overflow` and `race`, where they were asked for."""

    kind: Literal["load", "store", "atomic"]
    line: int | None
    column: int | None
    checks: dict[str, CheckRecheck]


@dataclass(frozen=True, kw_only=True)
class RecheckReport:
    """All accesses of the TTIR, in the order of its text, as in the prover's report.

    The accesses are the operations `tt.load`, `tt.store`, `tt.atomic_*` and `tt.descriptor_*` that
    read or write memory. `refused` is why the kernel was not read, "" where it was.
    """

    accesses: list[AccessRecheck] = field(default_factory=list)
    equivalent: CheckRecheck | None = None
    refused: str = ""
    runs: int = 0
    """Launches that were made."""
    ms: float = 0.0
    """CPU time."""
