"""Finds the arguments of launches that host code makes with the dtype of another argument.

As in `out = torch.empty((m, n), dtype=a.dtype)`, or `torch.empty_like(a)`. Reads syntax only.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_MAX_DEEP = 16
_MADE_LIKE = frozenset({"empty", "zeros", "ones", "full", "rand", "randn"})
"""With `_like` of a tensor, with `new_` a method of one, else with a `dtype`."""
_SAME = frozenset(
    {
        "clone", "contiguous", "cuda", "detach", "expand", "flatten", "narrow", "permute",
        "reshape", "squeeze", "t", "transpose", "unflatten", "unsqueeze", "view", "view_as",
    }
)  # fmt: skip
"""Methods whose result has the tensor's dtype."""


@dataclass(frozen=True, slots=True)
class CopiedDtype:
    """The parameter whose argument gives the dtype, and the line of the launch."""

    parameter: str
    line: int


@dataclass(frozen=True, slots=True)
class _Origin:
    """The variable that an expression has its dtype of; `is_new` for another tensor."""

    variable: str
    is_new: bool


def copied_dtypes(
    tree: ast.Module, parameters: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], CopiedDtype]:
    """Return what parameters copy, by kernel and parameter; `parameters` are those of kernels."""
    copied: dict[tuple[str, str], CopiedDtype] = {}
    for scope in ast.walk(tree):
        if isinstance(scope, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            host = _HostCode(scope)
            for launch, kernel in host.launches(parameters):
                for name, source in host.copies(launch, parameters[kernel]):
                    copied.setdefault((kernel, name), CopiedDtype(source, launch.lineno))
    return copied


class _HostCode:
    """A module or function that may launch kernels, without the functions in it."""

    def __init__(self, scope: ast.AST) -> None:
        self._nodes = list(_own_nodes(scope))
        self._values: dict[str, ast.expr] = {}
        for node in self._nodes:
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                self._assign(node.targets[0], node.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        """Keep the last value of each name."""
        if isinstance(target, ast.Name):
            self._values[target.id] = value
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for part, item in zip(target.elts, value.elts, strict=False):
                self._assign(part, item)

    def launches(self, known: Mapping[str, object]) -> Iterator[tuple[ast.Call, str]]:
        """Yield the launches, `kernel[grid](...)`, of `known` kernels."""
        for node in self._nodes:
            match node:
                case ast.Call(
                    func=ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name))
                ) if name in known:
                    yield node, name

    def copies(self, launch: ast.Call, parameters: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield each parameter whose tensor has the dtype of another one's, with that."""
        origins = {
            name: origin
            for name, value in _arguments(launch, parameters)
            if (origin := self._origin(value)) is not None
        }
        own: dict[str, str] = {}
        for name, origin in origins.items():
            if not origin.is_new:
                own.setdefault(origin.variable, name)
        for name, origin in origins.items():
            if origin.is_new and origin.variable in own:
                yield name, own[origin.variable]

    def _origin(self, node: ast.expr, depth: int = 0) -> _Origin | None:
        """Return where the dtype of a tensor comes from, None where that is not known."""
        if depth > _MAX_DEEP:
            return None
        match node:
            case ast.Name(id=name):
                value = self._values.get(name)
                known = None if value is None else self._origin(value, depth + 1)
                return known or _Origin(name, is_new=False)
            case ast.Attribute(value=inner, attr="T" | "mT" | "data") | ast.Subscript(value=inner):
                return self._origin(inner, depth + 1)
            case ast.Call(func=ast.Attribute(value=owner, attr=name)):
                return self._made(node, owner, name, depth + 1)
        return None

    def _made(self, call: ast.Call, owner: ast.expr, name: str, depth: int) -> _Origin | None:
        dtype = next((word.value for word in call.keywords if word.arg == "dtype"), None)
        source: ast.expr | None
        if name in _SAME:
            return self._origin(owner, depth) if dtype is None else None
        if name.removesuffix("_like").removeprefix("new_") not in _MADE_LIKE:
            return None
        if dtype is not None:
            source = self._tensor_of(dtype)
        elif name.endswith("_like"):
            source = call.args[0] if call.args else None
        else:
            source = owner if name.startswith("new_") else None
        origin = None if source is None else self._origin(source, depth)
        return None if origin is None else _Origin(origin.variable, is_new=True)

    def _tensor_of(self, dtype: ast.expr) -> ast.expr | None:
        """Return the tensor in `tensor.dtype`, also by way of a name."""
        if isinstance(dtype, ast.Name):
            dtype = self._values.get(dtype.id, dtype)
        match dtype:
            case ast.Attribute(value=tensor, attr="dtype"):
                return tensor
        return None


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes in their order, without those of functions inside."""
    pending = [scope]
    while pending:
        node = pending.pop()
        yield node
        inner = list(ast.iter_child_nodes(node))
        pending += reversed([n for n in inner if not isinstance(n, _FUNCTIONS)])


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _arguments(launch: ast.Call, parameters: Sequence[str]) -> Iterator[tuple[str, ast.expr]]:
    for name, value in zip(parameters, launch.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        yield name, value
    for word in launch.keywords:
        if word.arg is not None and word.arg in parameters:
            yield word.arg, word.value
