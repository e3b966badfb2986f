"""The orders that children of a toolchain take: one for each task, and the profile it runs under.

What an order lacks its task cannot know. Standard library only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from compiler.messages.reports import BlockLocations
from compiler.stages import made_by
from compiler.target import Target


@dataclass(frozen=True, kw_only=True)
class Order:
    """The task of one child; its input bytes are the body of the frame."""

    task: ClassVar[str]
    profile: ClassVar[str]
    """The sandbox profile that the task runs in."""
    stages: ClassVar[frozenset[str]] = frozenset()
    """The names under which the task may send bytes, each once."""


@dataclass(frozen=True, kw_only=True)
class IrBounds:
    """The largest IR that a child makes of a kernel, or takes."""

    size_bytes: int = 16 << 20
    operations: int = 200_000
    tensor_elements: int = 1 << 20
    """Limit of one tensor; the default is Triton's own TRITON_MAX_TENSOR_NUMEL."""


@dataclass(frozen=True, kw_only=True)
class ReadOrder(Order):
    """Parse a source: choose its kernel, and state facts of its jit functions.

    `functions` are those that constexprs pass to the kernel. With `inspect` no kernel is chosen,
    and types of parameters are proposed. `module` is the source's own dotted name, if it has one.
    """

    task = "read"
    profile = "parse"
    kernel: str | None = None
    module: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    inspect: bool = False


@dataclass(frozen=True, kw_only=True)
class Execution:
    """A source as a front child executes it, whole, under the name `module` in its own package.

    Without a `module` it is the script `user`, and whatever it imports and lacks is taken to be
    absent. With one, only the modules `absent` are; what else is missing is needed.
    """

    kernel: str | None
    module: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)
    target: Target


@dataclass(frozen=True, kw_only=True)
class FrontOrder(Execution, Order):
    """Execute a source, and build the stages `source` and `ttir` of its kernel.

    `hidden` names options that are not among `options`: their values stay with the worker.
    """

    task = "front"
    profile = "front"
    stages = made_by("front")
    signature: Mapping[str, Any]
    constexprs: Mapping[str, Any]
    hints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    options: Mapping[str, Any]
    hidden: list[str] = field(default_factory=list)
    stop_after: str | None = None
    ir_bounds: IrBounds = IrBounds()


@dataclass(frozen=True, kw_only=True)
class ParametersOrder(Execution, Order):
    """Execute a source, and ask the kernel's own function for its parameters."""

    task = "parameters"
    profile = "front"


@dataclass(frozen=True, kw_only=True)
class CacheKeyOrder(Order):
    """Execute a source, and hash the kernel that `front` names as Triton's own JIT does."""

    task = "cache_key"
    profile = "front"
    front: FrontOrder


@dataclass(frozen=True, kw_only=True)
class BackOrder(Order):
    """Lower the IR of `language` to the stage `stop_after`, or to the last.

    `locations` are those that its front end gave. `canonicalize` runs TTIR's own passes first.
    `files` are texts by path, for excerpts in messages.
    """

    task = "back"
    profile = "back"
    stages = made_by("back")
    language: str = "ttir"
    locations: BlockLocations | None = None
    canonicalize: bool = False
    options: Mapping[str, Any]
    target: Target
    stop_after: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    ir_bounds: IrBounds = IrBounds()


@dataclass(frozen=True, kw_only=True)
class PostedOrder(BackOrder):
    """Lower posted IR; its own text is returned as `stage`."""

    task = "posted"
    stages = BackOrder.stages | FrontOrder.stages
    stage: str


@dataclass(frozen=True, kw_only=True)
class PassesOrder(BackOrder):
    """Lower IR again, and report the result of each pass."""

    task = "passes"
    stages = frozenset({"passes"})


@dataclass(frozen=True, kw_only=True)
class LayoutsOrder(Order):
    """Tell where the elements of each tensor of a TTGIR module are."""

    task = "layouts"
    profile = "back"
    stages = frozenset({"layouts"})
    target: Target
    ir_bounds: IrBounds = IrBounds()


