"""Reports of children on their tasks. Standard library only.

The worker reads it again with bounds (`worker/compile/reports.py`): a child that ran user code may
report anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.diagnostic import Assumption, Diagnostic

MAX_WRITTEN = 32
"""Kernels that are written for the helpers of one source."""


@dataclass(frozen=True, kw_only=True)
class BlockLocations:
    """The locations of all block arguments of a module, in walking order.

    `table` has each text once; `blocks` has the indices of each block's arguments.
    """

    table: list[str]
    blocks: list[list[int]]


@dataclass(frozen=True, kw_only=True)
class ReadReport:
    """The kernel of a source, and facts about all its jit functions (`facts`, by `kernels`).

    `kernel` is None where only running the source can choose it, and in an inspection.
    """

    facts: dict[str, Any]
    kernel: str | None = None
    ms: float = 0.0


@dataclass(frozen=True, kw_only=True)
class AskedParameter:
    """Triton's view of one parameter of a function.

    `annotation` is that which Triton derived: a type, something with `constexpr`, or null.
    """

    name: str
    annotation: str | None
    constexpr: bool
    const: bool
    default: dict[str, Any] | None
    do_not_specialize: bool
    do_not_specialize_on_alignment: bool


@dataclass(frozen=True, kw_only=True)
class ParametersReport:
    """A kernel's name, its line, and its parameters."""

    kernel: str
    line: int
    parameters: Sequence[AskedParameter]


@dataclass(frozen=True, kw_only=True)
class FrontReport:
    """The front end's result for a kernel, except for its stages.

    `language` is what the back end begins with, `constexprs` are the defaults that were used, and
    `needs` modules that would change assumptions.
    """

    kernel: str
    language: str
    locations: BlockLocations
    constexprs: dict[str, Any]
    timings_ms: dict[str, float]
    notes: list[Diagnostic]
    assumptions: list[Assumption]
    needs: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Lowered:
    """Facts about a kernel at one stage: Triton's metadata, and its resources."""

    metadata: dict[str, Any]
    resources: dict[str, int] | None


@dataclass(frozen=True, kw_only=True)
class BackReport:
    """Facts about a kernel found during the lowering, by the stage to end with."""

    facts: dict[str, Lowered]
    timings_ms: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class PostedReport(BackReport):
    """The same of posted IR, which contains its kernel and parameters (name, type, hints)."""

    kernel: str
    parameters: list[dict[str, Any]]
    notes: list[Diagnostic]


@dataclass(frozen=True, kw_only=True)
class CacheKeyReport:
    """The name of a kernel, and the hashes of its source that Triton's JIT may have."""

    name: str
    source_hashes: list[str]


@dataclass(frozen=True, kw_only=True)
class LogReport:
    """A compiler's complaints in its log."""

    diagnostics: list[Diagnostic]


@dataclass(frozen=True, kw_only=True)
class LanguageName:
    """A name of `triton.language`; the signature of a function, and what its text begins with."""

    name: str
    signature: str | None
    summary: str


@dataclass(frozen=True, kw_only=True)
class ToolchainReport:
    """The description of a toolchain; `options` are the safe ones, by backend and name.

    `language` only lists what its users may write: nothing depends on it, and no id has it in it.
    """

    triton: str
    record_digest: str
    ptxas: str
    ptxas_versions: dict[str, str]
    python: str
    host_arch: str
    options: dict[str, Any]
    language: list[LanguageName]
