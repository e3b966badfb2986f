"""Reads the grid of a kernel where its package launches it: `kernel[grid](...)`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_CEILING = frozenset({"cdiv", "ceil_div", "ceildiv", "cdiv_fn"})
_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}
_TAKEN = frozenset({"sizes", "any", "values", "grid", "cdiv", "min", "max"})


@dataclass
class LaunchGrid:
    """Expressions of a grid, "" for one that cannot be read, and the sizes in them."""

    axes: list[str] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)


def launch_grid(root: Path, file: str, kernel: ast.FunctionDef) -> LaunchGrid:
    """Return the grid of the first launch of a kernel in its file, or in one next to it."""
    own = root / file
    for path in [
        own,
        *sorted(neighbour for neighbour in own.parent.glob("*.py") if neighbour != own),
    ]:
        text = path.read_text(errors="replace")
        if f"{kernel.name}[" not in text:
            continue
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        for function, call in _launches(tree, kernel.name):
            grid = _Reader(function, call, kernel).grid()
            if any(grid.axes):
                return grid
    return LaunchGrid()


def _launches(tree: ast.Module, kernel: str) -> Iterator[tuple[ast.FunctionDef, ast.Call]]:
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Subscript(value=ast.Name(id=name))) if name == kernel:
                    yield function, node


class _Reader:
    def __init__(self, function: ast.FunctionDef, call: ast.Call, kernel: ast.FunctionDef) -> None:
        self._function, self._call = function, call
        parameters = [*kernel.args.args, *kernel.args.kwonlyargs]
        self._parameters = [parameter.arg for parameter in parameters]
        self._constants = {
            parameter.arg
            for parameter in parameters
            if parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)
        }
        self._arguments = dict(zip(self._parameters, call.args, strict=False))
        self._arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        self._by_text = {ast.unparse(value): name for name, value in self._arguments.items()}
        self._sizes: list[str] = []

    def grid(self) -> LaunchGrid:
        """Return what can be read of the grid."""
        assert isinstance(self._call.func, ast.Subscript)
        written = self._resolved(self._call.func.slice)
        if not isinstance(written, ast.Tuple | ast.List):
            return LaunchGrid()
        axes = [self._expression(axis, 0) for axis in written.elts]
        return LaunchGrid(axes, sorted(set(self._sizes)))

    def _resolved(self, node: ast.expr) -> ast.expr | None:
        if isinstance(node, ast.Lambda):
            return node.body
        if isinstance(node, ast.Name):
            for inner in ast.walk(self._function):
                match inner:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == node.id:
                        return self._resolved(value)
                    case ast.FunctionDef(name=name, body=[*_, ast.Return(value=value)]) if (
                        name == node.id and value is not None
                    ):
                        return value
            return None
        return node

    def _expression(self, node: ast.expr, depth: int) -> str:
        """Return an expression of a contract, "" where there is none."""
        known = self._by_text.get(ast.unparse(node))
        match node:
            case ast.Constant(value=int(value)):
                return str(value)
            case _ if known is not None:
                return known
            case ast.Subscript(value=ast.Name(), slice=ast.Constant(value=str(name))):
                return name if name in self._parameters else ""
            case ast.Call(func=function, args=[a, b]) if _last(function) in _CEILING:
                return self._joined("cdiv({}, {})", a, b, depth)
            case ast.Call(func=ast.Name(id="min" | "max" as which), args=[a, b]):
                return self._joined(which + "({}, {})", a, b, depth)
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _OPERATORS:
                return self._joined("({} " + _OPERATORS[type(op)] + " {})", a, b, depth)
            case ast.Name(id=name):
                value = self._assigned(name)
                text = self._expression(value, depth + 1) if value and depth < 4 else ""
                return text or self._size(name)
            case ast.Attribute() | ast.Subscript() | ast.Call():
                return ""
        return ""

    def _joined(self, form: str, a: ast.expr, b: ast.expr, depth: int) -> str:
        first, second = self._expression(a, depth), self._expression(b, depth)
        return form.format(first, second) if first and second else ""

    def _assigned(self, name: str) -> ast.expr | None:
        values = [
            inner.value
            for inner in ast.walk(self._function)
            if isinstance(inner, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == name for target in inner.targets)
        ]
        return values[0] if len(values) == 1 else None

    def _size(self, name: str) -> str:
        made = f"{name}_" if name in self._parameters or name in _TAKEN else name
        self._sizes.append(made)
        return made


def _last(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]
