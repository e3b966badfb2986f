"""The task that shows where the elements of each tensor of a TTGIR module are.

Triton computes it: a function whose parameters have the module's types is parsed, and each type's
layout is asked for its linear form, in which powers of two of a register, lane or warp represent
offsets into the tensor. Offsets of all others are the XOR of these.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from compiler.back import contexts, ir_module, locations, triton_api
from compiler.diagnostic import Failure
from compiler.messages.orders import LayoutsOrder
from compiler.messages.wire import Send

MAX_TYPES = 400
"""Limit of the types of one module; later ones are left out, and the answer reports it."""
_TYPE = re.compile(r"(?:!tt\.tensordesc|!ttg\.memdesc|\btensor)<")
_ALIAS = re.compile(r"^#(?!loc\d*\b)\w+ = .*$", re.MULTILINE)
_ALIASED = re.compile(r"^(#\w+) = (#[\w.]+)", re.MULTILINE)
_MODULE = re.compile(r"^module attributes (\{.*\}) \{", re.MULTILINE)
_SHAPE = re.compile(r"[^<]*<((?:\d+x)+)")
_ALLOCATED = re.compile(r", ((?:\d+x)*\d+)>$")
_SCALES_RANK = 2
"""The rank of tensor memory for scales, whose layout has no attribute for it."""
_ENCODING = re.compile(r"[^<]*<[^,]*, (#[\w.]+)")
_FORMS = {
    "distributed": {
        "register": "reg_bases", "lane": "lane_bases", "warp": "warp_bases", "block": "block_bases",
    },
    "shared": {"offset": "offset_bases", "block": "block_bases"},
    "tensor_memory": {"row": "rows", "column": "cols"},
}  # fmt: skip
"""The attributes of Triton's linear layouts, by our names of the units that hold elements."""


def layouts(order: LayoutsOrder, body: bytes, send: Send) -> None:
    """Send the layouts of the TTGIR `body`, as JSON. Raises `Failure` if it cannot be parsed."""
    text = body.decode()
    ir_module.check_size(text, "ttgir", order.ir_bounds)
    types = list(dict.fromkeys(_types_in(text)))
    shown = types[:MAX_TYPES]
    backend = triton_api.make_backend(triton_api.target_of(order.target))
    context = contexts.new_context(backend)
    try:
        module = locations.parse(_function_of(text, shown), context)
        function = module.get_function("types")
    except (RuntimeError, ValueError) as error:
        message = f"the types of this TTGIR cannot be parsed again: {error}"
        raise Failure("lowering_failed", "ttgir", message) from error
    builder = triton_api.gluon_ir.GluonOpBuilder(context)
    aliases = dict(_ALIASED.findall(text))
    described = [
        _described(name, aliases, builder, function.args(index)) for index, name in enumerate(shown)
    ]
    answer = {"layouts": described, "truncated": len(types) > len(shown)}
    send({"kind": "stage", "stage": "layouts", "ms": 0.0}, json.dumps(answer).encode())


def _types_in(text: str) -> Iterator[str]:
    """Yield the types with a layout; those of descriptors are in global memory, and have none."""
    place = 0
    while match := _TYPE.search(text, place):
        place = _end_of(text, match.end())
        written = text[match.start() : place]
        if "#" in written and not written.startswith("!tt.tensordesc"):
            yield written


def _end_of(text: str, start: int) -> int:
    """Return the place behind the bracket that closes the one before `start`."""
    depth = 1
    for match in re.compile(r"->|[<>]").finditer(text, start):
        depth += {"<": 1, ">": -1}.get(match[0], 0)
        if not depth:
            return match.end()
    return len(text)


def _function_of(text: str, types: list[str]) -> str:
    """Return a module with the same aliases and attributes, whose function takes `types`."""
    attributes = _MODULE.search(text)
    parameters = ", ".join(f"%{index}: {name}" for index, name in enumerate(types))
    head = f"module attributes {attributes[1]}" if attributes else "module"
    function = f"tt.func public @types({parameters}) {{ tt.return }}"
    return "\n".join([*_ALIAS.findall(text), f"{head} {{ {function} }}", ""])


def _described(name: str, aliases: Mapping[str, str], builder: Any, value: Any) -> dict[str, Any]:
    match = _SHAPE.match(name)
    shape = [int(extent) for extent in match[1].split("x") if extent] if match else []
    described = {"type": name, "shape": shape, "kind": None, "bases": None, "problem": None}
    is_memory = not name.startswith("tensor")
    if is_memory and not triton_api.TELLS_MEMORY_LAYOUTS:
        return described | {"problem": f"{_untold(name, aliases)}."}  # asking ends the process
    if is_memory and (problem := _part_of_memory(name, shape)):
        return described | {"problem": problem}
    try:
        if is_memory:
            layout = builder.get_gluon_layout_from_memdesc(value)
            shape = shape[-_rank_of(layout) :]  # without the number of buffers
        else:
            layout = builder.get_gluon_layout_from_tensor(value)
        kind, bases = _linear(builder, layout, shape)
    except Exception as error:  # noqa: BLE001 - the answer reports it: bindings lack some layouts
        return described | {"problem": f"{_untold(name, aliases)}: {error}"[:500]}
    return described | {"shape": shape, "kind": kind, "bases": bases}


def _part_of_memory(name: str, shape: list[int]) -> str | None:
    """Return why a part of an allocation is not drawn: its offsets depend on where it begins."""
    allocated = _ALLOCATED.search(name)
    if allocated is None or [*map(int, allocated[1].split("x"))][-len(shape) :] == shape:
        return None
    return (
        f"This is a part of {allocated[1]} elements; only its operation shows where it begins. "
        "See the type of the whole, where it is allocated."
    )


def _untold(name: str, aliases: Mapping[str, str]) -> str:
    """Return that a layout is not drawn, by its name in Triton, and where to look instead."""
    match = _ENCODING.match(name)
    written = match[1] if match else "this layout"
    encoding = aliases.get(written, written).removeprefix("#")
    return (
        f"The Python bindings of this Triton do not describe {encoding}. "
        "See the types of the tensors that are stored there or loaded from it"
    )


def _rank_of(layout: Any) -> int:
    """Return how many dimensions a layout of memory has; that of tensor memory has no rank."""
    for name in ("order", "shape", "block"):
        if hasattr(layout, name):
            return len(getattr(layout, name))
    if hasattr(layout, "rank"):
        return int(layout.rank)
    return len(layout.offset_bases[0]) if hasattr(layout, "offset_bases") else _SCALES_RANK


def _linear(builder: Any, layout: Any, shape: list[int]) -> tuple[str, dict[str, Any]]:
    """Return the unit that holds the elements, and the bases of each of its coordinates."""
    if math.prod(shape) == 1 and type(layout).__name__ == "SwizzledSharedLayout":
        return "shared", {"offset": [], "block": []}  # a barrier; its linear form has no bases
    if not hasattr(layout, "offset_bases"):
        # also of a linear one, which may be larger than the tensor
        layout = builder.to_linear_layout(layout._to_ir(builder), shape)
    for kind, names in _FORMS.items():
        if all(hasattr(layout, name) for name in names.values()):
            return kind, {ours: getattr(layout, theirs) for ours, theirs in names.items()}
    message = f"its linear form is a {type(layout).__name__}"
    raise ValueError(message)
