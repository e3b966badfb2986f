"""Proposes values for constexprs: defaults, configurations, launches in the same file, examples.

Values are in the tagged form of `constants`.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from compiler.reading import constants
from compiler.reading.jit_decorator import Aliases
from compiler.reading.proposals.address_roots import is_access
from compiler.reading.proposals.clues import DTYPES, MAX_REASON_CHARS, Clue
from compiler.reading.proposals.parsed_function import ParsedFunction, argument

MAX_VALUES = 16
MAX_VALUE_CHARS = 256
MAX_CALLS_DEEP = 16
_TILE, _SMALL_TILE, _COUNT, _UNROLLED = 64, 32, 4, 4
_PACKED = 4  # bits of a packed value, of which a word of 8 or 32 has several
_MULTIPLE = 1024  # of all usual tiles, also of four of them
MAX_TILES = 3
"""With more of them, their product is what makes compiling slow."""
_FLAG_NAME = re.compile(
    r"^(IS|HAS|USE|DO|ENABLE|WITH|NEEDS?|STORE|LOAD|RETURN|APPLY|EVEN|ADD|SKIP|SAVE|OUTPUT|COMPUTE|"
    r"INCLUDE|ALLOW|REVERSE|TRANSPOSE)(_|$)|CAUSAL|VARLEN",
    re.IGNORECASE,
)
_COUNT_NAME = re.compile(r"^(NUM|N|GROUP)_|^HQ?$|HEADS|TOP_?K|SPLIT|^G$", re.IGNORECASE)
_FLOAT_NAME = re.compile(r"(^|_)eps|scale$|alpha|beta|momentum|softcap|threshold", re.IGNORECASE)
_DTYPE_NAME = re.compile(r"dtype|_type$|_ty$", re.IGNORECASE)
_TUNED = "@triton.autotune tries these values"
_KEYWORDS: dict[str, tuple[Any, str]] = {
    "dtype": ({"dtype": "fp32"}, "is a type"),
    "eviction_policy": ("evict_last", "is an eviction policy"),
    "cache_modifier": (".cg", "is a cache modifier"),
    "input_precision": ("tf32", "is a precision"),
    "warp_specialize": (False, "decides whether warps are specialised"),
    "flatten": (False, "decides whether loops are flattened"),
}
_COMPARED = "is compared with this number"
_BIT_OPERATORS = (ast.LShift, ast.RShift, ast.BitXor, ast.BitAnd, ast.BitOr)
_OPTIONS = {"num_warps": 4, "num_stages": 2, "num_ctas": 1}


Found = tuple[list[Any], int, str, str]
"""Values, the line that names them, the reason, and the confidence."""


class ConstexprValues:
    """The values that one source names, and examples where it names none."""

    def __init__(
        self, tree: ast.Module, aliases: Aliases, functions: Mapping[str, ParsedFunction]
    ) -> None:
        self._aliases = aliases
        self._functions = functions
        self._examples_of: dict[str, dict[str, Found]] = {}
        self._launches: dict[str, list[tuple[ast.Call, dict[str, list[ast.expr]]]]] = {}
        self._constants = dict(_module_constants(tree))
        for unit in tree.body:
            assigned: dict[str, list[ast.expr]] = {}
            for node in ast.walk(unit):
                match node:
                    case (
                        ast.Call(func=ast.Subscript(value=ast.Name() | ast.Attribute() as launched))
                        | ast.Call(func=ast.Attribute(value=ast.Name() as launched, attr="warmup"))
                    ):
                        name = ast.unparse(launched)
                        self._launches.setdefault(name, []).append((node, assigned))
                    case ast.Assign(targets=[ast.Name(id=name)], value=value):
                        part = value.body if isinstance(value, ast.IfExp) else value
                        assigned.setdefault(name, []).append(part)

    def of(
        self, facts: dict[str, Any], function: ParsedFunction, pointers: Collection[str] = ()
    ) -> dict[str, Found]:
        """Return the source's values of a kernel's constexprs; the likeliest place wins.

        `pointers` are the kernel's parameters that it reads or writes through.
        """
        examples = self._examples(function, 0)
        defaults = {
            parameter["name"]: (
                [parameter["default"]["literal"]] if "literal" in parameter["default"] else [],
                parameter["line"],
                "is its default",
                "high",
            )
            for parameter in facts["parameters"]
            if parameter["default"] is not None
        }
        implied = {name: use for node in function.nodes for name, use in _implied(node, function)}
        for node in function.nodes:
            implied |= _flags_of_pointers(node, function, pointers)
        launched = self._launch_values(facts["name"], function)
        tuned = self._built_config_values(function) | _config_values(facts, function)
        return examples | implied | launched | defaults | tuned

    def proposal(
        self, parameter: dict[str, Any], known: dict[str, Found], shape: Clue | None, tiles: int
    ) -> dict[str, Any]:
        """Return the proposal for a constexpr.

        `known` are the source's values of all of them; `tiles` of them are parts of shapes.
        """
        name = parameter["name"]
        evidence = known.get(name)
        is_shape = shape is not None and name not in _OPTIONS
        if is_shape and (evidence is None or evidence[3] == "low"):
            assert shape is not None
            tile = _TILE if tiles <= MAX_TILES else _SMALL_TILE
            evidence = _example(_int(tile), shape.line, shape.reason)
        if evidence is None:
            evidence = _example(_value_by_name(name), parameter["line"], "nothing shows what it is")
        values, line, reason, confidence = evidence
        return {
            "type": "constexpr",
            "hints": [],
            "values": values,
            "line": line,
            "reason": reason[:MAX_REASON_CHARS],
            "confidence": confidence,
        }

    def _examples(self, function: ParsedFunction, depth: int) -> dict[str, Found]:
        """Return an example for each name that its use explains, in the function or a helper."""
        name = function.node.name
        if name not in self._examples_of:
            self._examples_of[name] = {}  # a function that calls itself finds this
            self._examples_of[name] = self._passed(function, depth) | _own_examples(
                function, self._constants
            )
        return self._examples_of[name]

    def _passed(self, function: ParsedFunction, depth: int) -> dict[str, Found]:
        """Return the examples for names that are passed to helpers, whose uses explain them."""
        made: dict[str, Found] = {}
        for call in function.calls:
            name = function.callee(call)
            helper = self._functions.get(name)
            if helper is None or depth >= MAX_CALLS_DEEP:
                continue
            examples = self._examples(helper, depth + 1)
            passed = dict(zip(helper.positional, call.args, strict=False))
            passed |= {word.arg: word.value for word in call.keywords if word.arg}
            for parameter, value in passed.items():
                if isinstance(value, ast.Name) and (use := examples.get(parameter)) is not None:
                    reason = f"is passed to {name}, where it {use[2]}"
                    made.setdefault(value.id, (use[0], call.lineno, reason, use[3]))
        return made

    def _built_config_values(self, function: ParsedFunction) -> dict[str, Found]:
        """Return the values in `[Config({'B': b}) for b in [64, 128]]`."""
        made: dict[str, Found] = {}
        for decorator in function.node.decorator_list:
            for node in ast.walk(decorator):
                if not isinstance(node, ast.ListComp):
                    continue
                loops = {
                    loop.target.id: loop.iter
                    for loop in node.generators
                    if isinstance(loop.target, ast.Name)
                }
                for name, value in _entries(node.elt):
                    over = loops.get(value.id) if isinstance(value, ast.Name) else None
                    items = over.elts if isinstance(over, ast.List | ast.Tuple) else [value]
                    if literals := self._literals(items[:MAX_VALUES]):
                        made[name] = (literals, value.lineno, _TUNED, "high")
        return made

    def _launch_values(self, kernel: str, function: ParsedFunction) -> dict[str, Found]:
        """Return the literals that launches in the same file pass."""
        made: dict[str, Found] = {}
        for call, assigned in self._launches.get(kernel, ()):
            arguments = dict(zip(function.positional, _without_stars(call.args), strict=False))
            arguments |= {word.arg: word.value for word in call.keywords if word.arg}
            for name, node in arguments.items():
                values = assigned.get(node.id, []) if isinstance(node, ast.Name) else [node]
                if name not in made and (literals := self._literals(values[:1])):
                    made[name] = (literals, call.lineno, "this launch passes it", "high")
        return made

    def _literals(self, nodes: list[ast.expr]) -> list[Any]:
        encoded = (constants.constant_json(node, self._aliases) or {} for node in nodes)
        return [value["literal"] for value in encoded if value.get("literal") is not None]


def _without_stars(arguments: list[ast.expr]) -> Iterator[ast.expr]:
    """Yield the positional arguments of a call, up to a `*items` of unknown length."""
    for passed in arguments:
        if not isinstance(passed, ast.Starred):
            yield passed
            continue
        parts = passed.value
        if isinstance(parts, ast.IfExp):
            sizes = [len(p.elts) for p in (parts.body, parts.orelse) if isinstance(p, ast.Tuple)]
            parts = parts.body if len(sizes) == 2 and sizes[0] == sizes[1] else passed
        if not isinstance(parts, ast.Tuple | ast.List):
            return
        yield from _without_stars(parts.elts)


def _config_values(facts: dict[str, Any], function: ParsedFunction) -> dict[str, Found]:
    tried: dict[str, list[Any]] = {}
    for config in facts["configs"]:
        for name, value in (config.get("constexprs") or {}).items():
            values = tried.setdefault(name, [])
            if len(values) < MAX_VALUES and "literal" in value and value["literal"] not in values:
                values.append(value["literal"])
    line = function.first_line
    return {name: (values, line, _TUNED, "high") for name, values in tried.items() if values}


def _example(value: Any, line: int, reason: str) -> Found:
    shown = next(iter(value.values())) if isinstance(value, dict) else value
    return [value], line, f"{reason}; {shown} is an example", "low"


def _own_examples(function: ParsedFunction, constants: Mapping[str, ast.expr]) -> dict[str, Found]:
    examples: dict[str, Found] = {}
    for node in reversed(function.nodes):
        for name, use in (*_uses(node, function, constants), *_divisors(node, function)):
            before = examples.get(name)
            examples[name] = use if before is None else _first_or_least(use, before)
    return examples


def _uses(
    node: ast.AST, function: ParsedFunction, constants: Mapping[str, ast.expr]
) -> Iterator[tuple[str, Found]]:
    """Yield the names whose use here shows what they are, each with an example.

    `constants` are the values of the module's own names.
    """
    match node:
        case ast.Compare(left=left, comparators=[right]):
            is_equal = isinstance(node.ops[0], ast.Eq | ast.NotEq)
            for side, other in ((left, right), (right, left)):
                if isinstance(side, ast.Name):
                    value = constants.get(other.id, other) if isinstance(other, ast.Name) else other
                    compared = _compared(side.id, value, node.lineno, function, is_equal=is_equal)
                    yield from compared
        case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Name(id=name)]):
            yield name, _example(_dtype_of(name), node.lineno, "is a type that is cast to")
        case ast.keyword(arg=str(keyword), value=ast.Name(id=name) as value):
            if keyword in _KEYWORDS:
                example, reason = _KEYWORDS[keyword]
                yield name, _example(example, value.lineno, reason)
        case ast.If(test=test) | ast.IfExp(test=test):
            yield from _examples(_conditions(test), False, "is a condition")
        case ast.Call() if function.callee(node) in {"static_range", "range"}:
            yield from _examples(node.args, _int(_UNROLLED), "is a bound of a loop")


def _divisors(node: ast.AST, function: ParsedFunction) -> Iterator[tuple[str, Found]]:
    """Yield the names that divide a number or a constexpr, each with an example that divides it."""
    match node:
        case ast.BinOp(left=ast.Constant(value=int(whole)), op=ast.FloorDiv(), right=part):
            yield from _examples([part], _int(_PACKED if whole >= _PACKED else 1), "is a divisor")
        case ast.BinOp(left=ast.Name(id=tile), op=ast.FloorDiv(), right=part) if (
            function.is_constexpr(tile)
        ):
            yield from _examples([part], _int(1), f"divides {tile}")


def _implied(node: ast.AST, function: ParsedFunction) -> Iterator[tuple[str, Found]]:
    """Yield what an operation needs of its operands, whatever else their use suggests."""
    yield from _bit_operand_types(node, function)
    match node:
        case ast.Call(
            args=[
                ast.Compare(
                    left=ast.BinOp(left=ast.Name(id=name), op=ast.Mod()),
                    ops=[ast.Eq()],
                    comparators=[ast.Constant(value=0)],
                ),
                *_,
            ]
        ) if function.callee(node) == "static_assert":
            reason = "is asserted to be a multiple"
            yield name, _example(_int(_MULTIPLE), node.lineno, reason)


def _flags_of_pointers(
    node: ast.AST, function: ParsedFunction, pointers: Collection[str]
) -> Iterator[tuple[str, Found]]:
    """Yield the flags that decide whether a parameter is a pointer or a number: it is a pointer."""
    if not isinstance(node, ast.If | ast.IfExp):
        return
    match node.test:
        case ast.Name(id=flag):
            value = True
        case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=flag)):
            value = False
        case _:
            return
    branches = [(node.body, node.orelse, value), (node.orelse, node.body, not value)]
    for taken, other, chosen in branches:
        for name in sorted(_accessed(taken, function) - _accessed(other, function)):
            if name in pointers and name in _names_in(other):
                reason = f"decides whether {name} is a pointer"
                yield flag, _example(chosen, node.lineno, reason)


def _accessed(branch: ast.expr | list[ast.stmt], function: ParsedFunction) -> set[str]:
    """Return the names in the addresses that a branch reads or writes."""
    calls = (node for node in _nodes_of(branch) if isinstance(node, ast.Call))
    addresses = (argument(c, 0, "pointer") for c in calls if is_access(function.callee(c)))
    return {name for address in addresses if address is not None for name in _names_in(address)}


def _names_in(branch: ast.expr | list[ast.stmt]) -> set[str]:
    return {node.id for node in _nodes_of(branch) if isinstance(node, ast.Name)}


def _nodes_of(branch: ast.expr | list[ast.stmt]) -> Iterator[ast.AST]:
    for part in branch if isinstance(branch, list) else [branch]:
        yield from ast.walk(part)


def _bit_operand_types(node: ast.AST, function: ParsedFunction) -> Iterator[tuple[str, Found]]:
    """Yield the types that operands of shifts, `^`, `&` and `|` are cast to: integers."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, _BIT_OPERATORS):
        return
    for operand in (node.left, node.right):
        known = function.values.get(operand.id, []) if isinstance(operand, ast.Name) else [operand]
        for value in known:
            match value:
                case ast.Call(func=ast.Attribute(attr="to"), args=[ast.Name(id=name)]):
                    reason = "is a type that operands of bits are cast to"
                    yield name, _example({"dtype": "i32"}, value.lineno, reason)


