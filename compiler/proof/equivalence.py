"""Shows that two elementwise kernels store the same values, for all sizes.

Each kernel has one store. Its value is a tree of operations over loads, each at a distance from the
stored element that is the same in both kernels; and both kernels store every element of the buffer,
and nothing beyond. Names with a `#` are one kernel's own, so they are never compared. Floats are
not reordered: sums of several elements are never compared. It shows equality or nothing; it never
shows a difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from compiler.proof.access_reader import accesses_of, lanes
from compiler.proof.ending import MayNotEnd, ends, refuse_while_loops
from compiler.proof.fusion import Build, Form, Fusions, is_sum, product_of
from compiler.proof.linear import LinearProver
from compiler.proof.logic import (
    TRUE,
    Formula,
    at_least,
    both,
    equal,
    names_of,
    renamed,
    replaced,
)
from compiler.proof.obligations import Conclusion, Prover, Statements
from compiler.proof.polynomial import Polynomial, lift, name
from compiler.proof.proof_limits import MAX_TERMS_READ, ProofLimitReached, Unsupported
from compiler.proof.terms import Indices, SymbolicAccess, UnreadAccess, line_of
from compiler.proof.triton_operations import masked_operands
from compiler.proof.witness import is_satisfiable
from compiler.ttir_to_numpy.ir import Operation, Value
from compiler.ttir_to_numpy.mlir_types import element_of, shape_of

_COMMUTING = frozenset(
    {"arith.addf", "arith.mulf", "arith.addi", "arith.muli", "arith.maxnumf", "arith.minnumf"}
)
_MOVING = ("program#", "lane", "turn")
_ELEMENTWISE = frozenset(
    {
        "tt.bitcast", "tt.clampf", "tt.fp_to_fp", "tt.mulhiui", "tt.precise_divf",
        "tt.precise_sqrt",
    }
)  # fmt: skip
"""Operations besides those of `arith` and `math` whose result depends on their operands alone."""

Tree = tuple[object, ...]


class NotComparable(Exception):
    """A kernel that is not elementwise, or not read; the message explains why."""


@dataclass(frozen=True)
class StoredValues:
    """A kernel's only store: its buffer, the tree of its values, and that it stores all of them."""

    store: SymbolicAccess
    base: str
    tree: Tree
    extent: Polynomial
    under: Statements
    doubt: str = ""
    form: Form = ()
    """The form of the kernel, where in `doubt` only an equal one stores equal values."""


def equivalent(a: Prover, b: Prover, build: Build) -> Conclusion:
    """Compare two kernels: "proved" or "unknown". Raises ProofLimitReached."""
    try:
        first, other = stored_values(a, build), stored_values(b, build)
    except (NotComparable, MayNotEnd, Unsupported) as error:
        return Conclusion("unknown", reason=str(error))
    reason = _difference(first, other, build)
    under = first.under | other.under
    if not reason:
        try:
            under |= _stores(a, first) | _stores(b, other)
        except (NotComparable, MayNotEnd, Unsupported) as error:
            reason = str(error)
    if not reason and not _is_any_size_shared(a, first.store, b, other.store):
        reason = "no sizes that keep both contracts were found to reach the stores"
    if reason:
        return Conclusion("unknown", reason=reason)
    return Conclusion("proved", under)


def _difference(first: StoredValues, other: StoredValues, build: Build) -> str:
    """Return why two kernels may store other values, "" if they do not."""
    if first.base != other.base:
        return f"one stores {first.base}, the other {other.base}"
    if first.extent != other.extent:
        return f"{first.base} has another extent in each contract"
    if first.tree != other.tree:
        return "their values are computed by different operations"
    is_alike = build.is_alike or not build.branches_at_masks
    return "" if is_alike and first.form == other.form else first.doubt or other.doubt


def _stores(prover: Prover, values: StoredValues) -> Statements:
    """Return what shows that the store runs wherever its buffer has elements.

    Raises NotComparable, MayNotEnd, Unsupported, ProofLimitReached.
    """
    facts = [fact for fact in prover.contract.facts if not fact.of_programs]
    linear = LinearProver(prover.unknowns, facts, prover.contract.written)
    before = replace(prover, linear=linear, _shown={}, _checked={}, _reached={})
    under = Statements()
    for size in prover.contract.grid:
        shown = before.shown(at_least(size, 1), [at_least(values.extent, 1)])
        if shown is None:
            raise NotComparable("the grid may be empty: nothing is stored then")
        under |= shown
    for access in accesses_of(prover.evaluator):  # one that faults ends the launch
        inside = None if isinstance(access, UnreadAccess) else prover.bounds(access)
        if inside is None or inside.verdict != "proved":
            line = line_of(access.operation)
            raise NotComparable(f"the access at line {line} is not proved to stay in bounds")
        under |= inside.under
    return under | ends(prover)


