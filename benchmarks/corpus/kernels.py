"""Finds the kernels in a package's text: jit functions that return nothing and are launched."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# other vendors' devices: these folders are never compiled for NVIDIA
_FOREIGN = ("ascend", "npu", "xpu", "cambricon", "metax", "hygon", "musa", "mthreads", "test")


@dataclass(frozen=True)
class Kernel:
    """A kernel and its location: `file` is relative to the package's unpacked folder."""

    package: str
    file: str
    name: str
    node: ast.FunctionDef
    tree: ast.Module
    configs: list[dict[str, Any]] = field(default_factory=list)
    heuristics: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        """The kernel's name in results."""
        return f"{self.package}:{self.file}:{self.name}"


def kernels_in(package: str, root: Path, folders: tuple[str, ...]) -> Iterator[Kernel]:
    """Yield the kernels of a package in file order."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            file = str(path.relative_to(root))
            if not any(word in file for word in _FOREIGN):
                yield from _kernels_of(package, file, path.read_text(errors="replace"))


def _kernels_of(package: str, file: str, text: str) -> Iterator[Kernel]:
    if "jit" not in text:
        return
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return  # a template, which is not Python
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    jitted = [node for node in functions if any(map(_is_jit, node.decorator_list))]
    called = {
        inner.id
        for node in jitted
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and inner.id != node.name
    }
    top_level = {id(node) for node in _module_level(tree.body)}
    for node in jitted:
        if id(node) in top_level and node.name not in called and not _returns(node):
            configs, heuristics = _tuning(node)
            yield Kernel(package, file, node.name, node, tree, configs, heuristics)


def _module_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try)):
            yield from _module_level([*node.body, *node.orelse])


def _is_jit(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called) in {"triton.jit", "jit", "gluon.jit"}


def _returns(node: ast.FunctionDef) -> bool:
    return any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(node))


def _tuning(node: ast.FunctionDef) -> tuple[list[dict[str, Any]], list[str]]:
    configs: list[dict[str, Any]] = []
    heuristics: list[str] = []
    for decorator in node.decorator_list:
        for inner in ast.walk(decorator):
            if not isinstance(inner, ast.Call):
                continue
            called = ast.unparse(inner.func).rsplit(".", 1)[-1]
            if called == "Config" and inner.args and isinstance(inner.args[0], ast.Dict):
                configs.append(_config(inner))
            elif called == "heuristics":
                keys = (k for d in ast.walk(inner) if isinstance(d, ast.Dict) for k in d.keys)
                heuristics += [str(k.value) for k in keys if isinstance(k, ast.Constant)]
    return configs, heuristics


def _config(call: ast.Call) -> dict[str, Any]:
    mapping = call.args[0]
    assert isinstance(mapping, ast.Dict)
    values = {
        str(key.value): value.value if isinstance(value, ast.Constant) else None
        for key, value in zip(mapping.keys, mapping.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    options = {
        k.arg: k.value.value
        for k in call.keywords
        if k.arg in {"num_warps", "num_stages"} and isinstance(k.value, ast.Constant)
    }
    return {"constexprs": values, "options": options}
