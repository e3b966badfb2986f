"""A generated kernel: its file, its arguments, and what they hold when it has run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.differential.kernels.blocks import indented
from tests.differential.kernels.exact_numbers import Kind, Number, Rounded, Undefined
from tests.differential.kernels.folding import combine_text
from tests.differential.kernels.helpers import HELPERS, helper_text
from tests.differential.kernels.operations import OPERATIONS
from tests.differential.kernels.statements import INDENT, Expected, Returned, State, Statement
from tests.differential.kernels.tiles import (
    INT32,
    Node,
    filled,
)

_RARE_LOADS = {
    "load_either": "loads, pointers chosen by where",
    "load_by_address": "loads, pointers that were integers",
    "atomic_load": "atomics",
}


@dataclass(frozen=True)
class Buffer:
    """An argument that points to memory."""

    name: str
    kind: Kind
    values: Sequence[Number] = field(repr=False)
    output: bool = False


@dataclass(frozen=True)
class Kernel:
    """A kernel, its grid, and the arguments that it is launched with."""

    seed: int
    grid: tuple[int, int, int]
    buffers: Sequence[Buffer]
    scalars: Mapping[str, tuple[Kind, Number]]
    body: Sequence[Statement]

    def source(self) -> str:
        """Return the file."""
        combines = sorted(
            {node.details["combine"] for node in self.nodes() if "combine" in node.details}
        )
        helpers = sorted({node.operation for node in self.nodes() if node.operation in HELPERS})
        names = ", ".join([*(buffer.name for buffer in self.buffers), *self.scalars])
        return "\n".join(
            [
                "import triton\nimport triton.language as tl\n\n",
                *(combine_text(name) + "\n" for name in combines),
                *(helper_text(name) + "\n" for name in helpers),
                f"@triton.jit\ndef k({names}):",
                f"{INDENT}x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)",
                f"{INDENT}pid = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)",
                *indented(self.body),
                "",
            ]
        )

    def nodes(self) -> Iterator[Node]:
        for statement in self.body:
            yield from statement.nodes()

    def groups(self) -> set[str]:
        """Return the rows of the table that the kernel is counted in."""
        found = {OPERATIONS[n.operation].group for n in self.nodes() if n.operation in OPERATIONS}
        found |= {inner.group for statement in self.body for inner in statement.inside()}
        for node in self.nodes():
            if node.operation in _RARE_LOADS:
                found.add(_RARE_LOADS[node.operation])
            if node.operation == "load":
                masked, other = node.details["masked"], node.details.get("other")
                found.add(
                    "loads, mask and other" if other else "loads, mask" if masked else "loads"
                )
        return (found | {f"type {node.kind.name}" for node in self.nodes()}) - {""}


class UndefinedAt(Undefined):
    """The statement of the kernel's body that has no single right answer."""

    def __init__(self, number: int, why: Undefined) -> None:
        super().__init__(str(why))
        self.number = number
        self.is_rounded = isinstance(why, Rounded)


def expected(kernel: Kernel) -> Expected:
    """Return the contents of the buffers after all programs, run in order. Raises `UndefinedAt`."""
    buffers = {buffer.name: list(buffer.values) for buffer in kernel.buffers}
    width, height, depth = kernel.grid
    for pid in range(width * height * depth):
        places = {"x": pid % width, "y": pid // width % height, "z": pid // (width * height)}
        given = {name: filled(kind, (), value) for name, (kind, value) in kernel.scalars.items()}
        given |= {name: filled(INT32, (), value) for name, value in {**places, "pid": pid}.items()}
        state = State(given, buffers)
        for number, statement in enumerate(kernel.body):
            try:
                statement.run(state)
            except Returned:
                break
            except Undefined as undefined:
                raise UndefinedAt(number, undefined) from None
    return buffers


def answer(kernel: Kernel) -> Expected | None:
    """Return what is expected; `None` where it is rounded, and a quarter of the seeds may be.

    Such kernels are run in every form, which must agree. Raises `UndefinedAt`.
    """
    try:
        return expected(kernel)
    except UndefinedAt as undefined:
        if not undefined.is_rounded or kernel.seed % 4 != 3:
            raise
        return None
