"""The task that hashes a kernel as Triton's own JIT does for its cache.

It loads the slice, as Triton's hash follows the functions that a kernel uses, but only one that
runs no code of its author's: what does could choose the key that others find the kernel by.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations, islice
from typing import Any

from compiler.excerpt import KERNEL_FOLDER
from compiler.making import toolchain
from compiler.making.hashed import check_hashed
from compiler.making.inert import check_inert
from compiler.making.jit_spelling import as_jit_says
from compiler.making.kernel import find
from compiler.making.module import MODULE, load
from compiler.making.specialization import Specialization, specialize

Send = Callable[[dict[str, Any], bytes], None]

MOST_HASHES = 16

_UNSPECIALIZED = ("fp", "bf", "u1", "i1", "tensordesc")
_Path = tuple[int, ...]


def cache_key(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Return the name and the hashes of the source that Triton's JIT would compile.

    They are several where the JIT itself has several for what is one compilation: of a parameter
    with an annotated type, it leaves the attributes out where the argument is 1, a bool or None.
    `header` is that of `front` with `sources`: the posted texts by path. Decorators count there,
    as the hash holds the line that a function begins on. Raises `Failure`.
    """
    del send
    text, files = body.decode(), header.get("files") or {}
    check_inert(text, files)
    loaded = load(text, files, name=MODULE)
    function = find(loaded, header.get("kernel"), header.get("touched"))
    check_hashed(function)
    specialization = specialize(function, header, loaded)
    _give_first_lines(header["sources"])
    signature = {
        parameter.name: as_jit_says(
            specialization.signature[parameter.name], parameter.annotation_type
        )
        for parameter in function.params
    }
    backend = toolchain.make_backend(toolchain.target_of(header["target"]))
    attrs = dict(_attributes(function, specialization, backend))
    annotated = {(item.num,) for item in function.params if item.annotation_type}
    unsure = [path for path, said in attrs.items() if path in annotated and not said]
    hashes = [
        toolchain.source_of(function, signature, specialization.constexprs, told).hash()
        for told in islice(_without_some(attrs, unsure), MOST_HASHES)
    ]
    return {"name": function.__name__, "source_hashes": hashes}


def _without_some(attrs: dict[_Path, Any], unsure: Sequence[_Path]) -> Iterator[dict[_Path, Any]]:
    """Yield `attrs` whole, without all of the `unsure`, then without one of them, two, ..."""
    some = (combinations(unsure, count) for count in range(1, len(unsure)))
    most: list[tuple[_Path, ...]] = [(), tuple(unsure)] if unsure else [()]
    for left_out in chain(most, *some):
        yield {path: said for path, said in attrs.items() if path not in left_out}


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


def _attributes(
    function: Any, specialization: Specialization, backend: Any
) -> Iterator[tuple[_Path, Any]]:
    """Yield the attributes in the JIT's order: it lists those without any, too."""
    for index, parameter in enumerate(function.params):
        kind = specialization.signature[parameter.name]
        for path, leaf in _leaves((index,), kind):
            value = specialization.constexprs.get(path)
            if leaf == "constexpr":
                for place, said in toolchain.attributes_of_constexpr(path, value):
                    yield place, backend.parse_attr(said)
            elif leaf.startswith(_UNSPECIALIZED):
                continue
            elif len(path) > 1 or not parameter.do_not_specialize:  # the items of a tuple always
                yield path, specialization.attrs.get(path, [])


def _leaves(path: _Path, kind: Any) -> Iterator[tuple[_Path, str]]:
    if isinstance(kind, tuple):
        for index, item in enumerate(kind):
            yield from _leaves((*path, index), item)
    else:
        yield path, kind
