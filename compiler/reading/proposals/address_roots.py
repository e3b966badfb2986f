"""Follows addresses: which parameter a `tl.load` starts from, and what is added to it."""

import ast
from collections.abc import Iterator

from compiler.reading.proposals.clues import DTYPES, Clue, Strength, UseClues
from compiler.reading.proposals.parsed_function import MAX_DEPTH, ParsedFunction, argument

ACCESSES = frozenset(
    {"load", "store", "make_block_ptr", "make_tensor_descriptor", "prefetch", "async_load"}
)
SAME_VALUE = frozenset(
    {"multiple_of", "max_contiguous", "max_constancy", "broadcast_to", "advance", "reshape",
     "view", "trans", "expand_dims", "assume_aligned"}
)  # fmt: skip
DESCRIBED = frozenset({".load", ".store", ".gather", ".scatter"})
_NOT_OF_POINTERS = (
    ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd,
)  # fmt: skip
_COUNTS = frozenset({"range", "static_range", "cdiv", "arange", "program_id", "minimum", "maximum"})
_REDUCED = frozenset({"max", "min", "sum", "cumsum", "abs"})
_INTEGER_CALLS = _COUNTS | SAME_VALUE | _REDUCED | {"load", ".load", ".to", "where"}
_POINTER_NAME = ("ptr", "pointer")
MAX_CANDIDATE_STEPS = 200


def is_access(name: str) -> bool:
    """Return whether a function of Triton's reads or writes at its first argument."""
    return name in ACCESSES or name.startswith("atomic_")


