"""Finds sums in which the compiler may fuse a product in one kernel and not in another.

It fuses a product with its sum into one operation, which rounds once, only where both are in one
basic block of the machine's code. The block depends on what is computed between them, and on the
other uses of the product. So a product is fused alike in two kernels if nothing that may end a
block is between it and its uses, and it has as many of them; or if the kernels have one form.
A function of libdevice is compiled with the kernel: it may end with a product, and begin with a
sum.

For AMD, a masked access is a branch, and so may be a function. Which of them are merged depends on
the size of tiles, on hints of arguments and on the number of warps, so these must be the same, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from compiler.proof.structure import Structure
from compiler.proof.terms import Path, bits_of_element, line_of
from compiler.proof.triton_operations import masked_operands
from compiler.ttir_to_numpy.ir import Operation, Value, inside
from compiler.ttir_to_numpy.mlir_types import element_of, shape_of

Form = tuple[object, ...]
_SUMS = frozenset({"arith.addf", "arith.subf", "arith.remf", "math.fma"})
"""Operations that a product may be fused with; a remainder subtracts its quotient's product."""
_PRODUCTS = frozenset({"arith.divf", "arith.mulf", "math.fma"})
"""Operations that are products, or become one: `x / 2.0`, and a fused one with a sum of -0.0."""
_SCALINGS = frozenset({"arith.divf", "arith.mulf"})
"""Operations that become a sum or a negation where an operand is constant: 2.0, 0.5 or -1.0."""
_EXACT = frozenset({"arith.negf", "tt.splat"})
"""Operations between a product and its sum that leave it a product."""
_MOVED = frozenset(
    {"arith.extf", "arith.select", "arith.truncf", "math.absf", "tt.bitcast", "tt.fp_to_fp"}
)
"""Operations that the compiler moves behind the sum, or drops, depending on their other uses."""
_ONE_BLOCK = frozenset(
    {
        "math.absf", "math.exp", "math.exp2", "math.fma", "math.rsqrt", "math.sqrt",
        "tt.addptr", "tt.bitcast", "tt.broadcast", "tt.expand_dims", "tt.fp_to_fp",
        "tt.get_num_programs", "tt.get_program_id", "tt.load", "tt.make_range", "tt.splat",
        "tt.store",
    }
)  # fmt: skip
"""Operations besides those of `arith` that end no basic block; functions of libdevice may."""
_FUNCTIONS_OF_F64 = frozenset({"math.exp", "math.exp2"})
"""Operations that are functions of libdevice for f64 alone."""
_DIVISIONS = frozenset({"arith.divsi", "arith.divui", "arith.remsi", "arith.remui"})
"""A division of 64 bits ends a block: the compiler first tries whether 32 bits are enough."""
_MAX_BITS_OF_DIVISION = 32
_FUNCTIONS_FOR_AMD = frozenset({"math.exp", "math.exp2", "math.rsqrt", "math.sqrt"})
_NAME_OF_FUNCTION = "sym_name"


@dataclass(frozen=True)
class Build:
    """The way to compile two kernels: for a backend of Triton, and with the same options or not."""

    backend: str
    is_alike: bool

    @property
    def branches_at_masks(self) -> bool:
        """True if a masked access may end a basic block; for NVIDIA it is one instruction."""
        return self.backend != "cuda"


@dataclass(frozen=True)
class Fusion:
    """The fusion of the products of a sum, alike in two kernels with equal `uses`.

    `doubt` explains why that also depends on the form of the kernel, "" where it does not.
    `is_moved` holds for a product that the compiler may compute outside of the sum's region.
    """

    uses: Form
    doubt: str = ""
    is_moved: bool = False