@dataclass(frozen=True, kw_only=True)
class NumpyOrder(Order):
    """Translate the IR of `stage` to NumPy.

    `files` are the user's texts by path, for comments; `parameters` the names of those that the
    kernel is launched with.
    """

    task = "numpy"
    profile = "back"
    stages = frozenset({"numpy"})
    stage: str
    target: Target
    files: dict[str, str]
    parameters: Sequence[str]
    fp_fusion: bool = True
    """The option `enable_fp_fusion`."""
    ir_bounds: IrBounds = IrBounds()


@dataclass(frozen=True, kw_only=True)
class LogOrder(Order):
    """Find the diagnostics in a compiler's standard error at `stage`.

    `files` are texts by path; `ir`, where there is some, is the TTGIR that was being lowered.
    """

    task = "log"
    profile = "parse"
    stage: str
    files: dict[str, str]
    ir: str = ""


@dataclass(frozen=True, kw_only=True)
class DerivedTextOrder(Order):
    """Make the text of a derived `stage` from those of others.

    `sizes` are those of the parts of the body, in their order, by stage.
    """

    task = "derived_text"
    profile = "back"
    stages = frozenset({"derived_text"})
    stage: str
    sizes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class LinesOrder(Order):
    """Map the lines of artifacts to those of the source; `sizes` are as in a `DerivedTextOrder`."""

    task = "lines"
    profile = "back"
    stages = frozenset({"lines", "sass"})
    sizes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class InstructionsOrder(Order):
    """Count the instructions of a kernel; `sizes` are as in a `DerivedTextOrder`.

    The part is `amdgcn`, or `sass`, or where that is yet to be made cubin, and ptx if there is one.
    """

    task = "instructions"
    profile = "back"
    stages = frozenset({"instructions", "sass"})
    sizes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class ExplanationOrder(Order):
    """Find what makes a kernel costly; `sizes` are as in a `DerivedTextOrder`.

    The parts are ttgir, and ptx or amdgcn.
    """

    task = "explanation"
    profile = "back"
    stages = frozenset({"explanation"})
    sizes: Mapping[str, int]
    target: str
    num_warps: int | None


@dataclass(frozen=True, kw_only=True)
class DiffSide:
    """One of two compilations to compare: its record as JSON, and the sizes of its parts by stage.

    One part is called `files`: the user's texts by path, as JSON.
    """

    record: Mapping[str, Any]
    sizes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class DiffOrder(Order):
    """Say what differs between two compilations, in the texts of the stages `compared`.

    The parts of `a` come before those of `b`. What assembly they have is counted in any case.
    """

    task = "diff"
    profile = "back"
    stages = frozenset({"diff"})
    a: DiffSide
    b: DiffSide
    compared: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class HotLinesOrder(Order):
    """Map a profiler's counts to lines of the source; `sizes`: as above.

    The parts are cubin, ptx where there is one, and `counters`. `entry` is the kernel's name.
    """

    task = "hot_lines"
    profile = "back"
    stages = frozenset({"hot_lines"})
    sizes: Mapping[str, int]
    entry: str


@dataclass(frozen=True, kw_only=True)
class ExportOrder(Order):
    """Write a kernel down as a file of another language: `record` is that of its compilation."""

    task = "export"
    profile = "back"
    stages = frozenset({"export"})
    format: str
    record: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TritonCacheOrder(Order):
    """Pack a compilation as Triton's own cache keeps it, under each of the `source_hashes`."""

    task = "triton_cache"
    profile = "back"
    stages = frozenset({"triton_cache"})
    name: str
    source_hashes: Sequence[str]
    record: Mapping[str, Any]
    options: Mapping[str, Any]
    target: Target
    sizes: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class DescribeOrder(Order):
    """Say what this toolchain is."""

    task = "describe"
    profile = "front"
