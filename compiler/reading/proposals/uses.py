"""Collects what the uses of a function's parameters imply, through helpers of the same source.

In `a + rows[:, None] * stride_m + columns[None, :] * stride_k`, each axis has a stride, so the last
of them, in the order of the parameters, is taken to be that of a contiguous axis: 1. In `a + row *
stride + columns`, `columns` is the contiguous axis.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from compiler.reading.proposals.address_roots import (
    SAME_VALUE,
    AddressRoots,
    is_access,
    uncast,
)
from compiler.reading.proposals.clues import DTYPES, Clue, Strength, UseClues, strongest
from compiler.reading.proposals.dot_operands import OF_PARAMETER, note_dots
from compiler.reading.proposals.element_uses import SEEDED, ElementUses
from compiler.reading.proposals.parsed_function import ParsedFunction, argument
from compiler.reading.proposals.value_kinds import ValueKinds, kind_of_type

MAX_TERMS = 300
"""Of one address; a longer one has no strides."""
MAX_CALLS_DEEP = 16
_SHAPED = frozenset({"zeros", "full", "ones", "reshape", "view", "broadcast_to"})
_DESCRIPTOR_METHODS = frozenset({".load", ".store", ".gather", ".scatter", ".atomic_add"})
_INTEGERS_OF = {
    "range": "is a bound of a loop",
    "static_range": "is a bound of a loop",
    "cdiv": "is used in tl.cdiv",
    "arange": "is used in tl.arange",
    "program_id": "is an axis",
    "next_power_of_2": "is a size",
}
_COMPARED = "is compared with an offset"
_WRAPPED = "wraps an offset"
_OF_SIZES = frozenset({_COMPARED, _WRAPPED, *(_INTEGERS_OF[name] for name in ("range", "cdiv"))})
_FLOATS_OF = frozenset({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sigmoid", "sin", "cos"})
_OF_ONE_KIND = frozenset({"minimum", "maximum", "min", "max", "where", "clamp"})
_OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_INTEGER_OPERATIONS = (
    ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor
)  # fmt: skip


class Uses:
    """The evidence for the functions of one source, each looked at once."""

    def __init__(self, functions: Mapping[str, ParsedFunction]) -> None:
        self._functions = functions
        self._known: dict[str, dict[str, UseClues]] = {}

    def of(self, name: str, depth: int = 0) -> dict[str, UseClues]:
        """Return the evidence for each parameter of a function."""
        if name not in self._known:
            function = self._functions[name]
            evidence = {parameter: UseClues() for parameter in function.parameters}
            self._known[name] = evidence  # a function that calls itself finds this
            _FunctionUses(function, evidence, self, depth).note()
        return self._known[name]

    def helper(self, call: ast.Call, name: str, depth: int) -> dict[str, tuple[ast.expr, UseClues]]:
        """Return the arguments of a call of a helper, with its uses of each."""
        callee = self._functions.get(name)
        if callee is None or depth >= MAX_CALLS_DEEP:
            return {}
        arguments = dict(zip(callee.positional, call.args, strict=False))
        arguments |= {word.arg: word.value for word in call.keywords if word.arg}
        clues = self.of(name, depth + 1)
        return {name: (value, clues[name]) for name, value in arguments.items() if name in clues}


class _FunctionUses:
    def __init__(
        self, function: ParsedFunction, evidence: dict[str, UseClues], uses: Uses, depth: int
    ) -> None:
        self._function = function
        self._evidence = evidence
        self._uses = uses
        self._depth = depth
        self._addresses = AddressRoots(function, evidence)

    def note(self) -> None:
        for call in self._function.calls:
            self._call(call)
        for node in self._function.nodes:
            self._element_type(node)
        elements = ElementUses(self._function, self._addresses)
        elements.note()
        pointers = {name for name, clues in self._evidence.items() if clues.pointer}
        known = {
            name: "int"
            for name, clues in self._evidence.items()
            if name not in pointers and clues.scalar
        }
        elements.compared(self._kinds(known, pointers))
        kinds = self._kinds(known, pointers)
        elements.stored(kinds, self._evidence)
        _note_scalars(self._function, self._evidence, kinds)
        note_dots(self._function, self._evidence, self._addresses)
        note_strides(self._function, self._evidence, self._addresses)

    def _kinds(self, known: Mapping[str, str], pointers: set[str]) -> ValueKinds:
        elements = {
            name: kind_of_type(clue.implied)
            for name in pointers
            if (clue := strongest(self._evidence[name].element)) is not None
        }
        return ValueKinds(self._function, known, elements, self._addresses.roots)

    def _element_type(self, node: ast.AST) -> None:
        """Note that `x.dtype.element_ty` is of a pointer."""
        match node:
            case ast.Attribute(
                attr="element_ty",
                value=ast.Attribute(value=ast.Name() as named, attr="dtype" | "type"),
            ):
                self._addresses.follow(named, node.lineno, "has an element type")

    def _call(self, call: ast.Call) -> None:
        name = self._function.callee(call)
        if is_access(name):
            pointer = argument(call, 0, "base" if name.startswith("make_") else "pointer")
            if pointer is not None:
                self._addresses.follow(pointer, call.lineno, f"is an address of tl.{name}")
            if name == "make_tensor_descriptor":
                self._made_descriptor(call)
        elif name in _DESCRIPTOR_METHODS and isinstance(call.func, ast.Attribute):
            self._descriptor(call, call.func.value)
        elif name in {"load_tensor_descriptor", "store_tensor_descriptor"} and call.args:
            self._descriptor(ast.Call(call.func, call.args[1:], call.keywords), call.args[0])
        elif name == "arange" and len(call.args) > 1:
            self._shape(call.args[1], f"tl.arange(0, {ast.unparse(call.args[1])})")
        elif name in _SHAPED:
            for part in call.args[: 1 if name in {"zeros", "full"} else 2]:
                self._shape(part, "is part of a shape")
        arguments = self._uses.helper(call, name, self._depth)
        passed = {parameter: value for parameter, (value, _) in arguments.items()}
        for value, clues in arguments.values():
            held = [replace(clue, line=call.lineno) for clue in clues.element]
            self._passed(call, name, value, clues, list(self._resolved(held, passed)))

    def _resolved(self, clues: list[Clue], passed: Mapping[str, ast.expr]) -> Iterator[Clue]:
        """Yield clues of a helper, with the types that it is passed for those of its parameters."""
        for clue in clues:
            parameter = clue.implied.removeprefix(OF_PARAMETER)
            if parameter == clue.implied:
                yield clue
            elif parameter in passed and (implied := self._type_of(passed[parameter], 0)):
                yield replace(clue, implied=implied)

    def _type_of(self, node: ast.expr, depth: int) -> str | None:
        """Return the type that an expression names, where flags are not set."""
        if (named := self._function.dtype(node)) in DTYPES:
            return DTYPES[named or ""]
        match node:
            case ast.IfExp(orelse=other):
                return self._type_of(other, depth)
            case ast.Name(id=name) if name in self._function.parameters:
                return f"{OF_PARAMETER}{name}"
            case ast.Name(id=name) if depth < MAX_CALLS_DEEP:
                values = self._function.values.get(name, [])
                return self._type_of(values[-1], depth + 1) if values else None
        return None

    def _passed(
        self, call: ast.Call, name: str, argument: ast.expr, clues: UseClues, elements: list[Clue]
    ) -> None:
        """Note what a helper does with an argument; `elements` are its clues for the elements."""
        through = f"is passed to {name}, which"
        if clues.pointer:
            roots = self._addresses.follow(
                argument, call.lineno, f"{through} reads or writes at its address"
            )
            for root in roots:
                self._evidence[root].element += elements
            return
        scalar = strongest(clues.scalar)
        if scalar is not None and scalar.implied == "int" and scalar.strength >= Strength.STRONG:
            self._addresses.integer(argument, f"{through} {scalar.reason}")
        if isinstance(argument, ast.Name) and argument.id in self._evidence:
            own = self._evidence[argument.id]
            if scalar is not None:
                weaker = Strength(max(Strength.WEAK, scalar.strength - 1))
                own.scalar.append(
                    Clue(scalar.implied, call.lineno, f"{through} {scalar.reason}", weaker)
                )
            own.size += [
                Clue(clue.implied, call.lineno, f"{through} {clue.reason}")
                for clue in clues.size[:1]
            ]
            own.last_stride += [replace(clue, line=call.lineno) for clue in clues.last_stride[:1]]
            if clues.shape:
                own.shape.append(Clue("shape", call.lineno, f"{through} makes a shape of it"))
            own.axes = own.axes or clues.axes
            own.element += elements if clues.axes else []

    def _made_descriptor(self, call: ast.Call) -> None:
        """Note the last stride, which has to be 1, and the block."""
        shape, strides = argument(call, 1, "shape"), argument(call, 2, "strides")
        block = argument(call, 3, "block_shape")
        for part in (shape, strides):
            if part is not None:
                self._addresses.integer(part, "is the shape or a stride of a descriptor")
                for item in part.elts if isinstance(part, ast.List | ast.Tuple) else ():
                    if isinstance(item, ast.Name) and item.id in self._evidence:
                        clue = Clue("size", item.lineno, "is the shape or a stride of a descriptor")
                        self._evidence[item.id].size.append(clue)
        if isinstance(strides, ast.List | ast.Tuple) and strides.elts:
            last = strides.elts[-1]
            if isinstance(last, ast.Name) and last.id in self._evidence:
                clue = Clue("1", last.lineno, "is the last stride of a tensor descriptor")
                self._evidence[last.id].last_stride.append(clue)
        if block is not None:
            self._shape(block, "is part of a descriptor's block")

    def _descriptor(self, call: ast.Call, described: ast.expr) -> None:
        if not isinstance(described, ast.Name) or described.id not in self._evidence:
            return
        offsets = call.args[0] if call.args else None
        is_own = described.id not in self._function.values
        if is_own and isinstance(offsets, ast.List | ast.Tuple):
            own = self._evidence[described.id]
            own.axes = [self._multiple_of(part, 0) for part in offsets.elts]
            own.scalar.append(Clue("descriptor", described.lineno, "is a tensor descriptor"))
            for part in offsets.elts:
                self._addresses.offset(part)

    def _multiple_of(self, offset: ast.expr, depth: int) -> str:
        """Return the parameter that an offset such as `pid * BLOCK` is a multiple of."""
        match offset:
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                names = [part.id for part in (right, left) if isinstance(part, ast.Name)]
                return next((name for name in names if name in self._evidence), "")
            case ast.Name(id=name) if depth < MAX_CALLS_DEEP:
                values = self._function.values.get(name, [])[:1]
                return next((self._multiple_of(value, depth + 1) for value in values), "")
        return ""

    def _shape(self, node: ast.expr, reason: str) -> None:
        owners = {id(p.value) for p in ast.walk(node) if isinstance(p, ast.Attribute)}
        for part in ast.walk(node):
            if id(part) in owners:
                continue  # `x.shape` is a shape, and x is none
            if isinstance(part, ast.Name) and part.id in self._evidence:
                self._evidence[part.id].shape.append(Clue("shape", part.lineno, reason))


def _note_scalars(
    function: ParsedFunction, evidence: dict[str, UseClues], kinds: ValueKinds
) -> None:
    """Add what the uses of parameters as numbers imply."""
    for node in function.nodes:
        for used, clue in _implied(node, function, kinds):
            if isinstance(used, ast.Name) and used.id in evidence:
                evidence[used.id].scalar.append(clue)
                if clue.reason in _OF_SIZES:
                    evidence[used.id].size.append(replace(clue, implied="size"))


def _implied(
    node: ast.AST, function: ParsedFunction, kinds: ValueKinds
) -> Iterator[tuple[ast.expr, Clue]]:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            for operand, other in ((left, right), (right, left)):
                is_right = operand is right
                yield from _operand(operand, op, kinds.of(other), node.lineno, is_right=is_right)
        case ast.Compare(left=left, comparators=[right]):
            for operand, other in ((left, right), (right, left)):
                is_number = isinstance(other, ast.Constant)
                yield from _compared(operand, kinds.of(other), node.lineno, is_number=is_number)
        case ast.Call():
            yield from _passed(node, function, kinds)
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            yield operand, Clue("int", node.lineno, "is an operand of an integer operation")
        case ast.If(test=ast.Name() as test) | ast.IfExp(test=ast.Name() as test):
            yield test, Clue("int", node.lineno, "is a condition", Strength.WEAK)


def _operand(
    operand: ast.expr, op: ast.operator, other: str | None, line: int, *, is_right: bool
) -> Iterator[tuple[ast.expr, Clue]]:
    if isinstance(op, ast.Mod) and is_right:
        yield operand, Clue("int", line, _WRAPPED)
    elif isinstance(op, _INTEGER_OPERATIONS):
        clue = Clue("int", line, "is an operand of an integer operation")
        yield from ((used, clue) for used in _terms(operand))
    elif isinstance(op, _OPERATIONS) and other == "float":
        yield operand, Clue("float", line, "is an operand of float arithmetic", Strength.LIKELY)
    elif isinstance(op, _OPERATIONS) and other == "int":
        yield operand, Clue("int", line, "is an operand of integer arithmetic", Strength.WEAK)


def _compared(
    operand: ast.expr, other: str | None, line: int, *, is_number: bool
) -> Iterator[tuple[ast.expr, Clue]]:
    if other == "int":
        yield operand, Clue("int", line, "is compared with a number" if is_number else _COMPARED)
    elif other == "float":
        yield operand, Clue("float", line, "is compared with floats", Strength.LIKELY)


def _passed(
    call: ast.Call, function: ParsedFunction, kinds: ValueKinds
) -> Iterator[tuple[ast.expr, Clue]]:
    name, line = function.callee(call), call.lineno
    for word in call.keywords if name in {"load", "store"} else ():
        if word.arg == "mask":
            yield word.value, Clue("bool", line, "is a mask", Strength.LIKELY)
    if name in _INTEGERS_OF:
        clue = Clue("int", line, _INTEGERS_OF[name])
        yield from ((used, clue) for part in call.args for used in _terms(part))
    elif name in SEEDED and call.args:
        yield call.args[0], Clue("int", line, "is a seed")
    elif name in _FLOATS_OF or function.is_of_libdevice(call):
        reason = f"is an argument of tl.{name}"
        yield from ((part, Clue("float", line, reason, Strength.LIKELY)) for part in call.args)
    elif name in _OF_ONE_KIND:
        yield from _beside(call.args[1:] if name == "where" else call.args[:3], kinds, line)
    elif name == "load" and (other := argument(call, 2, "other")) is not None:
        yield other, Clue("float", line, "stands for masked elements", Strength.WEAK)
    elif name == "store" and (value := argument(call, 1, "value")) is not None:
        yield value, Clue("float", line, "is stored", Strength.WEAK)


def _beside(parts: list[ast.expr], kinds: ValueKinds, line: int) -> Iterator[tuple[ast.expr, Clue]]:
    for part in parts:
        others = {kinds.of(other) for other in parts if other is not part}
        if others & {"int", "float"}:
            kind = "float" if "float" in others else "int"
            yield part, Clue(kind, line, f"is used with {kind}s", Strength.LIKELY)


def _terms(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the names in a sum or product."""
    if isinstance(node, ast.BinOp):
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield part
    else:
        yield node


