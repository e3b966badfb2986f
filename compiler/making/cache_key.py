"""The task that hashes a kernel as Triton's own JIT does for its cache.

It executes the slice, like `front`: Triton's hash follows the functions that a kernel uses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from compiler.excerpt import KERNEL_FOLDER
from compiler.making import toolchain
from compiler.making.kernel import find
from compiler.making.module import MODULE, load
from compiler.making.specialization import Specialization, specialize

Send = Callable[[dict[str, Any], bytes], None]

_UNSPECIALIZED = ("fp", "bf", "u1", "i1", "tensordesc")
_Path = tuple[int, ...]


def cache_key(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Return the name and the hash of the source that Triton's JIT would compile.

    `header` is that of `front` with `sources`: the posted texts by path. Decorators count there,
    as the hash holds the line that a function begins on. Raises `Failure`.
    """
    del send
    whole = not header.get("complete", True)
    loaded = load(body.decode(), header.get("files") or {}, whole=whole, name=MODULE)
    function = find(loaded, header.get("kernel"))
    specialization = specialize(function, header, loaded)
    _give_first_lines(header["sources"])
    signature = {
        parameter.name: _as_jit_says(specialization.signature[parameter.name], parameter)
        for parameter in function.params
    }
    backend = toolchain.make_backend(toolchain.target_of(header["target"]))
    attrs = dict(_attributes(function, specialization, backend))
    source = toolchain.source_of(function, signature, specialization.constexprs, attrs)
    return {"name": function.__name__, "source_hash": source.hash()}


def _give_first_lines(sources: Mapping[str, str]) -> None:
    """Have every function begin where it does in the text that was posted."""
    lines = {KERNEL_FOLDER + path: _first_lines(text) for path, text in sources.items()}
    for function in toolchain.jit_functions():
        known = lines.get(toolchain.definition_path(function), {})
        line = known.get(toolchain.definition_line(function))
        if line is not None:
            function.starting_line_number = line


def _first_lines(text: str) -> dict[int, int]:
    """Return the line of the first decorator, by that of the `def`."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    return {
        node.lineno: min([node.lineno, *(item.lineno for item in node.decorator_list)])
        for node in functions
    }


def _as_jit_says(kind: Any, parameter: Any) -> Any:
    """Return a type as the JIT writes it: a bool that is not annotated is u1."""
    if isinstance(kind, tuple):
        return tuple(_as_jit_says(item, parameter) for item in kind)
    return "u1" if kind == "i1" and not parameter.annotation_type else kind


def _attributes(
    function: Any, specialization: Specialization, backend: Any
) -> Iterator[tuple[_Path, Any]]:
    """Yield the attributes in the JIT's order: it lists those without any, too."""
    for index, parameter in enumerate(function.params):
        kind = specialization.signature[parameter.name]
        for path, leaf in _leaves((index,), kind):
            if leaf == "constexpr":
                said = toolchain.attribute_of_constexpr(specialization.constexprs.get(path))
                if said is not None:
                    yield path, backend.parse_attr(said)
            elif not parameter.do_not_specialize and not leaf.startswith(_UNSPECIALIZED):
                yield path, specialization.attrs.get(path, [])


def _leaves(path: _Path, kind: Any) -> Iterator[tuple[_Path, str]]:
    if isinstance(kind, tuple):
        for index, item in enumerate(kind):
            yield from _leaves((*path, index), item)
    else:
        yield path, kind