class AddressRoots:
    """The addresses of one function; `evidence` gets what they imply."""

    def __init__(self, function: ParsedFunction, evidence: dict[str, UseClues]) -> None:
        self._function = function
        self._evidence = evidence
        self._never = _never_pointers(function)
        self._certain = frozenset(self._only_candidates())
        self._is_first: dict[str, bool] = {}
        self._roots: dict[str, frozenset[str]] = {}
        self._known: dict[int, frozenset[str]] = {}
        self._is_seen: set[tuple[str, str]] = set()

    def follow(self, node: ast.expr, line: int, reason: str) -> frozenset[str]:
        """Note that `node` is an address that `line` uses; return the parameters it starts from."""
        roots = self.roots(node)
        for name in roots:
            self._evidence[name].pointer.append(Clue("pointer", line, reason))
        self._split(node, 0)
        return roots

    def roots(self, node: ast.expr, depth: int = 0) -> frozenset[str]:
        """Return the parameters that an address starts from; nothing for an integer."""
        if depth > MAX_DEPTH:
            return frozenset()
        if isinstance(node, ast.Name):
            return self._roots_of_name(node.id, depth)
        if id(node) not in self._known:
            bases = self._bases(node, depth + 1)
            roots = (self.roots(part, depth + 1) for part in bases)
            self._known[id(node)] = frozenset().union(*roots)
        return self._known[id(node)]

    def _roots_of_name(self, name: str, depth: int) -> frozenset[str]:
        if name not in self._roots:
            is_own = name in self._function.parameters and name not in self._never
            self._roots[name] = frozenset({name} if is_own else ())  # a loop ends here
            for value in self._function.values.get(name, ()):
                # one by one: `p += stride` needs what `p` was before
                self._roots[name] |= self.roots(value, depth + 1)
        return self._roots[name]

    def _bases(self, node: ast.expr, depth: int) -> list[ast.expr]:
        """Return the operands that an address may start from."""
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                return [self._base_of_sum(left, right, depth)]
            case ast.Subscript(value=value):
                return [value]
            case ast.IfExp(body=body, orelse=other):
                return [body, other]
            case ast.Call(args=[first, *_]) if self._function.callee(node) in SAME_VALUE:
                return [first]
            case ast.Call() if self._function.callee(node) == "where":
                return node.args[1:]
            case ast.Call() if self._function.callee(node) in ACCESSES - {"load", "store"}:
                base = argument(node, 0, "base")
                return [base] if base is not None else []
            case ast.Call(func=ast.Attribute(value=value, attr="to")):
                return [value]
            case ast.Call(args=[first, *_]) if self._function.callee(node) == "cast":
                return [first]
        return []

    def _base_of_sum(self, left: ast.expr, right: ast.expr, depth: int) -> ast.expr:
        """Return the operand that is the address; names decide only between two parameters."""
        of_left, of_right = self.roots(left, depth), self.roots(right, depth)
        if not of_left or not of_right:
            return right if of_right else left
        is_certain = [bool(roots & self._certain) for roots in (of_left, of_right)]
        if is_certain[0] != is_certain[1]:
            return left if is_certain[0] else right
        if self._is_parameter(left) and self._is_parameter(right):
            is_right = _is_integer_like(of_left) and not _is_integer_like(of_right)
        else:  # in `x + 4 * row + start` the address is first
            is_right = not self._is_base_first(left, depth) and self._is_base_first(right, depth)
        return right if is_right else left

    def _is_parameter(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id not in self._function.values

    def _is_base_first(self, node: ast.expr, depth: int) -> bool:
        """Return whether a sum starts with an address, not with an offset that one is added to."""
        if depth > MAX_DEPTH or not self.roots(node, depth):
            return False
        match node:
            case ast.BinOp(left=left):
                return self._is_base_first(left, depth + 1)
            case ast.Name(id=name) if not self._is_parameter(node):
                if name not in self._is_first:
                    self._is_first[name] = True  # a loop ends here
                    values = [v for v in self._function.values[name] if not _reads(v, name)]
                    self._is_first[name] = all(self._is_base_first(v, depth + 1) for v in values)
                return self._is_first[name]
        return True

    def _only_candidates(self) -> Iterator[str]:
        """Yield the parameters that alone can be the address of some access."""
        for call in self._function.calls:
            if is_access(self._function.callee(call)):
                pointer = argument(call, 0, "pointer") or argument(call, 0, "base")
                names = self._candidates(pointer) if pointer is not None else set()
                if len(names) == 1:
                    yield from names

    def _candidates(self, pointer: ast.expr) -> set[str]:
        """Return the parameters that `pointer` may start from, whichever operands are addresses.

        Returns none if the expression is too long.
        """
        candidates: set[str] = set()
        waiting: list[ast.expr] = [pointer]
        names: set[str] = set()
        for _ in range(MAX_CANDIDATE_STEPS):
            if not waiting:
                return candidates
            match waiting.pop():
                case ast.Name(id=name) if name not in names:
                    names.add(name)
                    if name in self._function.parameters and name not in self._never:
                        candidates.add(name)
                    waiting += self._function.values.get(name, ())
                case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                    waiting += [left, right]
                case ast.Subscript(value=value):
                    waiting.append(value)
                case ast.IfExp(body=body, orelse=other):
                    waiting += [body, other]
                case ast.Call() as call if not is_access(self._function.callee(call)):
                    waiting += self._same_or_chosen(call)
        return set()

    def _same_or_chosen(self, call: ast.Call) -> list[ast.expr]:
        name = self._function.callee(call)
        if name == ".to" and isinstance(call.func, ast.Attribute):
            return [call.func.value]
        if name == "where":
            return call.args[1:]
        return call.args[:1] if name in SAME_VALUE | {"cast"} else []

    def _split(self, node: ast.expr, depth: int) -> None:
        """Note what is added to an address, on the way to its base."""
        if depth > MAX_DEPTH:
            return
        if isinstance(node, ast.Name):
            if self._is_new("address", node.id):
                for value in self._function.values.get(node.id, ()):
                    self._split(value, depth + 1)
            return
        bases = self._bases(node, depth)
        if isinstance(node, ast.BinOp):
            self.offset(node.right if bases == [node.left] else node.left)
        elif isinstance(node, ast.Call):
            self._call(node)
        for base in bases:
            self._split(base, depth + 1)

    def _call(self, node: ast.Call) -> None:
        name = self._function.callee(node)
        if name in {".to", "cast"}:
            pointed = pointed_type(self._function, argument(node, int(name == "cast"), "dtype"))
            for root in self.roots(node) if pointed else ():
                clue = Clue(pointed, node.lineno, "casts it to this pointer", Strength.CERTAIN)
                self._evidence[root].element.append(clue)
        elif name in ACCESSES - {"load", "store"}:
            for part in (*node.args[1:], *(word.value for word in node.keywords)):
                if part is not argument(node, 0, "base"):
                    self.offset(part)
        elif name == "advance":
            for part in node.args[1:]:
                self.offset(part)
        elif name == "load":  # an address that is loaded itself
            self.elements_are(node, "i64", "what it loads is an address", Strength.STRONG)

    def offset(self, node: ast.expr) -> None:
        """Note that `node` is an integer, as it is added to an address."""
        self.integer(node, "is part of an offset")

    def integer(self, node: ast.expr, reason: str, depth: int = 0) -> None:
        """Note that `node`, and all that it is computed from, are integers."""
        for inner in self._integers(node):
            if isinstance(inner, ast.Call):
                self.elements_are(inner, "i32", f"what it loads {reason}", Strength.STRONG)
            elif isinstance(inner, ast.Name):
                if inner.id in self._function.parameters:
                    self._evidence[inner.id].scalar.append(Clue("int", inner.lineno, reason))
                if depth < MAX_DEPTH and self._is_new("integer", inner.id):
                    for value in self._function.values.get(inner.id, ()):
                        self.integer(value, reason, depth + 1)

    def integer_elements(self, node: ast.expr, reason: str, depth: int = 0) -> None:
        """Note that all loads which `node` is computed from give integers."""
        if depth > MAX_DEPTH:
            return
        for inner in self._integers(node):
            if isinstance(inner, ast.Call):
                self.elements_are(inner, "i32", f"what it loads {reason}", Strength.LIKELY)
            elif isinstance(inner, ast.Name):
                values = self._function.values.get(inner.id, [])
                before = [value for value in values if value.lineno < inner.lineno]
                for value in before or values:  # what it is later may be a float
                    if self._is_new("elements", f"{inner.id} {value.lineno}"):
                        self.integer_elements(value, reason, depth + 1)

    def _integers(self, node: ast.expr) -> Iterator[ast.AST]:
        """Yield the names and the loads that an integer is computed from."""
        waiting: list[ast.AST] = [node]
        while waiting:
            inner = waiting.pop()
            match inner:
                case ast.Name():
                    yield inner
                case ast.Call() if is_access(self._function.callee(inner)):
                    yield inner
                case ast.Call():
                    waiting += self._integers_of(inner)
                case ast.BinOp(left=left, right=right):
                    waiting += [left, right]
                case ast.UnaryOp(operand=value) | ast.Subscript(value=value):
                    waiting.append(value)
                case ast.IfExp(body=body, orelse=other):
                    waiting += [body, other]
                case ast.Tuple(elts=items) | ast.List(elts=items):
                    waiting += items

    def _integers_of(self, call: ast.Call) -> list[ast.expr]:
        """Return the arguments that an integer result is computed from."""
        name = self._function.callee(call)
        if name == ".to" and isinstance(call.func, ast.Attribute):
            value = call.func.value  # `(x * 0.5).to(tl.int32)` does not imply integers
            return [] if self._may_be_float(value) else [value]
        if name == "where":
            return call.args[1:]
        return call.args if name in _COUNTS | SAME_VALUE | _REDUCED else []

    def _may_be_float(self, node: ast.expr) -> bool:
        """Return whether `node` computes with floats, or calls what may."""
        for part in ast.walk(node):
            match part:
                case ast.Constant(value=float()) | ast.BinOp(op=ast.Div()):
                    return True
                case ast.Call() if self._function.callee(part) not in _INTEGER_CALLS:
                    return True
        return False

    def loads(self, node: ast.expr, depth: int = 0) -> list[ast.Call]:
        """Return the loads whose value `node` is, unchanged."""
        match node:
            case ast.Call() if self._function.callee(node) in {"load", ".load"}:
                return [node]
            case ast.Name(id=name) if depth < 3:
                values = self._function.values.get(name, [])
                loads = [load for value in values[:8] for load in self.loads(value, depth + 1)]
                return loads if len(values) == len(loads) else []
            case ast.IfExp(body=body, orelse=other):
                return [*self.loads(body, depth), *self.loads(other, depth)]
            case ast.Subscript(value=value):
                return self.loads(value, depth)
            case ast.Call(args=[first, *_]) if self._function.callee(node) in SAME_VALUE:
                return self.loads(first, depth)
        return []

    def elements_are(self, load: ast.Call, implied: str, reason: str, strength: Strength) -> None:
        """Note the element type that a load reads."""
        pointer = argument(load, 0, "pointer")
        if isinstance(load.func, ast.Attribute) and self._function.callee(load) in DESCRIBED:
            pointer = load.func.value
        for root in self.roots(pointer) if pointer is not None else ():
            self._evidence[root].element.append(Clue(implied, load.lineno, reason, strength))

    def _is_new(self, how: str, name: str) -> bool:
        known = (how, name) in self._is_seen
        self._is_seen.add((how, name))
        return not known


def pointed_type(function: ParsedFunction, node: ast.expr | None) -> str:
    """Return the elements of `tl.pointer_type(tl.float16)`, as in `fp16`; else nothing."""
    if isinstance(node, ast.Call) and function.callee(node) == "pointer_type" and node.args:
        return DTYPES.get(function.dtype(node.args[0]) or "", "")
    return ""


def _never_pointers(function: ParsedFunction) -> set[str]:
    """Return the parameters in operations that pointers do not have.

    `x = tl.load(x)` gives a name to something else, so such names are left out.
    """
    names: set[str] = set()
    for node in function.nodes:
        parts: list[ast.expr] = []
        match node:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _NOT_OF_POINTERS):
                parts = [left, right]
            case ast.Call() if function.callee(node) in _COUNTS:
                parts = node.args
            case ast.Compare(left=left, ops=[ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE()]):
                parts = [left, *node.comparators]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                parts = [operand]
        names |= {part.id for part in map(uncast, parts) if isinstance(part, ast.Name)}
    return (names & function.parameters.keys()) - function.values.keys()


def uncast(node: ast.expr) -> ast.expr:
    """Return `stride` of `stride.to(tl.int64)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="to")):
            return value
    return node


def _reads(node: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _is_integer_like(names: frozenset[str]) -> bool:
    """Return whether no name shows that it is a pointer."""
    return not any(word in name.lower() for name in names for word in _POINTER_NAME)
