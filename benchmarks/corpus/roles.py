"""Finds the roles of a kernel's parameters in its body: pointers, floats, descriptors."""

import ast
from collections.abc import Iterator
from functools import cache

_THROUGH_POINTERS = frozenset(
    {
        "load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg",
        "atomic_and", "atomic_or", "make_block_ptr", "make_tensor_descriptor", "multiple_of",
    }
)  # fmt: skip
_OF_DESCRIPTORS = frozenset({"load", "store", "load_tensor_descriptor", "atomic_add", "gather"})


@cache
def pointers(node: ast.FunctionDef, tree: ast.Module) -> set[str]:
    """Return the parameters whose addresses are loaded or stored, also in helpers."""
    functions = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}
    return _pointers(node, functions, 0)


@cache
def descriptors(node: ast.FunctionDef) -> dict[str, int]:
    """Return the parameters used as tensor descriptors, `desc.load([...])`, with their rank."""
    own = {argument.arg for argument in node.args.args}
    ranks: dict[str, int] = {}
    for call in _calls(node):
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            name = call.func.value.id
            offsets = call.args[0] if call.args else None
            if name in own and call.func.attr in _OF_DESCRIPTORS and isinstance(offsets, ast.List):
                ranks[name] = len(offsets.elts)
    return ranks


def _pointers(node: ast.FunctionDef, functions: dict[str, ast.FunctionDef], depth: int) -> set[str]:
    sources: dict[str, set[str]] = {}
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Assign, ast.AugAssign)):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    sources.setdefault(target.id, set()).update(_bases(inner.value))
    used: set[str] = set()
    for call in _calls(node):
        name = ast.unparse(call.func).rsplit(".", 1)[-1]
        if name in _THROUGH_POINTERS and call.args and not _is_method(call):
            used |= _bases(call.args[0])
        elif name in functions and depth < 3:
            used |= _passed_on(call, functions[name], functions, depth)
    waiting, seen = list(used), set(used)
    while waiting:
        new = sources.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen & {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}


def _is_method(call: ast.Call) -> bool:
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id not in {"tl", "language", "gl", "ttgl"}


def _passed_on(
    call: ast.Call, callee: ast.FunctionDef, functions: dict[str, ast.FunctionDef], depth: int
) -> set[str]:
    wanted = _pointers(callee, functions, depth + 1)
    arguments = dict(zip([a.arg for a in callee.args.args], call.args, strict=False))
    arguments |= {k.arg: k.value for k in call.keywords if k.arg}
    return {base for name in wanted if name in arguments for base in _bases(arguments[name])}


def _bases(node: ast.expr) -> set[str]:
    """Return the names that an address may start from: the leftmost operands of its sums."""
    match node:
        case ast.Name(id=name):
            return {name}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _bases(left) | (_bases(right) if isinstance(right, ast.Name) else set())
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr=attr), args=[first, *_]):
            return _bases(first) if attr in {"advance", "multiple_of", "broadcast_to"} else set()
        case ast.Call(func=ast.Attribute(value=value, attr="to" | "cast")):
            return _bases(value)
        case ast.Subscript(value=value):
            return _bases(value)
        case ast.IfExp(body=body, orelse=other):
            return _bases(body) | _bases(other)
    return set()


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
