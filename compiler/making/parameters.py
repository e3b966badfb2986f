"""The task that asks a kernel's own `JITFunction` what Triton sees in its parameters.

It executes the slice, like `front`; it is for sources whose text alone cannot tell (see `facts`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import triton.language as tl

from compiler.making import machine, tagged, toolchain
from compiler.making.kernel import find
from compiler.making.module import MODULE, load

Send = Callable[[dict[str, Any], bytes], None]


def parameters(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Return the kernel's name, its line, and its parameters as `facts` describes them.

    Annotations are those that Triton derived: a type, something with `constexpr`, or null. `header`
    has `kernel`, `files`, `touched` and `target`, as that of `front`. Raises `Failure`.
    """
    del send
    machine.pretend(toolchain.target_of(header["target"]))
    loaded = load(body.decode(), header.get("files") or {}, name=MODULE)
    function = find(loaded, header.get("kernel"), header.get("touched"))
    return {
        "kernel": function.__name__,
        "line": toolchain.definition_line(function),
        "parameters": [_described(parameter) for parameter in function.params],
    }


def _described(parameter: Any) -> dict[str, Any]:
    fixed = "tl.constexpr" if parameter.is_constexpr else parameter.annotation_type
    return {
        "name": parameter.name,
        "annotation": fixed or None,
        "constexpr": parameter.is_constexpr,
        "const": parameter.is_const,
        "default": _default(parameter) if parameter.has_default else None,
        "do_not_specialize": parameter.do_not_specialize,
        "do_not_specialize_on_alignment": parameter.do_not_specialize_on_alignment,
    }


def _default(parameter: Any) -> dict[str, Any]:
    value = parameter.default
    if isinstance(value, tl.constexpr) and _is_plain(value.value):
        return {"literal": tagged.encode(value), "constexpr": True}
    # an argument that counts as a number is passed as one; a constant stays the object it is
    is_number = isinstance(value, (int, float)) and not parameter.is_constexpr
    if is_number or _is_plain(value):
        return {"literal": tagged.encode(value)}
    return {"expression": f"a value of type {type(value).__name__}"}


def _is_plain(value: Any) -> bool:
    """Return whether tagged JSON says all there is to a value."""
    if type(value) is tuple:
        return all(_is_plain(item) for item in value)
    said = (type(None), bool, int, float, str)
    return type(value) in said or isinstance(value, (tl.dtype, toolchain.JITFunction))