@dataclass
class Fusions:
    """The products and sums of one kernel."""

    structure: Structure
    build: Build
    _users: dict[Value, list[Operation]] = field(default_factory=dict)
    _ends: list[int] = field(default_factory=list)
    """The numbers of the operations that may end a basic block."""

    def __post_init__(self) -> None:
        """Note the users of each value."""
        for operation in inside(self.structure.function):
            for operand in operation.operands:
                self._users.setdefault(operand, []).append(operation)
            for _, arguments in operation.successors:
                for argument in arguments:
                    self._users.setdefault(argument, []).append(operation)
            if self._may_end_block(operation):
                self._ends.append(operation.number)

    def of(self, total: Operation) -> Fusion:
        """Return how the products of a sum are fused with it."""
        products = [product for product in map(product_of, total.operands) if product is not None]
        if not is_sum(total) or not products:
            return Fusion(())
        shape = shape_of(total.results[0].type)
        shapes = {tuple(shape_of(product.results[0].type)) for product in products} - {tuple(shape)}
        uses: list[object] = [tuple(shape)] if len(products) > 1 and shapes else []
        doubt, is_moved = "", False
        for product in products:
            users = list(self._users_of(product.results[0]))
            # of two products, the one with fewer uses may be fused
            uses.append(len(users))
            is_moved = is_moved or self._is_moved(product, total)
            if is_moved or self._is_apart(product, users) or not _is_plain(product, total):
                lines = f"line {line_of(product)} and the sum at line {line_of(total)}"
                doubt = (
                    f"the product at {lines} may be fused into one operation in one kernel alone"
                )
        return Fusion(tuple(uses), doubt, is_moved)

    def form(self) -> Form:
        """Return the operations of the kernel, equal in two kernels that are compiled alike.

        A kernel without branches has the same basic blocks for tiles of another size, if masks are
        no branches either.
        """
        structure = self.structure
        operations = sorted(inside(structure.function), key=lambda operation: operation.number)
        is_straight = not self.build.branches_at_masks and not any(
            structure.paths.get(operation) or operation.successors for operation in operations
        )
        attributes = sorted(structure.function.attributes.items())
        hints = [
            attribute
            for attribute in attributes
            if attribute[0] != _NAME_OF_FUNCTION and not is_straight
        ]
        names: dict[Value, object] = {
            parameter: parameter.path or parameter.name or number
            for number, parameter in enumerate(structure.parameters)
        }
        made = (
            _form_of(operation, structure, names, is_straight=is_straight)
            for operation in operations
        )
        return (tuple(hints), *made)

    def _may_end_block(self, operation: Operation) -> bool:
        is_masked = masked_operands(operation)[0] is not None
        is_for_amd = is_masked or operation.name in _FUNCTIONS_FOR_AMD
        return (self.build.branches_at_masks and is_for_amd) or _may_end_block(operation)

    def _users_of(self, value: Value) -> Iterator[Operation]:
        pending = [value]
        while pending:
            for user in self._users.get(pending.pop(), ()):
                yield user
                if user.name in _EXACT | _MOVED:
                    pending += user.results

    def _is_apart(self, product: Operation, users: list[Operation]) -> bool:
        """Return whether a use may be in another basic block."""
        path = self.structure.paths[product]
        last = max(user.number for user in users)
        return any(self.structure.paths.get(user) != path for user in users) or any(
            product.number < end < last for end in self._ends
        )

    def _is_moved(self, product: Operation, total: Operation) -> bool:
        """Return whether a product is outside of the region of its sum, or may be moved there.

        The compiler moves out of a loop what no turn changes.
        """
        structure = self.structure
        path = structure.paths[total]
        is_moved = bool(structure.loops_around(total)) and not _loads_at(product, path, structure)
        return structure.paths[product] != path or is_moved


def product_of(value: Value) -> Operation | None:
    """Return the product that a value is, or may become, in every lane, None for another value."""
    pending, seen = [value], set[Operation]()
    while pending:
        operation = pending.pop().made_by
        if operation is None or operation in seen:
            continue
        seen.add(operation)
        if operation.name in _PRODUCTS or _is_function(operation):
            return operation
        if operation.name in _EXACT | _MOVED:
            pending += operation.operands
    return None


def _is_plain(product: Operation, total: Operation) -> bool:
    """Return whether a product stays one, and its sum uses it as it is, whatever else does."""
    if all(_is_absolute(operand) for operand in product.operands):  # |a| * |b| becomes |a * b|
        return False
    for value in total.operands:
        operation = value.made_by
        while operation is not None and operation.name in _EXACT:
            operation = operation.operands[0].made_by
        if operation is product:
            return True
    return False


def _is_absolute(value: Value) -> bool:
    return value.made_by is not None and value.made_by.name == "math.absf"


def is_sum(operation: Operation) -> bool:
    """Return whether the compiler may fuse a product with an operation that uses it."""
    if operation.name in _SCALINGS:
        return any(map(_is_constant, operation.operands))
    return operation.name in _SUMS or _is_function(operation)


def _is_constant(value: Value) -> bool:
    operation = value.made_by
    while operation is not None and operation.name == "tt.splat":
        operation = operation.operands[0].made_by
    return operation is not None and operation.name == "arith.constant"


def _is_function(operation: Operation) -> bool:
    """Return whether an operation is, or may be, a function of libdevice."""
    name = operation.name
    if name in _FUNCTIONS_OF_F64:
        return element_of(operation.results[0].type) == "f64"
    return name == "tt.extern_elementwise" or (name.startswith("math.") and name not in _ONE_BLOCK)


def _may_end_block(operation: Operation) -> bool:
    if operation.name in _DIVISIONS:
        return bits_of_element(element_of(operation.results[0].type)) > _MAX_BITS_OF_DIVISION
    is_in_block = operation.name.startswith("arith.") or operation.name in _ONE_BLOCK
    return not is_in_block or _is_function(operation)


def _form_of(
    operation: Operation, structure: Structure, names: dict[Value, object], *, is_straight: bool
) -> Form:
    types = [result.type for result in operation.results]
    attributes = sorted(operation.attributes.items())
    if is_straight:
        types = [element_of(type_) for type_ in types]
        is_index = any(type_.startswith(("i", "index")) for type_ in types)
        if operation.name in ("arith.constant", "tt.make_range") and is_index:
            attributes = []
        elif operation.name == "arith.constant":  # without its type, which has the tile's size
            attributes = [(key, text.split(" :")[0]) for key, text in attributes]
    operands = tuple(names.setdefault(operand, len(names)) for operand in operation.operands)
    successors = tuple(
        (label, tuple(names.setdefault(argument, len(names)) for argument in arguments))
        for label, arguments in operation.successors
    )
    path = tuple((kind, where) for kind, _, where in structure.paths.get(operation, ()))
    return (operation.name, path, operands, successors, tuple(types), tuple(attributes))


def _loads_at(operation: Operation, path: Path, structure: Structure) -> bool:
    """Return whether something is loaded in the region `path` for an operation."""
    pending, seen = [operation], {operation}
    while pending:
        inner = pending.pop()
        if inner.name == "tt.load" and structure.paths[inner] == path:
            return True
        made = (operand.made_by for operand in inner.operands)
        new = {source for source in made if source is not None and source not in seen}
        seen |= new
        pending += new
    return False