def _is_any_size_shared(a: Prover, store: SymbolicAccess, b: Prover, other: SymbolicAccess) -> bool:
    """Return whether both kernels store for some sizes: a proof about none would say nothing."""

    def in_second(text: str) -> str:
        return f"{text}'" if "#" in text else text

    of_other = [renamed(formula, in_second) for formula in b.reaching(other)]
    sizes = list(dict.fromkeys([*a.contract.sizes, *b.contract.sizes]))
    return is_satisfiable([*a.reaching(store), *of_other], sizes, a.linear.effort)


def stored_values(prover: Prover, build: Build) -> StoredValues:
    """Return what a kernel stores.

    Raises NotComparable, MayNotEnd, Unsupported, ProofLimitReached.
    """
    refuse_while_loops(prover)
    accesses = accesses_of(prover.evaluator)
    writes = [access for access in accesses if access.kind != "load"]
    if len(writes) != 1 or isinstance(writes[0], UnreadAccess) or writes[0].kind != "store":
        raise NotComparable("only kernels with one store and no atomic operation are compared")
    store = writes[0]
    cases = store.pointer.cases
    if len(cases) != 1 or not isinstance(cases[0].base, str):
        raise NotComparable("the store is not to a single argument")
    base, offset = cases[0].base, cases[0].offset
    extent = prover.contract.extents.get(base)
    if extent is None:
        raise NotComparable(f"the contract does not say how many elements {base} has")
    if _has_own_names(extent):
        raise NotComparable(f"the extent of {base} is not a sum of products of sizes")
    inside = prover.bounds(store)
    if inside.verdict != "proved":
        raise NotComparable(f"the store to {base} is not proved to stay in bounds")
    conditions = [condition for condition in (store.path, store.mask) if condition != TRUE]
    fusions = Fusions(prover.evaluator.structure, build)
    reader = _TreeReader(prover, base, offset, conditions, fusions)
    value = store.operation.operands[1]
    tree = reader.tree(value, lanes(prover.unknowns, shape_of(value.type)))
    under = _covers(prover, store, offset, extent)
    for access in accesses:
        finding = None if isinstance(access, UnreadAccess) else prover.overflow(access)
        if finding is None or finding.verdict != "proved":
            line = line_of(access.operation)
            raise NotComparable(f"the integers of the access at line {line} are not proved exact")
        under |= finding.under
    under |= inside.under | reader.under | prover.choices()
    form = fusions.form() if reader.doubt else ()
    return StoredValues(store, base, tree, extent, under, reader.doubt, form)


def _is_elementwise(operation: Operation) -> bool:
    if operation.regions or len(operation.results) != 1:
        return False
    if operation.name == "tt.extern_elementwise":
        return operation.attributes.get("pure") == "true"
    return operation.name.startswith(("arith.", "math.")) or operation.name in _ELEMENTWISE


def _has_own_names(polynomial: Polynomial) -> bool:
    """Return True for names whose meaning is known in one kernel only: lanes, quotients."""
    return any("#" in text for text in polynomial.names)


