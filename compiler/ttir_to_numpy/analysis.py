"""The needed operations of a function, and those that may be inlined into another expression."""

from collections import Counter
from dataclasses import dataclass, field

from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value, inside

EFFECTS = frozenset(
    {
        "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load",
        "tt.atomic_store", "tt.atomic_poll", "tt.print", "tt.assert",
        "cf.assert", "tt.descriptor_load", "tt.descriptor_store", "tt.descriptor_reduce",
        "tt.descriptor_gather", "tt.descriptor_scatter", "tt.elementwise_inline_asm", "tt.call",
        "tt.experimental_descriptor_store", "tt.extern_elementwise", "scf.while",
    }
)  # fmt: skip
"""Operations kept without a use of their result: accesses, visible effects, endless loops."""
ENDS = frozenset(
    {
        "scf.yield", "scf.condition", "tt.return", "tt.reduce.return", "tt.scan.return", "cf.br",
        "cf.cond_br", "tt.map_elementwise.return",
    }
)  # fmt: skip
HINTS = ("tt.divisibility", "tt.contiguity", "tt.constancy")
"""Attributes of operations that hold what the source promises of their values."""
RETURNS = frozenset({name for name in ENDS if name.endswith(".return")})
"""Ends of functions, and of the regions that are functions of their operation."""
HEAVIEST = 7
"""Operations in one expression."""
_STATEMENTS = EFFECTS | {
    "scf.for", "scf.if", "tt.reduce", "tt.scan", "tt.split", "tt.dot", "tt.make_tensor_descriptor",
    "tt.make_tensor_ptr", "tt.advance",
    "tt.map_elementwise", "tt.dot_scaled", "arith.mulsi_extended", "arith.mului_extended",
    "arith.addui_extended", "math.sincos",
}  # fmt: skip
_TWICE = frozenset({"arith.cmpf", "math.rsqrt", "tt.gather", "tt.broadcast"})
"""Operations whose text may contain an operand twice."""


@dataclass
class Analysis:
    """`live` operations; `inlined` ones, by the operation that contains them; uses by value."""

    live: set[Operation]
    uses: dict[Value, list[Operation]]
    inlined: dict[Operation, Operation] = field(default_factory=dict)
    block_of: dict[Operation, IrBlock] = field(default_factory=dict)
    index_of: dict[Operation, int] = field(default_factory=dict)

    holders: dict[IrBlock, Operation] = field(default_factory=dict)
    _arguments: dict[IrBlock, frozenset[Value]] = field(default_factory=dict)

    def arguments_of(self, block: IrBlock) -> frozenset[Value]:
        """Return the arguments of `block`, to look one up."""
        if block not in self._arguments:
            self._arguments[block] = frozenset(block.arguments)
        return self._arguments[block]

    def location_of(self, operation: Operation, block: IrBlock) -> int | None:
        """Return the index in `block` at which `operation` is evaluated, None if outside of it."""
        while operation in self.inlined:
            operation = self.inlined[operation]
        while operation in self.block_of and self.block_of[operation] is not block:
            outer = self.holders.get(self.block_of[operation])
            if outer is None:
                return None
            operation = outer
        return self.index_of.get(operation)


def analysis_of(
    function: Operation, constants: frozenset[str], effects: frozenset[str], *, inlines: bool = True
) -> Analysis:
    """Return the analysis of `function`; operations named in `constants` have no text.

    Those named in `effects` are kept in any case; without `inlines` none is inside of another.
    """
    operations = list(inside(function))
    live = _live(operations, effects)
    uses: dict[Value, list[Operation]] = {}
    for operation in operations:
        if operation in live:
            for value in _read(operation):
                uses.setdefault(value, []).append(operation)
    analysis = Analysis(live, uses)
    for holder in (function, *operations):
        for region in holder.regions:
            for block in region:
                analysis.holders[block] = holder
                for index, operation in enumerate(block.operations):
                    analysis.block_of[operation], analysis.index_of[operation] = block, index
    if inlines:
        _inline(analysis, operations, constants)
    return analysis


def _read(operation: Operation) -> list[Value]:
    return [*operation.operands, *(value for _, values in operation.successors for value in values)]


def _live(operations: list[Operation], effects: frozenset[str]) -> set[Operation]:
    """Return what has an effect or gives a value to what has one.

    Raises nothing; linear, as each operation is marked once.
    """
    holders = {inner: outer for outer in operations for inner in _direct(outer)}
    marked = set[Operation]()
    pending = [o for o in operations if o.name in effects or (o.name in ENDS and o not in holders)]
    while pending:
        operation = pending.pop()
        if operation in marked:
            continue
        marked.add(operation)
        pending += [value.made_by for value in _read(operation) if value.made_by is not None]
        pending += [inner for inner in _direct(operation) if inner.name in ENDS]
        if operation in holders:
            pending.append(holders[operation])
    return marked


def _direct(operation: Operation) -> list[Operation]:
    return [inner for region in operation.regions for block in region for inner in block.operations]


def _inline(analysis: Analysis, operations: list[Operation], constants: frozenset[str]) -> None:
    """Put pure operations into the one expression that needs them, where it is not too long."""
    weights = Counter[Operation]()
    for operation in operations:  # definitions come before uses within a block
        if operation not in analysis.live:
            continue
        weights[operation] += 1
        if operation.name in constants or operation.name in _STATEMENTS or operation.name in ENDS:
            continue
        if len(operation.results) != 1 or not operation.attributes.keys().isdisjoint(HINTS):
            continue  # a value with a hint has a line, where it is checked
        uses = analysis.uses.get(operation.results[0], [])
        if len(uses) != 1 or not _may_stand_in(operation, uses[0], analysis):
            continue
        if weights[operation] + weights[uses[0]] < HEAVIEST:
            analysis.inlined[operation] = uses[0]
            weights[uses[0]] += weights[operation]


def _may_stand_in(operation: Operation, use: Operation, analysis: Analysis) -> bool:
    if analysis.block_of.get(operation) is not analysis.block_of.get(use) or use.name in _TWICE:
        return False
    if use.name in ENDS or use.name == "tt.split":
        return use.name in {
            "tt.return",
            "tt.reduce.return",
            "tt.scan.return",
            "scf.condition",
            "cf.cond_br",
        }
    name = operation.results[0].name
    if not name:
        return True
    of_use = use.results[0].name if use.results else ""
    is_one_line = operation.chain == use.chain or operation.chain[:1] == use.chain[:1]
    return is_one_line and name == of_use
