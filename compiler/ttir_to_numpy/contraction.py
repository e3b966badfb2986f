"""Arithmetic that the compiler for NVIDIA GPUs changes: fp32 quotients, and fused products.

A quotient of fp32 by a constant is a product with its reciprocal. Products are fused with a sum,
`a * b + c` rounded once, unless that is switched off (`enable_fp_fusion`).

LLVM fuses a product with every sum of the same basic block, whatever else needs it, and ptxas fuses
no more. So what counts is where its passes leave the two: a value that a loop does not change comes
before the loop, a short condition becomes a select, a short loop is unrolled, and what only the end
of a kernel needs is computed there. `math.fma` takes the place of the sum here.

Not followed: what a called function returns or is given, products that a reduction sums, and what
another layout of a tensor moves between threads.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from compiler.ttir_to_numpy import mlir_types
from compiler.ttir_to_numpy.ir import IrBlock, Operation, Value, inside
from compiler.ttir_to_numpy.known_numbers import number_of

_FLOATS = frozenset({"f16", "bf16", "f32", "f64"})
_SUMS = frozenset({"arith.addf", "arith.subf"})
"""`%r = arith.addf %p, %c : tensor<128xf32>`, where `%p = arith.mulf %a, %b`"""
_SPREADING = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims"})
"""Operations that give a value another shape in the same registers."""
_LOOPS = frozenset({"scf.for", "scf.while"})
_PURE = _SPREADING | {
    "tt.make_range", "tt.get_program_id", "tt.get_num_programs", "tt.fp_to_fp", "tt.bitcast",
    "tt.clampf", "tt.reshape", "scf.yield",
}  # fmt: skip
_MIN_DIVISOR = 2.0**-126
_MAX_UNROLLED = 32
"""Operations of a loop that is unrolled, over all of its rounds."""


def contract(module: Operation, *, fp_fusion: bool) -> None:
    """Change all functions of `module` in place; with `fp_fusion` their products are fused."""
    for function in module.regions[0][0].operations:
        if function.name == "tt.func":
            for holder in (function, *inside(function)):
                for block in _blocks_of(holder):
                    _multiply_by_reciprocals(block)
            if fp_fusion:
                _Contraction(function).write()


def _blocks_of(operation: Operation) -> list[IrBlock]:
    return [block for region in operation.regions for block in region]


def _multiply_by_reciprocals(block: IrBlock) -> None:
    """Have quotients by a number be products, as LLVM has them if no subnormal is in the way."""
    for operation in list(block.operations):
        type_ = operation.results[0].type if operation.results else ""
        if operation.name != "arith.divf" or mlir_types.element_of(type_) != "f32":
            continue
        divisor = number_of(operation.operands[1])
        if divisor is None or not _MIN_DIVISOR <= abs(divisor) <= 1 / _MIN_DIVISOR:
            continue
        # of a quotient in fp64 the second rounding does no harm
        [number] = struct.unpack("<f", struct.pack("<f", 1 / divisor))
        value = (
            f"dense<{number!r}> : {type_}" if mlir_types.is_tensor(type_) else f"{number!r} : f32"
        )
        constant = Operation("arith.constant", [], attributes={"value": value})
        constant.results.append(Value("", type_, constant))
        block.operations.insert(block.operations.index(operation), constant)
        operation.name = "arith.mulf"
        operation.operands = [operation.operands[0], constant.results[0]]


@dataclass(frozen=True)
class _BasicBlock:
    """The final position of an operation: a block, and its depth in loops and conditions."""

    block: IrBlock
    segment: int
    loops: tuple[_BasicBlock, ...] = ()
    """The start of each loop around it, to which loop-invariant operations move."""


@dataclass(frozen=True)
class _Product:
    """A product that a sum may fuse: its path to the sum, and whether its sign changed."""

    made_by: Operation
    way: tuple[Operation, ...]
    is_negated: bool


class _Contraction:
    def __init__(self, function: Operation) -> None:
        self._function = function
        self._users: dict[Value, list[Operation]] = {}
        for operation in inside(function):
            for value in _read(operation):
                self._users.setdefault(value, []).append(operation)
        self._uses = Counter({value: len(users) for value, users in self._users.items()})
        self._sums: list[tuple[IrBlock, Operation]] = []
        self._last: _BasicBlock | None = None
        """The end of the kernel: operations needed only there are computed there."""
        self._basic_blocks: dict[Operation, _BasicBlock] = {}
        self._depths: dict[Value, int] = {}
        """The number of surrounding loops that change a value; nothing for unchanged ones."""

    def write(self) -> None:
        """Find out where all operations end up, and then fuse."""
        pending = [(block, _BasicBlock(block, 0)) for block in _blocks_of(self._function)[::-1]]
        while pending:
            block, basic_block = pending.pop()
            pending += self._through(block, basic_block)
        for block, total in self._sums:
            self._fuse(block, total)

    def _through(
        self, block: IrBlock, basic_block: _BasicBlock
    ) -> list[tuple[IrBlock, _BasicBlock]]:
        """Note where operations end up; return the blocks inside of this, each with its place."""
        inner: list[tuple[IrBlock, _BasicBlock]] = []
        for argument in block.arguments:
            self._depths[argument] = len(basic_block.loops)
        for operation in block.operations:
            self._basic_blocks[operation] = self._block_of(operation, basic_block)
            if operation.name in _SUMS:
                self._sums.append((block, operation))
            if operation.name == "tt.return" and "private" not in self._visibility:
                self._last = basic_block
            if not operation.regions:
                continue
            blocks = _blocks_of(operation)
            if _stays_whole(operation):
                inner += [(b, basic_block) for b in blocks]
                continue
            loops = (
                (*basic_block.loops, basic_block) if operation.name in _LOOPS else basic_block.loops
            )
            inner += [(b, _BasicBlock(b, 0, loops)) for b in blocks]
            basic_block = _BasicBlock(basic_block.block, basic_block.segment + 1, basic_block.loops)
        return inner[::-1]  # the last pending one comes first

    def _block_of(self, operation: Operation, basic_block: _BasicBlock) -> _BasicBlock:
        """Return the block that an operation of `basic_block` ends up in; note what changes it."""
        depth = len(basic_block.loops)
        if operation.name.startswith(("arith.", "math.")) or operation.name in _PURE:
            depth = max((self._depths.get(v, 0) for v in operation.operands), default=0)
        self._depths |= dict.fromkeys(operation.results, depth)
        return basic_block if depth == len(basic_block.loops) else basic_block.loops[depth]

    def _fuse(self, block: IrBlock, total: Operation) -> None:
        element = mlir_types.element_of(total.results[0].type)
        first, second = total.operands
        if element not in _FLOATS or (first is second and element in {"f16", "bf16"}):
            return
        products = [self._product_of(value, self._basic_blocks[total]) for value in total.operands]
        chosen = self._chosen(products)
        product = products[chosen]
        if product is None:
            return
        at = block.operations.index(total)
        made: list[Operation] = []
        a, b = (_along(product.way, v, made) for v in product.made_by.operands)
        c = total.operands[1 - chosen]
        is_difference = total.name == "arith.subf"
        if product.is_negated != (is_difference and chosen == 1):
            a = _made(
                Operation("arith.negf", [a], chain=total.chain, locations=total.locations), a, made
            )
        if is_difference and chosen == 0:
            c = _made(
                Operation("arith.negf", [c], chain=total.chain, locations=total.locations), c, made
            )
        self._uses[product.made_by.results[0]] -= 1
        block.operations[at:at] = made
        total.name, total.operands = "math.fma", [a, b, c]

    def _chosen(self, products: list[_Product | None]) -> int:
        """Return which operand of a sum is taken: of two products that with fewer uses."""
        first, second = products
        if first is None or second is None:
            return 0 if second is None else 1
        return 1 if self._uses_of(first) > self._uses_of(second) else 0

    def _uses_of(self, product: _Product) -> int:
        return self._uses[product.made_by.results[0]] + any(
            operation.name in _SPREADING for operation in product.way
        )

    def _product_of(self, value: Value, basic_block: _BasicBlock) -> _Product | None:
        """Return the product of the same basic block that `value` is, up to shape and sign."""
        way: list[Operation] = []
        is_negated = False
        while (made_by := value.made_by) is not None:
            if made_by.name == "arith.mulf":
                if self._basic_blocks.get(made_by) != basic_block and not self._sinks(
                    made_by, basic_block
                ):
                    return None
                return _Product(made_by, tuple(way), is_negated)
            if made_by.name == "arith.negf":
                is_negated = not is_negated
            elif made_by.name in _SPREADING:
                way.insert(0, made_by)
            else:
                return None
            [value] = made_by.operands
        return None

    def _sinks(self, product: Operation, basic_block: _BasicBlock) -> bool:
        """Return whether a product is computed at `basic_block`, its last and only use."""
        if basic_block != self._last or self._basic_blocks[product].loops:
            return False
        pending = list(product.results)
        while pending:
            for user in self._users.get(pending.pop(), []):
                if user.name in _SPREADING:
                    pending += user.results
                elif self._basic_blocks.get(user) != basic_block:
                    return False
        return True

    @property
    def _visibility(self) -> str:
        return self._function.attributes.get("sym_visibility", "")


def _read(operation: Operation) -> Iterator[Value]:
    yield from operation.operands
    for _, values in operation.successors:
        yield from values


def _stays_whole(operation: Operation) -> bool:
    """Return whether the regions of `operation` end up in the surrounding basic block."""
    within = list(inside(operation))
    if operation.name == "scf.if":
        return all(o.name.startswith(("arith.", "math.")) or o.name in _PURE for o in within)
    if operation.name == "scf.for":
        rounds = _rounds_of(operation)
        return rounds is not None and rounds * len(within) <= _MAX_UNROLLED
    return False


def _rounds_of(loop: Operation) -> int | None:
    """Return how often a loop between constants is gone through."""
    start, end, step = (number_of(value) for value in loop.operands[:3])
    if not isinstance(start, int) or not isinstance(end, int) or not isinstance(step, int):
        return None
    return len(range(start, end, step)) if step > 0 else None


def _along(way: tuple[Operation, ...], value: Value, made: list[Operation]) -> Value:
    """Return `value` in the shape that `way` gives the product of it."""
    for operation in way:
        again = Operation(
            operation.name, [value], attributes=operation.attributes,
            chain=operation.chain, locations=operation.locations,
        )  # fmt: skip
        value = _made(again, operation.results[0], made)
    return value


def _made(operation: Operation, like: Value, made: list[Operation]) -> Value:
    """Return the result of a new operation, of the type of another value."""
    result = Value("", like.type, operation)
    operation.results.append(result)
    made.append(operation)
    return result
