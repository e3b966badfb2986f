"""Reads a kernel's TTIR: the operations of its blocks, and the numbers of their runs.

It counts the operations that stored values depend on, in all lanes, also masked ones: arithmetic,
reductions, products, and the stores. Addresses, masks, loads and conversions do not count. The text
is hostile, so the code is linear.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from programs.tape.counted_loops import ConditionalLoop
from programs.tape.kernel_effects import (
    CALLEE,
    CARRIED,
    FUNCTION,
    NAMED,
    OPERATION,
    PARAMETER,
    RESULT,
    STRING,
    VALUE,
    ValueFlow,
    opens,
)
from programs.tape.kernel_work import KernelWork, WorkBlock, WorkInstruction
from programs.tape.ttir_numbers import (
    axis_of,
    middle_below,
    middle_to,
    predicate_of,
    rule_of,
    trips_below,
    trips_to,
    unknown,
)

_TENSOR = re.compile(r"tensor<((?:\d{1,9}x){0,16})")
_LOOP = re.compile(
    r"scf\.for (?:unsigned )?(%[\w.$-]+) = (%[\w.$#-]+) to (%[\w.$#-]+) step (%[\w.$#-]+)"
)

_FREE = frozenset({
    "arith.constant", "arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci",
    "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui", "arith.bitcast",
    "arith.index_cast", "arith.index_castui",
})  # fmt: skip
"""Conversions: they compute nothing."""
_COMPUTE = frozenset({
    "tt.precise_sqrt", "tt.precise_divf", "tt.clampf", "tt.mulhiui", "tt.extern_elementwise",
    "tt.elementwise_inline_asm", "tt.histogram",
})  # fmt: skip
_STORED_OPERANDS: Mapping[str, slice] = {
    "tt.store": slice(1, 2),
    "tt.atomic_rmw": slice(1, 2),
    "tt.atomic_cas": slice(1, 3),
    "tt.descriptor_store": slice(-1, None),
    "tt.descriptor_scatter": slice(-1, None),
    "tt.descriptor_reduce": slice(-1, None),
}
"""The operands of stores that are the stored values."""
_FOLDS = ("tt.reduce", "tt.scan", "tt.map_elementwise")
"""Their bodies run for each lane of their operands."""
_MOST_FUNCTIONS = 64


def kernel_work(ttir: str) -> KernelWork:
    """Return the work of the kernel in this text."""
    reader = _Reader()
    for line in ttir.splitlines():
        reader.read(line.strip())
    return reader.work()


@dataclass(slots=True)
class _Reader:
    """Takes the lines of a module."""

    flow: ValueFlow = field(default_factory=ValueFlow)
    blocks: list[WorkBlock] = field(default_factory=list)
    noted: list[tuple[int, tuple[str, ...], int]] = field(default_factory=list)
    """Ops: their block, their results, and their operations if a stored value depends on one."""
    stored: list[str] = field(default_factory=list)
    calls: list[tuple[int, str]] = field(default_factory=list)
    instructions: list[WorkInstruction] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    does_anything: bool = False
    """True if inline assembly may write memory."""
    _whiles: dict[int, ConditionalLoop] = field(default_factory=dict)
    _compared: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    _sums: dict[str, tuple[str, str]] = field(default_factory=dict)
    _open: list[int] = field(default_factory=list)
    _kernels: list[str] = field(default_factory=list)
    _functions: set[str] = field(default_factory=set)

    def read(self, line: str) -> None:
        """Take the next line."""
        self.flow.read(line)
        if line.startswith("tt.func"):
            self._begin_function(line)
        elif line.startswith("}"):
            closed = self._open.pop() if self._open else None
            if closed is None:
                return
            if opens(line):  # `} else {`, `} do {`
                self._open.append(closed)
            elif self.blocks[closed].fold:
                self._end_fold(self.blocks[closed], line)
            elif closed in self._whiles:
                self._end_while(self._whiles.pop(closed), self.blocks[closed])
        elif self._open and line.startswith("^"):
            self._arguments([self.flow.at(name) for name, _ in PARAMETER.findall(line)])
        elif self._open:
            self._operation(line)

    def work(self) -> KernelWork:
        """Return what was read."""
        reached = self.flow.sources(self.stored)
        for block, results, operations in self.noted:
            if not results or not reached.isdisjoint(results):
                self.blocks[block].operations += operations
        kernel = self._kernels[0] if len(self._kernels) == 1 else None
        if len(self._functions) > _MOST_FUNCTIONS or self.does_anything:
            kernel = None
        needed = self._needed()
        used = {operand for one in needed for operand in one.operands}
        parameters = {node: name for node, name in self.parameters.items() if node in used}
        return KernelWork(kernel, tuple(self.blocks), tuple(self.calls), needed, parameters)

    def _needed(self) -> tuple[WorkInstruction, ...]:
        """Return the instructions on which trips of loops depend, in order."""
        wanted = {block.trips for block in self.blocks if block.trips is not None}
        kept = []
        for one in reversed(self.instructions):
            if one.result in wanted:
                kept.append(one)
                wanted.update(one.operands)
        return tuple(reversed(kept))

    def _begin_function(self, line: str) -> None:
        match = FUNCTION.match(line)
        name = match[2].strip('"') if match else "?"
        self._functions.add(name)
        self.blocks.append(WorkBlock(None, "tt.func", name))
        self._open = [len(self.blocks) - 1]
        if match is None or "private" in (match[1] or ""):
            return
        self._kernels.append(name)
        for value, words in PARAMETER.findall(line[match.end() :]):
            named = NAMED.search(words)
            self.parameters[self.flow.at(value)] = named[1] if named else value[1:]

    def _operation(self, line: str) -> None:
        left, equals, right = line.partition(" = ") if line.startswith("%") else ("", "", line)
        words = STRING.sub('""', right if equals else line)
        match = OPERATION.match(right if equals else line)
        name = match[1] if match else ""
        results = tuple([self.flow.at(found) for found, _ in RESULT.findall(left)])
        operands = VALUE.findall(words)
        self.does_anything |= "pure = false" in words
        self._number(name, line, results, operands)
        if name in _STORED_OPERANDS:
            values = operands[_STORED_OPERANDS[name]]
            self.stored.extend(self.flow.used(value) for value in values)
            self._note((), _lanes(words) * (2 if name.endswith(("rmw", "reduce")) else 1))
        elif name.startswith("tt.dot"):
            self._note(results, 2 * _lanes(words, -1) * _last_axis(words))
        elif name in ("scf.condition", "scf.yield") and (loop := self._whiles.get(self._open[-1])):
            given = [self.flow.at(operand) for operand in operands]
            if name == "scf.yield":
                loop.yielded = given
            else:
                loop.condition, loop.forwarded = next(iter(given), ""), given[1:]
        elif name == "tt.call":
            callee = CALLEE.search(right)
            self.calls.append((self._open[-1], callee[1].strip('"') if callee else "?"))
        elif name in _COMPUTE or (name.startswith(("arith.", "math.")) and name not in _FREE):
            self._note(results, _lanes(words))
        if opens(words):
            self._begin_block(name, line, results)

    def _note(self, results: tuple[str, ...], operations: int) -> None:
        block = self._open[-1]
        if self.blocks[block].fold:  # in the body of a reduction, all ops count, or none
            self.blocks[block].operations += operations
        else:
            self.noted.append((block, results, operations))

    def _begin_block(self, name: str, line: str, results: tuple[str, ...]) -> None:
        parent = self._open[-1]
        block = WorkBlock(parent, name, self.blocks[parent].function)
        if name.startswith(_FOLDS):
            block.fold = results or ("",)
        self.blocks.append(block)
        self._open.append(len(self.blocks) - 1)
        if name not in ("scf.for", "scf.while"):
            return
        block.trips = f"trips {len(self.blocks)}"
        if name == "scf.while":
            self._begin_while(line, block.trips)
            return
        match = _LOOP.search(line)
        bounds = tuple([self.flow.at(found) for found in match.groups()[1:]]) if match else ("",)
        self.instructions.append(WorkInstruction(block.trips, trips_below, bounds))
        for carried, _ in CARRIED.findall(line.partition("iter_args(")[2]):
            self.instructions.append(WorkInstruction(self.flow.at(carried), unknown))
        if match:
            self.instructions.append(WorkInstruction(self.flow.at(match[1]), middle_below, bounds))

    def _begin_while(self, line: str, trips: str) -> None:
        carried = [(self.flow.at(one), self.flow.at(first)) for one, first in CARRIED.findall(line)]
        self._whiles[self._open[-1]] = ConditionalLoop(len(self.instructions), carried)
        self.instructions.append(WorkInstruction(trips, unknown))
        self.instructions.extend(WorkInstruction(name, unknown) for name, _ in carried)

    def _arguments(self, names: list[str]) -> None:
        """Note the arguments of a body as unknown numbers."""
        loop = self._whiles.get(self._open[-1])
        for name in names:
            if loop is not None:
                loop.arguments.append((name, len(self.instructions)))
            self.instructions.append(WorkInstruction(name, unknown))

    def _end_while(self, loop: ConditionalLoop, block: WorkBlock) -> None:
        """Note the trips of a counting loop, and its counter in the middle."""
        counted = loop.counted(self._compared, self._sums)
        if counted is None or block.trips is None:
            return
        trips = trips_to if counted.includes_end else trips_below
        middle = middle_to if counted.includes_end else middle_below
        self.instructions[loop.place] = WorkInstruction(block.trips, trips, counted.bounds)
        name, place = loop.arguments[counted.argument]
        self.instructions[place] = WorkInstruction(name, middle, counted.bounds)

    def _end_fold(self, block: WorkBlock, line: str) -> None:
        """Count the body of a reduction once for each input lane, if its result counts."""
        operations = max(1, block.operations) * _lanes(line, 0)
        block.operations = 0
        if self._open:
            self._note(block.fold, operations)

    def _number(self, name: str, line: str, results: tuple[str, ...], operands: list[str]) -> None:
        """Note how a number is computed, or that it is unknown."""
        compute, given = rule_of(name, line), tuple([self.flow.at(one) for one in operands])
        if axis := axis_of(name, line):
            given = (axis,)
        if len(results) == 1 and len(given) == 2 and "tensor<" not in line:
            if name == "arith.addi":
                self._sums[results[0]] = (given[0], given[1])
            elif name == "arith.cmpi":
                self._compared[results[0]] = (predicate_of(line), given[0], given[1])
        if len(results) != 1 or compute is unknown:
            compute, given = unknown, ()
        self.instructions.extend(WorkInstruction(result, compute, given) for result in results)


def _lanes(words: str, at: int | None = None) -> int:
    """Return the elements of the largest tensor among the types of a line, or of one of them."""
    found = _TENSOR.findall(words)
    if not found:
        return 1
    sizes = [math.prod([int(size) for size in one.split("x")[:-1]]) for one in found]
    return max(sizes) if at is None else sizes[at]


def _last_axis(words: str) -> int:
    """Return the size of the last axis of the first tensor of a line."""
    found = _TENSOR.search(words)
    sizes = found[1].split("x")[:-1] if found else []
    return int(sizes[-1]) if sizes else 1
