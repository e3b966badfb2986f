"""The task that hashes a kernel as Triton's own JIT does for its cache.

It executes the source, as Triton's hash follows the functions that a kernel uses. Its author could
choose the hash by that, and gains nothing: only who posted the source is given the entry. Types are
spelled as the JIT spells them, as the hash sees the difference that compilers do not.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, combinations, islice
from typing import Any

import triton.language as tl
from triton._utils import canonicalize_dtype

from compiler.back import triton_api
from compiler.diagnostic import Failure
from compiler.front.ast_source import CompleteSpecialization, specialize
from compiler.front.borrowed_functions import BorrowedFunction, borrow
from compiler.front.jit_function import load_kernel
from compiler.messages.orders import CacheKeyOrder
from compiler.messages.reports import CacheKeyReport
from compiler.messages.wire import Send

_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([\d,]+)\](,.+)?>")


def jit_type_text(kind: Any, annotation_type: str = "") -> Any:
    """Return the JIT's text of a canonical type, for a tuple of them a tuple.

    `annotation_type` is the type that the parameter's annotation fixes: it names a scalar.
    """
    if isinstance(kind, tuple):
        return tuple(jit_type_text(item) for item in kind)
    if kind == "i1":
        return annotation_type or "u1"
    if kind.startswith("*"):
        return kind.removesuffix("i1") + _boolean() if kind.endswith(("*i1", "*ki1")) else kind
    match = _DESCRIPTOR.fullmatch(kind)
    return _descriptor(kind, match) if match is not None else kind


def _descriptor(kind: str, match: re.Match[str]) -> str:
    element = _boolean() if match[1] == "i1" else match[1]
    block = [int(extent) for extent in match[2].split(",")]
    layout = f",{tl.str_to_ty(kind, None).layout!r}" if match[3] else ""
    return f"tensordesc<{element}{block}{layout}>"


def _boolean() -> str:
    """Return the element type of a tensor of booleans: versions of Triton differ."""
    return str(canonicalize_dtype("int1"))


MAX_HASHES = 16

_UNSPECIALIZED = ("fp", "bf", "u1", "i1", "tensordesc")
_Path = tuple[int, ...]


def cache_key(order: CacheKeyOrder, body: bytes, send: Send) -> CacheKeyReport:
    """Return the name and the hashes of the source that Triton's JIT would compile.

    They are several where the JIT itself has several for what is one compilation: of a parameter
    with an annotated type, it leaves the attributes out where the argument is 1, a bool or None.
    The kernel may not depend on anything that is not here, which `find` refuses. Raises `Failure`.
    """
    del send
    front = order.front
    loaded, function = load_kernel(front, body.decode())
    _check_own(borrow(loaded, function))
    specialization = specialize(function, front, loaded)
    signature = {
        parameter.name: jit_type_text(
            specialization.signature[parameter.name], parameter.annotation_type
        )
        for parameter in function.params
    }
    backend = triton_api.make_backend(triton_api.target_of(front.target))
    attrs = dict(_attributes(function, specialization, backend))
    annotated = {(item.num,) for item in function.params if item.annotation_type}
    unsure = [path for path, attribute in attrs.items() if path in annotated and not attribute]
    hashes = [
        triton_api.source_of(function, signature, specialization.constexprs, some).hash()
        for some in islice(_without_some(attrs, unsure), MAX_HASHES)
    ]
    return CacheKeyReport(name=function.__name__, source_hashes=hashes)


def _check_own(borrowed: Sequence[BorrowedFunction]) -> None:
    """Raise `Failure` for a kernel whose functions are in modules that were not posted."""
    if not borrowed:
        return
    modules = list(dict.fromkeys(module for each in borrowed for module in each.modules))
    message = f"the kernel's text is not complete: it needs {' and '.join(modules)}"
    missing = Failure("missing_module", "frontend", message)
    missing.needs = modules
    raise missing


def _without_some(attrs: dict[_Path, Any], unsure: Sequence[_Path]) -> Iterator[dict[_Path, Any]]:
    """Yield `attrs` whole, without all of the `unsure`, then without one of them, two, ..."""
    some = (combinations(unsure, count) for count in range(1, len(unsure)))
    most: list[tuple[_Path, ...]] = [(), tuple(unsure)] if unsure else [()]
    for left_out in chain(most, *some):
        yield {path: attribute for path, attribute in attrs.items() if path not in left_out}


def _attributes(
    function: Any, specialization: CompleteSpecialization, backend: Any
) -> Iterator[tuple[_Path, Any]]:
    """Yield the attributes in the JIT's order: it lists those without any, too."""
    for index, parameter in enumerate(function.params):
        kind = specialization.signature[parameter.name]
        for path, leaf in _leaves((index,), kind):
            value = specialization.constexprs.get(path)
            if leaf == "constexpr":
                for place, attribute in triton_api.attributes_of_constexpr(path, value):
                    yield place, backend.parse_attr(attribute)
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