def note_strides(
    function: ParsedFunction, evidence: dict[str, UseClues], addresses: AddressRoots
) -> None:
    """Note the strides of each tensor, and which of them is the last one."""
    strides: dict[str, dict[str, int]] = {}
    contiguous: set[str] = set()
    scan = _Terms(function, evidence)
    for call in function.calls:
        pointer = argument(call, 0, "pointer")
        if pointer is None or not is_access(function.callee(call)):
            continue
        terms = list(scan.terms(pointer))
        for root in addresses.roots(pointer):
            others = [term for term in terms if not _is_name(term, root)]
            if any(map(scan.is_axis, others)) or len(terms) >= MAX_TERMS:
                contiguous.add(root)
            for term in others:
                if (name := scan.stride(term)) is not None:
                    strides.setdefault(root, {}).setdefault(name, term.lineno)
    order = list(function.parameters)
    for root, lines in strides.items():
        for name, line in lines.items():
            evidence[name].size.append(Clue("stride", line, f"is a stride of {root}"))
        last = max(lines, key=order.index)
        if root not in contiguous and not scan.is_changed(last):
            clue = Clue("1", lines[last], f"is the last stride of {root}")
            evidence[last].unit_stride.append(clue)


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


class _Terms:
    """The terms of one function's addresses."""

    def __init__(self, function: ParsedFunction, evidence: dict[str, UseClues]) -> None:
        self._function = function
        self._numbers = {
            name
            for name, parameter in function.parameters.items()
            if not evidence[name].pointer
            and not evidence[name].shape
            and not (parameter.annotation and "constexpr" in ast.unparse(parameter.annotation))
        }
        self._changed = set(function.values) | {
            node.value.id
            for node in function.nodes
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        }

    def is_changed(self, name: str) -> bool:
        """Return whether a parameter is assigned, or its attributes are used: a 1 has none."""
        return name in self._changed

    def terms(self, address: ast.expr) -> Iterator[ast.expr]:
        """Yield what is added up to an address, through local names."""
        waiting, names = [address], set[str]()
        for _ in range(MAX_TERMS):
            if not waiting:
                return
            match waiting.pop():
                case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                    waiting += [right, left]
                case ast.Subscript(value=value):
                    waiting.append(value)
                case ast.Call(func=ast.Attribute(value=value, attr="to")):
                    waiting.append(value)
                case ast.Call(args=[first, *_]) as call if (
                    self._function.callee(call) in SAME_VALUE
                ):
                    waiting.append(first)
                case ast.Name(id=name) as node if values := self._function.values.get(name):
                    if name in self._function.parameters:
                        yield node
                    if name not in names:
                        names.add(name)
                        waiting += values
                case node:
                    yield node

    def stride(self, term: ast.expr) -> str | None:
        """Return the parameter that an axis is multiplied by, if one is."""
        if not isinstance(term, ast.BinOp) or not isinstance(term.op, ast.Mult):
            return None
        factors = self._factors(term)
        names = [f.id for f in factors if isinstance(f, ast.Name) and f.id in self._numbers]
        named = [name for name in names if "stride" in name.lower()]
        return named[0] if len(named) == 1 else names[0] if len(names) == 1 else None

    def is_axis(self, term: ast.expr) -> bool:
        """Return whether a term varies and is multiplied by no number of the launch."""
        factors = self._factors(term)
        if any(isinstance(f, ast.Name) and f.id in self._numbers for f in factors):
            return False
        return not all(self._is_constant(factor) for factor in factors)

    def _is_constant(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Constant):
            return True
        is_own = isinstance(node, ast.Name) and node.id in self._function.parameters
        return is_own and not self._function.values.get(node.id)  # type: ignore[attr-defined]

    def _factors(self, term: ast.expr) -> list[ast.expr]:
        factors: list[ast.expr] = []
        waiting = [term]
        while waiting:
            match uncast(waiting.pop()):
                case ast.BinOp(left=left, op=ast.Mult(), right=right):
                    waiting += [right, left]
                case ast.Subscript(value=value):
                    waiting.append(value)
                case node:
                    factors.append(node)
        return factors
