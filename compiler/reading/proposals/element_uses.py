"""Reads the element types of pointers from the uses of loaded and stored values."""

import ast
from collections.abc import Mapping

from compiler.reading.proposals.address_roots import AddressRoots, is_access
from compiler.reading.proposals.clues import DTYPES, INTEGERS, Clue, Strength, UseClues
from compiler.reading.proposals.parsed_function import ParsedFunction, argument
from compiler.reading.proposals.value_kinds import ValueKinds

_INTEGERS_OF = {
    "range": "is a bound of a loop",
    "static_range": "is a bound of a loop",
    "cdiv": "is used in tl.cdiv",
}
SEEDED = frozenset({"rand", "randn", "randint", "rand4x", "randn4x", "randint4x", "philox"})
MAX_NAMES = 100
_SAID = {"int": "an integer", "bool": "a condition"}
_OF_BITS = (ast.LShift, ast.RShift, ast.BitXor, ast.BitAnd, ast.BitOr)
_OF_CONDITIONS = (ast.BitAnd, ast.BitOr)


class ElementUses:
    """The uses in one function; `addresses` finds which pointers a load reads from."""

    def __init__(self, function: ParsedFunction, addresses: AddressRoots) -> None:
        self._function = function
        self._addresses = addresses

    def note(self) -> None:
        """Note what each node shows by itself."""
        for node in self._function.nodes:
            if isinstance(node, ast.Call):
                self._call(node, self._function.callee(node))
            else:
                self._operation(node)
                self._loop(node)

    def _loop(self, node: ast.AST) -> None:
        """Note that a name which is an integer before a loop is one in it, as Triton demands."""
        if not isinstance(node, ast.For | ast.While):
            return
        for values in self._function.values.values():
            before = [value for value in values if value.lineno < node.lineno]
            carried = [v for v in values if node.lineno < v.lineno <= (node.end_lineno or 0)]
            if not before or not carried or not self._is_integer_value(before[-1]):
                continue
            for value in carried:
                self._addresses.integer_elements(value, "is carried by a loop as an integer")

    def _is_integer_value(self, value: ast.expr) -> bool:
        """Return whether `value` is `0`, or made with a type such as `tl.cast(0, tl.int64)`."""
        if not isinstance(value, ast.Call):
            return _is_integer(value)
        index = {".to": 0, "cast": 1, "full": 2, "zeros": 1}.get(self._function.callee(value))
        dtype = argument(value, index, "dtype") if index is not None else None
        return self._function.dtype(dtype) in INTEGERS

    def _call(self, call: ast.Call, name: str) -> None:
        if name == ".to" and call.args and isinstance(call.func, ast.Attribute):
            self._cast(call.func.value, call.args[0])
        elif name in _INTEGERS_OF:
            for part in call.args:
                self._addresses.integer(part, _INTEGERS_OF[name])
        elif name in SEEDED and call.args:
            self._integers(call.args[0], "is a seed")
        elif name == "dot" and len(call.args) > 1:
            self._multiplied(call.args[0], call.args[1])
            self._multiplied(call.args[1], call.args[0])
            self._accumulated(call, argument(call, 2, "acc"))
        elif name == "where" and call.args:
            self._are_conditions(call.args[0], "is a condition", Strength.STRONG)
        elif name == "static_assert" and call.args:
            self._asserted(call.args[0])
        elif is_access(name):
            mask = next((word.value for word in call.keywords if word.arg == "mask"), None)
            if mask is not None:
                self._are_conditions(mask, "is a mask", Strength.CERTAIN)

    def _operation(self, node: ast.AST) -> None:
        match node:
            case ast.BinOp():
                self._combined(node)
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]):
                self._equals(left, right)
            case ast.AugAssign(target=ast.Name() as name, op=ast.Add(), value=value):
                if isinstance(value, ast.Call) and self._function.callee(value) == "dot":
                    self._accumulated(value, name)
                elif any(map(_is_integer, self._function.values[name.id])):
                    self._are(value, "i32", "is added to an integer", Strength.LIKELY)
            case ast.UnaryOp(op=ast.Not(), operand=negated):
                self._are(negated, "i1", "is negated by `not`", Strength.LIKELY)
            case ast.If(test=ast.Name() as test):
                self._are(test, "i32", "is a condition", Strength.WEAK)

    def _combined(self, node: ast.BinOp) -> None:
        """Note the operands of `//`, `%` and bits, which are integers, or of `&` on conditions."""
        op, is_float = node.op, _is_float(node.right)
        if isinstance(op, ast.FloorDiv | ast.Mod) and not is_float:
            for part in (node.left, node.right):
                self._integers(part, "is divided as an integer")
        elif isinstance(op, _OF_BITS):
            for operand, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(op, _OF_CONDITIONS) and self._is_condition(other):
                    self._are(operand, "i1", "is combined with a condition", Strength.LIKELY)
                else:
                    self._integers(operand, "is an operand of bits")

    def _cast(self, value: ast.expr, dtype: ast.expr) -> None:
        named = self._function.dtype(dtype)
        if named in DTYPES:
            self._are(value, DTYPES[named], "is cast to this type", Strength.CERTAIN)
        elif isinstance(dtype, ast.Call) and self._function.callee(dtype) == "pointer_type":
            self._are(value, "i64", "is cast to a pointer", Strength.CERTAIN)

    def _asserted(self, condition: ast.expr) -> None:
        """Note the type in `tl.static_assert(x.dtype == tl.int8)`."""
        match condition:
            case ast.Compare(
                left=ast.Attribute(value=value, attr="dtype"), ops=[ast.Eq()], comparators=[dtype]
            ):
                if (named := self._function.dtype(dtype)) in DTYPES:
                    self._are(value, DTYPES[named], "is asserted to be", Strength.CERTAIN)

    def _multiplied(self, operand: ast.expr, other: ast.expr) -> None:
        """Note that `tl.dot(one, other)` needs both to be of one type."""
        values = self._function.values.get(other.id, []) if isinstance(other, ast.Name) else [other]
        for value in values:
            match value:
                case ast.Call(func=ast.Attribute(attr="to"), args=[dtype, *_]):
                    named = self._function.dtype(dtype) or ""
                    if named in DTYPES:
                        reason = "is multiplied with this type"
                        self._are(operand, DTYPES[named], reason, Strength.STRONG)

    def _accumulated(self, dot: ast.Call, into: ast.expr | None) -> None:
        """Note that `acc = tl.dot(a, b, acc)` with integers in `acc` multiplies integers."""
        assigned = self._function.values.get(into.id, []) if isinstance(into, ast.Name) else []
        filled = [value for value in assigned if isinstance(value, ast.Call)]
        index = {"zeros": 1, "full": 2}
        dtypes = [
            argument(call, index[name], "dtype")
            for call in filled
            if (name := self._function.callee(call)) in index
        ]
        dtypes.append(argument(dot, 99, "out_dtype"))
        if any(self._function.dtype(dtype) in INTEGERS for dtype in dtypes):
            for operand in dot.args[:2]:
                reason = "is multiplied into an accumulator of integers"
                self._are(operand, "i8", reason, Strength.STRONG)

    def _equals(self, left: ast.expr, right: ast.expr) -> None:
        for operand, other in ((left, right), (right, left)):
            constant = other.operand if isinstance(other, ast.UnaryOp) else other
            if _is_integer(constant) and not _is_zero(constant):
                self._are(operand, "i32", "is compared with an integer", Strength.LIKELY)

    def _integers(self, node: ast.expr, reason: str) -> None:
        """Note that what is loaded, or computed from it by integer operations, is an integer."""
        self._are(node, "i32", reason, Strength.LIKELY)
        self._addresses.integer_elements(node, reason)

    def _are_conditions(self, node: ast.expr, reason: str, strength: Strength) -> None:
        """Note that `node`, and the operands of its `&` and `|`, are booleans."""
        waiting = [node]
        names: set[str] = set()
        while waiting:
            match waiting.pop():
                case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OF_CONDITIONS):
                    waiting += [left, right]
                case ast.Subscript(value=value):
                    waiting.append(value)
                case ast.Name(id=name) if name not in names and len(names) < MAX_NAMES:
                    names.add(name)
                    waiting += self._function.values.get(name, ())
                case ast.Call() as call:
                    self._are(call, "i1", reason, strength)

    def _is_condition(self, node: ast.expr, depth: int = 0) -> bool:
        """Return whether `node` is a comparison, or combines some."""
        match node:
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return True
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OF_CONDITIONS):
                return depth < 3 and any(self._is_condition(p, depth + 1) for p in (left, right))
            case ast.Name(id=name) if depth < 3:
                values = self._function.values.get(name, [])[:4]
                return any(self._is_condition(value, depth + 1) for value in values)
            case ast.Subscript(value=value) if depth < 3:
                return self._is_condition(value, depth + 1)
        return False

    def _are(self, node: ast.expr, implied: str, reason: str, strength: Strength) -> None:
        for load in self._addresses.loads(node):
            self._addresses.elements_are(load, implied, f"what it loads {reason}", strength)

    def compared(self, kinds: ValueKinds) -> None:
        """Note the loads that are compared with integers."""
        for node in self._function.nodes:
            match node:
                case ast.Compare(left=left, comparators=[right]):
                    for operand, other in ((left, right), (right, left)):
                        if kinds.of(other) == "int" and not _is_number(other):
                            reason = "is compared with an integer"
                            self._are(operand, "i32", reason, Strength.LIKELY)

    def stored(self, kinds: ValueKinds, evidence: Mapping[str, UseClues]) -> None:
        """Note the element types of stored values."""
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
        described = _SAID.get(kind or "")
        return implied, f"what it stores is {described}", Strength.WEAK


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _is_float(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is float


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _is_number(node: ast.expr) -> bool:
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)