def _conditions(test: ast.expr) -> Iterator[ast.expr]:
    """Yield what a test combines by `and`, `or` and `not`."""
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _conditions(part)
    elif isinstance(test, ast.UnaryOp):
        yield from _conditions(test.operand)
    else:
        yield test


def _first_or_least(first: Found, later: Found) -> Found:
    """Return the earlier use; of numbers that a mode is compared with, the least."""
    both = [_number(use) for use in (first, later)]
    return later if None not in both and both[1] < both[0] else first  # type: ignore[operator]


def _number(use: Found) -> int | None:
    """Return the number from 0 on that a constexpr is compared with, None for other uses."""
    values, _, reason, _ = use
    number = int(values[0]["int"]) if reason.startswith(_COMPARED) else -1
    return number if number >= 0 else None


def _examples(nodes: Iterable[ast.AST], value: Any, reason: str) -> Iterator[tuple[str, Found]]:
    for node in nodes:
        if isinstance(node, ast.Name):
            yield node.id, _example(value, node.lineno, reason)


def _compared(
    name: str, other: ast.expr, line: int, function: ParsedFunction, *, is_equal: bool
) -> Iterator[tuple[str, Found]]:
    if isinstance(other, ast.Constant) and isinstance(other.value, str):
        yield name, _example(other.value[:MAX_VALUE_CHARS], line, "is compared with this text")
    elif is_equal and (number := _small(other)) is not None:
        yield name, _example(_int(number), line, _COMPARED)
    elif function.dtype(other) in DTYPES:
        yield name, _example({"dtype": "fp32"}, line, "is compared with a type")


