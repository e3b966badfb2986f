"""Runs a kernel on bit-vectors: its regions, with loops unrolled, and its accesses.

What comes after more than `MAX_TURNS` turns of a loop is not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import z3

from compiler.recheck import integers
from compiler.recheck.carried_values import covered_values
from compiler.recheck.elements import (
    FALSE,
    TRUE,
    BitTensor,
    Element,
    Index,
    Path,
    Value,
    Wrap,
    any_of,
    both,
    chosen,
    merged,
    opposite,
    simplified,
    uncovered,
)
from compiler.recheck.not_modelled import NotModelled
from compiler.recheck.reader import Block, ReadOperation, Type
from compiler.recheck.size_contract import SizeContract
from compiler.recheck.tensor_operations import BY_NAME, Approximate, element_at, parameter
from compiler.recheck.widths import POINTER_BITS, bits_of

MAX_TURNS = 4
MAX_EXECUTED = 20_000
ACCESSES = frozenset({
    "tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_load", "tt.atomic_poll",
    "tt.atomic_store", "tt.descriptor_load", "tt.descriptor_gather", "tt.descriptor_store",
    "tt.descriptor_scatter", "tt.descriptor_reduce",
})  # fmt: skip
_DIALECTS = ("arith", "math", "tt", "ub")
_PURE_REGIONS = ("tt.reduce", "tt.scan", "tt.map_elementwise")
_HARMLESS = (
    "tt.print", "tt.assert", "tt.return", "tt.grid_dependency_wait",
    "tt.grid_dependency_launch_dependents",
)  # fmt: skip
_FOREIGN = ("tt.elementwise_inline_asm", "tt.extern_elementwise")


_UNCHECKED = Path(FALSE)
"""Of operations whose integers no proof covers."""


@dataclass(frozen=True, eq=False)
class Run:
    """One execution of an access, with the values of its operands."""

    operation: ReadOperation
    path: Path
    operands: tuple[Value, ...]


@dataclass(eq=False)
class BitMachine:
    """One program of a kernel. `tag` separates its values from those of another program."""

    kernel: ReadOperation
    contract: SizeContract
    written: frozenset[str]
    tag: str = ""
    facts: list[z3.BoolRef] = field(default_factory=list)
    runs: dict[ReadOperation, list[Run]] = field(default_factory=dict)
    program: list[z3.BitVecRef] = field(default_factory=list)
    most_turns: int = MAX_TURNS
    arithmetic: integers.BitArithmetic = field(default_factory=integers.BitArithmetic)
    _values: dict[str, Value] = field(default_factory=dict)
    _cuts: list[Path] = field(default_factory=list)
    _executed: int = 0
    _names: int = 0

    def execute(self, names: Sequence[str]) -> None:
        """Run the program; `names` are those of the kernel's parameters. Raises NotModelled."""
        ranges = self.arithmetic.ranges
        for number in self.contract.ranges:
            ranges.note(number.term, number.low, number.high)
        for axis, size in zip("xyz", self.contract.grid, strict=True):
            width = bits_of("i32")
            program = z3.ZeroExt(1, z3.BitVec(f"program.{axis}{self.tag}", width - 1))
            ranges.note(program, 0, size.high - 1)
            self.program.append(program)
            self.facts.append(z3.ZeroExt(POINTER_BITS - width, program) < size.term)
        entry = self.kernel.regions[0][0]
        for (key, type_), name in zip(entry.arguments, names, strict=True):
            self._values[key] = self._parameter(name, type_)
        self._blocks(self.kernel.regions[0])

    def _parameter(self, name: str, type_: Type) -> Value:
        if type_.is_pointer:
            return parameter(name)
        if name in self.contract.scalars:
            return Element(self.contract.scalars[name])
        if type_.element == "i1":
            return Element(z3.BitVec(name, 1))
        if type_.element.startswith("!tt.tensordesc"):
            return Element(is_exact=False)
        return Element()

    def fresh(self, width: int) -> z3.BitVecRef:
        """Return bits that may be any."""
        self._names += 1
        return z3.BitVec(f"any.{self._names}{self.tag}", width)

    def free(self, type_: Type, *, is_exact: bool) -> Value:
        """Return any value of a type."""
        if not type_.is_integer:
            element = Element(is_exact=not type_.is_pointer)
            return BitTensor(type_.shape, lambda _: element) if type_.shape else element
        width = bits_of(type_.element)
        if not type_.shape:
            return Element(self.fresh(width), is_exact=is_exact)
        self._names += 1
        sorts = [z3.BitVecSort(32)] * len(type_.shape)
        function = z3.Function(f"any.{self._names}{self.tag}", *sorts, z3.BitVecSort(width))
        return BitTensor(type_.shape, lambda index: Element(function(*index), is_exact=is_exact))

    # regions

    def _blocks(self, blocks: Sequence[Block]) -> None:
        """Run the blocks of the kernel, none of which may lead back."""
        ways: dict[str, list[tuple[Path, list[Value]]]] = {blocks[0].label: [(Path(TRUE), [])]}
        for block in _in_order(blocks):
            entries = ways.get(block.label, [])
            path = Path(
                simplified(any_of([way.condition for way, _ in entries])),
                frozenset[Wrap]().union(*(way.wraps for way, _ in entries)),
                all(way.is_exact for way, _ in entries),
            )
            for number, (name, _) in enumerate(block.arguments if entries[0][1] else []):
                made = entries[0][1][number]
                for way, passed in entries[1:]:
                    taken = Element(_bit(way.condition), (), way.wraps, way.is_exact)
                    made = merged(taken, passed[number], made)
                self._values[name] = made
            path = self._operations(block.operations[:-1], path)
            for label, leaving, arguments in self._successors(block.operations[-1], path):
                ways.setdefault(label, []).append((leaving, arguments))

    def _successors(self, end: ReadOperation, path: Path) -> list[tuple[str, Path, list[Value]]]:
        values = [self._values[name] for name in end.operands]
        if end.name == "cf.br":
            return [(end.successors[0], path, values)]
        if end.name == "cf.cond_br":
            condition = _element(values[0])
            _, first, _ = end.integers("operandSegmentSizes") or (1, 0, 0)
            yes = path.under(condition.is_true, by=(condition,))
            no = path.under(opposite(condition.is_true), by=(condition,))
            passed = values[1:]
            return [
                (end.successors[0], yes, passed[:first]),
                (end.successors[1], no, passed[first:]),
            ]
        if end.name in ("tt.return", "ub.unreachable"):
            return []
        raise NotModelled(end.name)

    def _region(self, region: Sequence[Block], path: Path) -> tuple[list[Value], Path]:
        """Run the only block of a region; return what its terminator passes on."""
        if len(region) != 1:
            raise NotModelled("a region of several blocks")
        *operations, end = region[0].operations
        path = self._operations(operations, path)
        if end.name not in ("scf.yield", "scf.condition"):
            raise NotModelled(end.name)
        return [self._values[name] for name in end.operands], path

    def _operations(self, operations: Sequence[ReadOperation], path: Path) -> Path:
        """Run operations; return the path of the operations after them."""
        for operation in operations:
            self._executed += 1
            if self._executed > MAX_EXECUTED:
                raise NotModelled("loops of more operations than are unrolled")
            before = len(self._cuts)
            results = self._results(operation, path)
            self._values.update(zip(operation.results, results, strict=True))
            for cut in self._cuts[before:]:  # a loop that goes on is not followed any further
                path = path.under(opposite(cut.condition))
                path = replace(path, is_exact=path.is_exact and cut.is_exact)
        return path

    def _results(self, operation: ReadOperation, path: Path) -> Sequence[Value]:
        operands = [self._values[name] for name in operation.operands]
        match operation.name:
            case "scf.if":
                return self._if(operation, _element(operands[0]), path)
            case "scf.for":
                return self._for(operation, operands, path)
            case "scf.while":
                return self._while(operation, operands, path)
        if operation.name in ACCESSES:
            run = Run(operation, path, tuple(operands))
            self.runs.setdefault(operation, []).append(run)
        if operation.name in _HARMLESS or operation.name.endswith((".assume", "barrier")):
            return []
        return self._plain(operation, operands, path)

    def _plain(
        self, operation: ReadOperation, operands: list[Value], path: Path
    ) -> Sequence[Value]:
        """Return the results of an operation that runs no region of the program."""
        is_foreign = operation.name in _FOREIGN and operation.text("pure") != "true"
        is_known = operation.name.split(".")[0] in _DIALECTS and operation.name != "tt.call"
        if (
            is_foreign
            or not is_known
            or (operation.regions and operation.name not in _PURE_REGIONS)
        ):
            raise NotModelled(operation.name)
        try:
            if operation.name.startswith(("arith.", "math.")):
                return [self._computed(operation, operands, path)]
            if operation.name in BY_NAME:
                return BY_NAME[operation.name](self, operation, operands, path)
        except Approximate:
            pass
        return [self.free(type_, is_exact=False) for type_ in operation.result_types]

    def snapshot(self) -> dict[str, Value]:
        """Return all values, for a region that runs later."""
        return dict(self._values)

    def reduced(self, block: Block, values: dict[str, Value]) -> list[Element]:
        """Return what the region of a reduction makes of two elements, which are in `values`."""
        kept, self._values = self._values, values
        self._operations(block.operations[:-1], _UNCHECKED)
        made = [_element(self._values[name]) for name in block.operations[-1].operands]
        self._values = kept
        return made

    def _if(self, operation: ReadOperation, condition: Element, path: Path) -> Sequence[Value]:
        outcomes: list[list[Value]] = []
        for number, region in enumerate(operation.regions):
            holds = condition.is_true if number == 0 else opposite(condition.is_true)
            if region and not z3.is_false(holds):
                outcomes.append(self._region(region, path.under(holds, by=(condition,)))[0])
            else:
                outcomes.append([])
        if not operation.results:
            return []
        if not all(outcomes):  # one of both never runs
            return outcomes[0] or outcomes[1]
        return [merged(condition, a, b) for a, b in zip(*outcomes, strict=True)]

    def _for(self, operation: ReadOperation, operands: list[Value], path: Path) -> Sequence[Value]:
        """Unroll a loop whose counter goes from `low` on, below `high`.

        `"scf.for"(%low, %high, %step, %carried...)`
        """
        if "unsignedCmp" in operation.attributes:
            raise NotModelled("a loop with an unsigned counter")
        low, high, step = (_element(operand) for operand in operands[:3])
        carried = list(operands[3:])
        if low.bits is None or high.bits is None or step.bits is None:
            raise NotModelled("a loop whose bounds are not integers")
        is_no_step = Wrap(both(path.condition, simplified(step.bits < 1)))
        by = replace(step, wraps=step.wraps | {is_no_step})
        path = path.under(by=(low, high, by))
        counter = low.bits
        path = path.under(simplified(counter < high.bits))
        [block] = operation.regions[0]
        covered = covered_values(operation)
        for _ in range(self.most_turns):
            if z3.is_false(path.condition):
                return carried
            following, wraps = self.arithmetic.combined("arith.addi", counter, step.bits)
            path = replace(path, wraps=path.wraps | _wraps(path, wraps))
            going = Element(_bit(path.condition), (), path.wraps, path.is_exact)
            self._values[block.arguments[0][0]] = Element(
                counter, (), path.wraps, low.is_exact and step.is_exact
            )
            for (name, _), value in zip(block.arguments[1:], carried, strict=True):
                self._values[name] = value
            passed, path = self._region(operation.regions[0], path)
            passed = [
                a if is_covered else uncovered(a)
                for a, is_covered in zip(passed, covered, strict=True)
            ]
            carried = [merged(going, a, b) for a, b in zip(passed, carried, strict=True)]
            counter = following
            path = path.under(simplified(counter < high.bits))
        self._cuts.append(path)
        return carried

    def _while(
        self, operation: ReadOperation, operands: list[Value], path: Path
    ) -> Sequence[Value]:
        """Unroll a loop: `before` decides whether `after` runs, and what both pass on."""
        before, after = operation.regions
        carried, results = list(operands), list[Value]()
        covered = covered_values(operation)
        for turn in range(self.most_turns + 1):
            going = Element(_bit(path.condition), (), path.wraps, path.is_exact)
            for (name, _), value in zip(before[0].arguments, carried, strict=True):
                self._values[name] = value
            (first, *passed), path = self._region(before, path)
            results = [merged(going, a, b) for a, b in zip(passed, results or passed, strict=True)]
            condition = _element(first)
            path = path.under(condition.is_true, by=(condition,))
            if turn == self.most_turns or z3.is_false(simplified(path.condition)):
                break
            for (name, _), value in zip(after[0].arguments, passed, strict=True):
                self._values[name] = value
            passed, path = self._region(after, path)
            carried = [
                a if is_covered else uncovered(a)
                for a, is_covered in zip(passed, covered, strict=True)
            ]
        self._cuts.append(path)
        return [uncovered(result) for result in results]

    # integers

    def _computed(self, operation: ReadOperation, operands: list[Value], path: Path) -> Value:
        type_ = operation.result_types[0]
        if operation.name == "arith.constant":
            bits = integers.constant(operation) if type_.is_integer else None
            if bits is None:
                return self.free(type_, is_exact=False)
            made = Element(bits)
            return BitTensor(type_.shape, lambda _: made) if type_.shape else made
        if not type_.shape:
            made_now = self._element(operation, [_element(operand) for operand in operands], path)
            return made_now or self.free(type_, is_exact=False)
        unknown: list[Value] = []

        def at(index: Index) -> Element:
            elements = [element_at(operand, index) for operand in operands]
            made = self._element(operation, elements, path)
            if made is not None:
                return made
            if not unknown:
                unknown.append(self.free(type_, is_exact=False))
            return element_at(unknown[0], index)

        return BitTensor(type_.shape, at)

    def _element(
        self, operation: ReadOperation, operands: list[Element], path: Path
    ) -> Element | None:
        """Return the result for elements of the operands; None where it may be any."""
        type_ = operation.result_types[0]
        if operation.name == "arith.select" and (type_.is_integer or type_.is_pointer):
            return chosen(*operands)
        if not type_.is_integer:
            return Element()
        bits = [operand.bits for operand in operands if operand.bits is not None]
        made = self.arithmetic.computed(operation, bits) if len(bits) == len(operands) else None
        if made is None:
            return None
        result, wraps = made
        is_exact = all(operand.is_exact for operand in operands)
        if operation.name == "arith.trunci" and type_.element == "i1":
            return Element(result, is_exact=is_exact)
        inherited = frozenset[Wrap]().union(*(operand.wraps for operand in operands))
        return Element(result, (), inherited | _wraps(path, wraps), is_exact)


def _wraps(path: Path, condition: z3.BoolRef) -> frozenset[Wrap]:
    """Return a wrap where an operation runs, none if it never happens."""
    happens = both(path.condition, condition)
    return frozenset() if z3.is_false(happens) else frozenset({Wrap(happens)})


def _element(value: Value) -> Element:
    if not isinstance(value, Element):
        raise NotModelled("a tensor in place of a scalar")
    return value


def _bit(condition: z3.BoolRef) -> z3.BitVecRef:
    return z3.If(condition, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1))


def _in_order(blocks: Sequence[Block]) -> list[Block]:
    """Return blocks after all that lead to them. Raises NotModelled for a loop of branches."""
    by_label = {block.label: block for block in blocks}
    entries = dict.fromkeys(by_label, 0)
    for block in blocks:
        for label in block.operations[-1].successors:
            entries[label] += 1
    ready = [block for block in blocks if not entries[block.label]]
    for block in ready:
        for label in block.operations[-1].successors:
            entries[label] -= 1
            if not entries[label]:
                ready.append(by_label[label])
    if len(ready) < len(blocks):
        raise NotModelled("a loop of branches")
    return ready
