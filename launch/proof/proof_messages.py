"""Messages between a worker and the children that prove kernels. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from compiler.messages.orders import IrBounds, Order
from compiler.target import Target

ProofCheck = Literal["bounds", "overflow", "races"]


@dataclass(frozen=True, kw_only=True)
class OtherKernel:
    """A kernel to compare with; `first_bytes` is the size of the first one's TTIR."""

    first_bytes: int
    contract: str
    constants: Mapping[str, int]
    parameters: Sequence[str] | None = None
    has_same_options: bool = False
    """Both are compiled with the same options, also those that change no value by themselves."""


@dataclass(frozen=True, kw_only=True)
class ProveOrder(Order):
    """An order to prove the kernel of a TTIR, the body, against a contract's text.

    `constants` are integer constexprs, and arguments specialized to 1, by name.
    """

    task: ClassVar[str] = "prove"
    profile: ClassVar[str] = "prove"
    target: Target
    files: Sequence[str]
    contract: str
    constants: Mapping[str, int]
    checks: Sequence[str]
    parameters: Sequence[str] | None = None
    """The user's names of the TTIR's arguments, in order; None: those in the TTIR."""
    source: str = ""
    """The user's text, to propose a change of; "" for none."""
    other: OtherKernel | None = None
    """A second kernel, whose TTIR follows in the body: do both store the same?"""
    most_size: int
    most_elements: int
    ir_bounds: IrBounds = field(default_factory=IrBounds)


@dataclass(frozen=True, kw_only=True)
class WitnessReport:
    """Sizes that break an obligation, and what the CPU device did there."""

    scalars: dict[str, int]
    """The kernel's integer arguments."""
    sizes: dict[str, int]
    """The contract's own sizes."""
    extents: dict[str, int]
    """Elements of each buffer."""
    types: dict[str, str]
    """Element types of the buffers, as Triton names them."""
    grid: list[int]
    program: list[int]
    other_program: list[int] | None
    """The program that it races with."""
    values: dict[str, dict[str, int]]
    """Contents of buffers that indices are loaded from, by element."""
    index: int | None
    """The element that the program accessed."""
    message: str
    """The CPU device's own words, "" where it confirmed nothing."""


@dataclass(frozen=True, kw_only=True)
class Rechecked:
    """The results of the re-checks of a proof, which contradict nothing. The worker adds it."""

    runs: int
    """Launches that reached the access."""
    bits: Literal["agrees", "timeout", "not_modelled"]


@dataclass(frozen=True, kw_only=True)
class AnswerReport:
    """The answer to one obligation of an access."""

    verdict: Literal["proved", "refuted", "possible", "unknown"]
    proved_under: list[str]
    reason: str
    line: int | None
    """The line that wraps, or that the access depends on."""
    expression: str
    witness: WitnessReport | None = None
    proposals: list[str] = field(default_factory=list)
    """The user's text with 64-bit integers, or a mask; nothing is proved of these yet."""
    rechecked: Rechecked | None = None
    """None where the verdict is not `proved`."""


@dataclass(frozen=True, kw_only=True)
class AccessReport:
    """One access, and the answers about it by check."""

    file: str | None
    line: int | None
    column: int | None
    argument: str | None
    kind: Literal["load", "store", "atomic"]
    answers: dict[str, AnswerReport]


@dataclass(frozen=True, kw_only=True)
class ContractMistake:
    """A mistake in a contract, and its place."""

    message: str
    line: int
    column: int


@dataclass(frozen=True, kw_only=True)
class ProofReport:
    """All accesses of a kernel. `refused` is why none was read, "" where they were."""

    accesses: list[AccessReport]
    refused: str
    refused_line: int | None
    questions: int
    effort: int
    solver_ms: float
    equivalent: AnswerReport | None = None
    """Do both kernels of the order store the same?"""
    contract_error: ContractMistake | None = None
