"""What a kernel takes, by its TTIR: the operations of its blocks, and how often these run.

Counted is what a stored value comes from, in all lanes, masked ones too: arithmetic, reductions,
products, and the stores. Addresses, masks, loads and conversions are not. The text is hostile, so
the code is linear.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

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
from programs.tape.kernel_work import Block, Instruction, KernelWork

_TENSOR = re.compile(r"tensor<((?:\d{1,9}x){0,16})")
_LOOP = re.compile(
    r"scf\.for (?:unsigned )?(%[\w.$-]+) = (%[\w.$#-]+) to (%[\w.$#-]+) step (%[\w.$#-]+)"
)
_INTEGER = re.compile(r"arith\.constant (-?\d{1,20}|true|false)\b")
_AXIS = re.compile(r"tt\.get_(program_id|num_programs) ([xyz])")
_PREDICATE = re.compile(r"arith\.cmpi (\w+),")

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
"""Which operands of what writes memory are the values."""
_FOLDS = ("tt.reduce", "tt.scan", "tt.map_elementwise")
"""Their bodies run for each lane of what they are given."""
_MOST_FUNCTIONS = 64


def kernel_work(ttir: str) -> KernelWork:
    """Return what the kernel of this text takes."""
    reader = _Reader()
    for line in ttir.splitlines():
        reader.read(line.strip())
    return reader.work()


@dataclass(slots=True)
class _Reader:
    """Takes the lines of a module."""

    flow: ValueFlow = field(default_factory=ValueFlow)
    blocks: list[Block] = field(default_factory=list)
    noted: list[tuple[int, tuple[str, ...], int]] = field(default_factory=list)
    """Ops: in which block, their results, and what they take if a stored value comes from one."""
    stored: list[str] = field(default_factory=list)
    calls: list[tuple[int, str]] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    does_anything: bool = False
    """Whether assembly may write memory."""
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
        elif self._open and not line.startswith("^"):
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

    def _needed(self) -> tuple[Instruction, ...]:
        """Return the instructions that trips of loops come from, in order."""
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
        self.blocks.append(Block(None, "tt.func", name))
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
        elif name == "tt.call":
            callee = CALLEE.search(right)
            self.calls.append((self._open[-1], callee[1].strip('"') if callee else "?"))
        elif name in _COMPUTE or (name.startswith(("arith.", "math.")) and name not in _FREE):
            self._note(results, _lanes(words))
        if opens(words):
            self._begin_block(name, line, results)

    def _note(self, results: tuple[str, ...], operations: int) -> None:
        block = self._open[-1]
        if self.blocks[block].fold:  # in the body of a reduction all counts, or nothing does
            self.blocks[block].operations += operations
        else:
            self.noted.append((block, results, operations))

    def _begin_block(self, name: str, line: str, results: tuple[str, ...]) -> None:
        parent = self._open[-1]
        block = Block(parent, name, self.blocks[parent].function)
        if name.startswith(_FOLDS):
            block.fold = results or ("",)
        self.blocks.append(block)
        self._open.append(len(self.blocks) - 1)
        if name != "scf.for":
            return
        match = _LOOP.search(line)
        bounds = tuple([self.flow.at(found) for found in match.groups()[1:]]) if match else ("",)
        block.trips = f"trips {len(self.blocks)}"
        self.instructions.append(Instruction(block.trips, _trips, bounds))
        for carried, _ in CARRIED.findall(line.partition("iter_args(")[2]):
            self.instructions.append(Instruction(self.flow.at(carried), _unknown))
        if match:
            self.instructions.append(Instruction(self.flow.at(match[1]), _middle, bounds))

    def _end_fold(self, block: Block, line: str) -> None:
        """Count the body of a reduction for each lane that goes in, where its result counts."""
        operations = max(1, block.operations) * _lanes(line, 0)
        block.operations = 0
        if self._open:
            self._note(block.fold, operations)

    def _number(self, name: str, line: str, results: tuple[str, ...], operands: list[str]) -> None:
        """Note how a number is computed, or that a name now stands for what is not known."""
        compute, given = _rule(name, line), tuple([self.flow.at(one) for one in operands])
        if compute is _same and (axis := _AXIS.search(line)):
            given = (f"{axis[1]} {axis[2]}",)
        if len(results) != 1 or compute is _unknown:
            compute, given = _unknown, ()
        self.instructions.extend(Instruction(result, compute, given) for result in results)


def _rule(name: str, line: str) -> Callable[..., int | None]:
    """Return how an op computes a number from numbers; `_unknown`: it does something else."""
    if name == "arith.constant" and (found := _INTEGER.search(line)):
        value = int(_TRUTHS.get(found[1], found[1]))
        return lambda: value
    if name in ("tt.get_program_id", "tt.get_num_programs"):
        return _same
    if name == "arith.cmpi" and (predicate := _PREDICATE.search(line)):
        return _COMPARED.get(predicate[1], _unknown)
    return _unknown if "tensor<" in line else _NUMBERS.get(name, _unknown)


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


def _unknown(*_: int) -> None:
    return None


def _same(value: int) -> int:
    return value


def _trips(first: int, end: int, step: int) -> int | None:
    return max(0, -(-(end - first) // step)) if step > 0 else None


def _middle(first: int, end: int, step: int) -> int | None:
    trips = _trips(first, end, step)
    return None if trips is None else first + max(0, trips - 1) // 2 * step


def _divided(left: int, right: int) -> int:
    """Return the quotient towards zero, as `arith.divsi` has it."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_TRUTHS = {"true": "1", "false": "0"}
_NUMBERS: Mapping[str, Callable[..., int | None]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.divsi": _divided,
    "arith.divui": _divided,
    "arith.ceildivsi": lambda left, right: -(-left // right),
    "arith.remsi": lambda left, right: left - _divided(left, right) * right,
    "arith.remui": lambda left, right: left - _divided(left, right) * right,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.andi": lambda left, right: left & right,
    "arith.select": lambda which, left, right: left if which else right,
    "arith.extsi": _same,
    "arith.extui": _same,
    "arith.trunci": _same,
    "arith.index_cast": _same,
}
"""Of numbers, not of tensors."""
_COMPARED: Mapping[str, Callable[..., int | None]] = {
    "eq": lambda left, right: int(left == right),
    "ne": lambda left, right: int(left != right),
    "slt": lambda left, right: int(left < right),
    "sle": lambda left, right: int(left <= right),
    "sgt": lambda left, right: int(left > right),
    "sge": lambda left, right: int(left >= right),
}
