"""Reads the element types of pointers from the uses of what is loaded and stored."""

import ast
from collections.abc import Mapping

from compiler.reading.proposals.address_roots import AddressRoots, is_access
from compiler.reading.proposals.clues import DTYPES, Clue, Strength, UseClues
from compiler.reading.proposals.parsed_function import ParsedFunction, argument
from compiler.reading.proposals.value_kinds import ValueKinds

_INTEGERS_OF = {
    "range": "is a bound of a loop",
    "static_range": "is a bound of a loop",
    "cdiv": "stands in tl.cdiv",
}
_SAID = {"int": "an integer", "bool": "a condition"}
_OF_BITS = (ast.LShift, ast.RShift, ast.BitXor)


class ElementUses:
    """The uses in one function; `addresses` says which pointers a load reads from."""

    def __init__(self, function: ParsedFunction, addresses: AddressRoots) -> None:
        self._function = function
        self._addresses = addresses

    def note(self) -> None:
        """Note what each node says by itself."""
        for node in self._function.nodes:
            if isinstance(node, ast.Call):
                self._call(node, self._function.callee(node))
            else:
                self._operation(node)

    def _call(self, call: ast.Call, name: str) -> None:
        if name == ".to" and call.args and isinstance(call.func, ast.Attribute):
            self._cast(call.func.value, call.args[0])
        elif name in _INTEGERS_OF:
            for part in call.args:
                self._addresses.integer(part, _INTEGERS_OF[name])
        elif name == "dot" and len(call.args) > 1:
            self._multiplied(call.args[0], call.args[1])
            self._multiplied(call.args[1], call.args[0])
        elif name == "where" and call.args:
            self._are(call.args[0], "i1", "is a condition", Strength.STRONG)
        elif is_access(name):
            mask = next((word.value for word in call.keywords if word.arg == "mask"), None)
            if mask is not None:
                self._are(mask, "i1", "is a mask", Strength.STRONG)

    def _operation(self, node: ast.AST) -> None:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OF_BITS):
                for part in (left, right):
                    self._are(part, "i32", "is an operand of bits", Strength.LIKELY)
            case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod()):
                self._are(left, "i32", "is divided as an integer", Strength.LIKELY)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                self._equals(left, right)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                if any(map(_is_integer, self._function.values[name])):
                    self._are(value, "i32", "is added to an integer", Strength.LIKELY)
            case ast.If(test=ast.Name() as test):
                self._are(test, "i32", "is a condition", Strength.WEAK)

    def _cast(self, value: ast.expr, dtype: ast.expr) -> None:
        named = self._function.dtype(dtype)
        if named in DTYPES:
            self._are(value, DTYPES[named], "is cast to this type", Strength.CERTAIN)
        elif isinstance(dtype, ast.Call) and self._function.callee(dtype) == "pointer_type":
            self._are(value, "i64", "is cast to a pointer", Strength.CERTAIN)

    def _multiplied(self, one: ast.expr, other: ast.expr) -> None:
        """Note that `tl.dot(one, other)` needs both to be of one type."""
        values = self._function.values.get(other.id, []) if isinstance(other, ast.Name) else [other]
        for value in values:
            match value:
                case ast.Call(func=ast.Attribute(attr="to"), args=[dtype, *_]):
                    named = self._function.dtype(dtype) or ""
                    if named in DTYPES:
                        reason = "is multiplied with this type"
                        self._are(one, DTYPES[named], reason, Strength.STRONG)

    def _equals(self, left: ast.expr, right: ast.expr) -> None:
        for one, other in ((left, right), (right, left)):
            constant = other.operand if isinstance(other, ast.UnaryOp) else other
            if _is_integer(constant) and not _is_zero(constant):
                self._are(one, "i32", "is compared with an integer", Strength.LIKELY)

    def _are(self, node: ast.expr, implied: str, reason: str, strength: Strength) -> None:
        for load in self._addresses.loads(node):
            self._addresses.elements_are(load, implied, f"what it loads {reason}", strength)

    def compared(self, kinds: ValueKinds) -> None:
        """Note the loads that are compared with integers."""
        for node in self._function.nodes:
            match node:
                case ast.Compare(left=left, comparators=[right]):
                    for one, other in ((left, right), (right, left)):
                        if kinds.of(other) == "int" and not _is_number(other):
                            reason = "is compared with an integer"
                            self._are(one, "i32", reason, Strength.LIKELY)

    def stored(self, kinds: ValueKinds, evidence: Mapping[str, UseClues]) -> None:
        """Note the element types of what is stored."""
        for call in self._function.calls:
            name = self._function.callee(call)
            pointer, value = argument(call, 0, "pointer"), argument(call, 1, "value")
            if pointer is None or not (name == "store" or name.startswith("atomic_")):
                continue
            implied, reason, strength = self._stored(name, value, kinds)
            for root in self._addresses.roots(pointer) if implied else ():
                clue = Clue(implied, call.lineno, reason, strength)
                evidence[root].element.append(clue)

    def _stored(
        self, name: str, value: ast.expr | None, kinds: ValueKinds
    ) -> tuple[str, str, Strength]:
        if name in {"atomic_cas", "atomic_and", "atomic_or", "atomic_xor", "atomic_xchg"}:
            return "i32", f"tl.{name} takes integers", Strength.LIKELY
        if isinstance(value, ast.Call) and self._function.callee(value) == ".to" and value.args:
            named = self._function.dtype(value.args[0])
            if named in DTYPES:
                return DTYPES[named], "what it stores is cast to this type", Strength.LIKELY
        kind = None if isinstance(value, ast.Constant) else kinds.of(value)
        if kind == "float":
            return "fp32", "what it stores is a float", Strength.LIKELY
        implied = {"int": "i32", "bool": "i1"}.get(kind or "", "")
        said = _SAID.get(kind or "")
        return implied, f"what it stores is {said}", Strength.WEAK


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _is_number(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