@dataclass
class _TreeReader:
    prover: Prover
    base: str
    offset: Polynomial
    conditions: list[Formula]
    fusions: Fusions
    under: Statements = frozenset()
    doubt: str = ""
    """Why a sum may be fused in one kernel alone, "" where none may."""
    _read: int = 0

    def tree(self, value: Value, at: Indices) -> Tree:
        """Return the operations that make `value`, loads relative to the stored element."""
        self._read += 1
        if self._read > MAX_TERMS_READ:
            raise ProofLimitReached("the stored value has too many operations")
        operation = value.made_by
        if operation is None:
            return self._argument(value)
        match operation.name:
            case "tt.load":
                return self._load(operation, value, at)
            case "arith.constant":  # arith.constant dense<0.000000e+00> : tensor<64xf32>
                words = operation.attributes.get("value", "").split(" :")[0]
                words = words.removeprefix("dense<").rstrip(">")
                if words.startswith(("[", '"')):
                    raise NotComparable(
                        f"cannot read a constant of several values at line {line_of(operation)}"
                    )
                return ("constant", element_of(value.type), words)
            case "tt.splat":  # tt.splat %scale : f32 -> tensor<64xf32>
                return self.tree(operation.operands[0], ())
        return self._computed(operation, value, at)

    def _computed(self, operation: Operation, value: Value, at: Indices) -> Tree:
        if not _is_elementwise(operation):
            raise NotComparable(
                f"cannot read {operation.name} in a stored value at line {line_of(operation)}"
            )
        parts = [
            self.tree(operand, at if shape_of(operand.type) else ())
            for operand in operation.operands
        ]
        fusion = self.fusions.of(operation)
        if fusion.is_moved:
            raise NotComparable(fusion.doubt)
        self.doubt = self.doubt or fusion.doubt
        # of two products, the compiler fuses the first with their sum
        if operation.name in _COMMUTING and not (
            is_sum(operation)
            and all(product_of(operand) is not None for operand in operation.operands)
        ):
            parts.sort(key=repr)
        attributes = (*sorted(operation.attributes.items()), *fusion.uses)
        return ("operation", operation.name, element_of(value.type), attributes, tuple(parts))

    def _argument(self, value: Value) -> Tree:
        owner = self.prover.evaluator.structure.owners[value]
        if owner.kind != "function":
            raise NotComparable("cannot read a stored value that a loop carries")
        path = value.path or value.name
        if not path:
            raise NotComparable("cannot read an argument without a name in a stored value")
        return ("argument", path, value.type)

    def _load(self, operation: Operation, value: Value, at: Indices) -> Tree:
        address = operation.operands[0]
        evaluator = self.prover.evaluator
        pointer = evaluator.pointer(address, at if shape_of(address.type) else ())
        [case, *others] = pointer.cases
        if others or not isinstance(case.base, str):
            raise NotComparable(
                f"cannot read a load of several arguments at line {line_of(operation)}"
            )
        if case.base == self.base:
            raise NotComparable(f"{self.base} is loaded and stored")
        mask, _ = masked_operands(operation)
        if mask is not None:
            live = evaluator.truth(mask, at if shape_of(mask.type) else ())
            shown = self.prover.shown(live, self.conditions)
            if shown is None:
                line = line_of(operation)
                raise NotComparable(f"the load at line {line} may be masked where the store is not")
            self.under |= shown
        distance = case.offset - self.offset
        if _has_own_names(distance):
            line = line_of(operation)
            raise NotComparable(f"the load at line {line} is at no fixed distance from the store")
        return ("load", case.base, distance, element_of(value.type))


def _covers(
    prover: Prover, store: SymbolicAccess, offset: Polynomial, extent: Polynomial
) -> Statements:
    """Return what shows that each element is stored. Raises NotComparable.

    Element k is stored by the program, lane and turn that are its digits, in the radix that the
    offset has.
    """
    unknowns = prover.unknowns
    text = unknowns.fresh("element")
    k = name(text)
    unknowns.known[text].facts = [at_least(k), at_least(extent, k + 1)]
    moving = [
        coordinate
        for coordinate in offset.names
        if "#" in coordinate and coordinate.startswith(_MOVING)
    ]
    radix = {
        coordinate: Polynomial(
            {
                tuple(x for x in monomial if x != coordinate): factor
                for monomial, factor in offset.terms.items()
                if coordinate in monomial
            }
        )
        for coordinate in moving
    }
    order = sorted(moving, key=lambda n: (radix[n].degree, radix[n].constant or 0), reverse=True)
    rest, digits = k, dict[str, Polynomial]()
    for coordinate in order:
        if radix[coordinate].constant == 1:
            digits[coordinate], rest = rest, lift(0)
            continue
        quotient = unknowns.quotient(rest, radix[coordinate], floor=True)
        digits[coordinate], rest = quotient, rest - radix[coordinate] * quotient
    known = [
        ground.formula
        for coordinate in moving
        for ground in prover.linear.statements.of_name(coordinate)
    ]
    goal = both(*known, store.path, store.mask, equal(offset, k))
    for coordinate, digit in digits.items():
        goal = replaced(goal, coordinate, digit)
    left = {coordinate for coordinate in names_of(goal) if coordinate in digits}
    shown = None if left else prover.shown(goal, ())
    if shown is None:
        raise NotComparable("nothing shows that every element is stored")
    return shown
