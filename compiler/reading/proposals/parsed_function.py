"""A jit function's parameters, local names and calls, as its proposals need them."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from compiler.reading.jit_decorator import Aliases

MAX_DEPTH = 50
"""The depth to which expressions and local names are followed."""
_LANGUAGES = ("triton.", "tl.", "gl.", "ttgl.", "language.")


class ParsedFunction:
    """One function, with the values that each of its names is assigned."""

    def __init__(self, node: ast.FunctionDef, aliases: Aliases) -> None:
        self.node = node
        self._aliases = aliases
        arguments = node.args
        listed = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self.positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        self.parameters = {argument.arg: argument for argument in listed}

    @property
    def first_line(self) -> int:
        """The line of the first decorator that the text has."""
        lines = (getattr(node, "lineno", None) for node in self.node.decorator_list)
        return next((line for line in lines if line is not None), self.node.lineno)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the body."""
        return [inner for part in self.node.body for inner in ast.walk(part)]

    @cached_property
    def calls(self) -> list[ast.Call]:
        """All calls of the body."""
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    @cached_property
    def values(self) -> dict[str, list[ast.expr]]:
        """The expressions that each name is assigned; a parameter may be among the names."""
        values: dict[str, list[ast.expr]] = defaultdict(list)
        for node in self.nodes:
            for name, value in _assigned(node):
                values[name].append(value)
        return values

    @cached_property
    def counters(self) -> set[str]:
        """The names that loops count with."""
        return {
            node.target.id
            for node in self.nodes
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name)
        }

    def callee(self, call: ast.Call) -> str:
        """Return `load` for `tl.load(...)`, `.load` for a method's call, else the name."""
        name = self._aliases.dotted(call.func)
        for language in _LANGUAGES:
            if name is not None and name.startswith(language):
                return name.rpartition(".")[2]
        if isinstance(call.func, ast.Attribute):
            return f".{call.func.attr}"
        return call.func.id if isinstance(call.func, ast.Name) else ""

    def is_constexpr(self, name: str) -> bool:
        """Return whether a name is that of a parameter with the annotation of a constexpr."""
        parameter = self.parameters.get(name)
        annotation = parameter.annotation if parameter is not None else None
        return annotation is not None and "constexpr" in ast.unparse(annotation)

    def is_of_libdevice(self, call: ast.Call) -> bool:
        """Return whether a call is one of `libdevice`, whose functions nearly all take floats."""
        name = self._aliases.dotted(call.func) or ""
        return "libdevice" in name.split(".")[:-1]

    def dtype(self, node: ast.expr | None) -> str | None:
        """Return the type that `tl.int64` names, as in `int64`."""
        name = self._aliases.dotted(node) if isinstance(node, ast.Attribute | ast.Name) else None
        is_triton = name is not None and name.startswith(_LANGUAGES)
        return name.rpartition(".")[2] if name is not None and is_triton else None


def argument(call: ast.Call, index: int, name: str) -> ast.expr | None:
    """Return an argument by its position or name."""
    if index < len(call.args):
        return call.args[index]
    return next((word.value for word in call.keywords if word.arg == name), None)


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _pairs(target, value)
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name, value
        case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
            read = ast.copy_location(ast.Name(name, ast.Load()), target)
            yield name, ast.copy_location(ast.BinOp(read, op, value), target)
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        for part, source in zip(target.elts, value.elts, strict=False):
            yield from _pairs(part, source)