def _module_constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of a module that are literals: `NAME = 0`, `NAME = tl.constexpr(0)`."""
    for statement in tree.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                match value:
                    case ast.Call(
                        func=ast.Name("constexpr") | ast.Attribute(attr="constexpr"), args=[part]
                    ):
                        value = part
                if isinstance(value, ast.Constant):
                    yield name, value


def _small(node: ast.expr) -> int | None:
    """Return the value of an integer literal that a request can hold."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int and value < 2**31 else None


def _value_by_name(name: str) -> Any:
    if name in _OPTIONS:
        return _int(_OPTIONS[name])
    if _DTYPE_NAME.search(name):
        return _dtype_of(name)
    if _FLAG_NAME.search(name):
        return False
    if _FLOAT_NAME.search(name):
        return {"float": (0.5).hex()}
    return _int(_COUNT if _COUNT_NAME.search(name) else _TILE)


def _dtype_of(name: str) -> dict[str, str]:
    return {"dtype": "fp8e4nv" if "fp8" in name.lower() else "fp32"}


def _int(value: int) -> dict[str, str]:
    return {"int": str(value)}


def _entries(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the constexprs of `Config({'B': b})` or `Config(dict(B=b))`."""
    mapping = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(mapping, ast.Dict):
        for key, value in zip(mapping.keys, mapping.values, strict=True):
            if isinstance(key, ast.Constant):
                yield str(key.value), value
    elif isinstance(mapping, ast.Call):
        for word in mapping.keywords:
            if word.arg:
                yield word.arg, word.value
