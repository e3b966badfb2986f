"""The JSON Schema of a tape on the wire, for the service's OpenAPI.

`read_tape` decides: it also checks rules that no schema can express. The schema has no references,
so that it can be embedded anywhere.
"""

from collections.abc import Mapping
from typing import Any

from programs.tape.read_tape import VERSION
from programs.tape.read_values import DEVICES
from programs.tape.schema import (
    ELEMENT_BYTES,
    MAX_GRID,
    MAX_OPS,
    MAX_RANK,
    MAX_TENSORS,
    MAX_VARIANTS,
    PHASES,
)

Schema = Mapping[str, Any]


def _object(required: Schema, optional: Schema | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _by_name(values: Schema, description: str) -> Schema:
    return {"type": "object", "additionalProperties": values, "description": description}


_INDEX: Schema = {"type": "integer", "minimum": 0}
_TEXT: Schema = {"type": "string"}
_SIZES = _list(_INDEX, maxItems=MAX_RANK)
_TENSOR: Schema = {
    "type": "array",
    "prefixItems": [
        {"enum": list(ELEMENT_BYTES)}, {"enum": list(DEVICES)}, _SIZES, _SIZES, _INDEX, _INDEX,
    ],
    "minItems": 6,
    "maxItems": 6,
    "description": (
        "element type, device, shape, strides and offset (in elements), index of its storage"
    ),
}  # fmt: skip
_STRUCTURE: Schema = {
    "type": ["object", "string", "number", "boolean", "null"],
    "description": (
        'a scalar, a tensor `{"t": index}`, or `{"list": [...]}`, `{"tuple": [...]}`, '
        '`{"dict": {...}}` of these'
    ),
}
_ARGUMENT: Schema = {
    "type": ["object", "string", "number", "boolean", "null"],
    "description": (
        'a scalar, or one of `{"t": index}`, `{"list": [...]}`, `{"dtype": "fp32"}`, '
        '`{"device": "cuda"}`, `{"layout": "strided"}`, `{"memory_format": "channels_last"}`, '
        '`{"generator": number}`, `{"float": "inf"}`, `{"complex": [re, im]}`'
    ),
}
_KERNEL_ARGUMENT: Schema = {
    "type": ["object", "string", "number", "boolean", "null"],
    "description": (
        'a scalar, or one of `{"t": index}`, `{"tuple": [...]}`, `{"dtype": "fp32"}`, '
        '`{"float": "inf"}`, `{"kernel": name}`, '
        '`{"descriptor": {"t", "shape", "strides", "block_shape"}}`, '
        '`{"reinterpreted": {"t", "dtype"}}`'
    ),
}
_PLACE: Schema = {"type": ["string", "null"], "description": "the user's line, `file.py:14`"}
_PHASE: Schema = {"enum": list(PHASES)}
_CONFIGURATION: Schema = {
    "grid": {
        "type": "array",
        "prefixItems": [{**_INDEX, "maximum": most} for most in MAX_GRID],
        "minItems": len(MAX_GRID),
        "maxItems": len(MAX_GRID),
    },
    "constexprs": _by_name(_KERNEL_ARGUMENT, "by parameter"),
    "options": _by_name({"type": ["integer", "boolean", "string"]}, "num_warps and others"),
}
_UNPREPARED: Schema = {
    "unprepared": {
        "type": "boolean",
        "description": "its `pre_hook` was not recorded, so it is compiled, but never run",
    }
}
_ATEN = _object(
    {
        "op": {"type": "string", "pattern": r"^aten\.\w+\.\w+$"},
        "a": _list(_ARGUMENT),
        "o": _list({"type": ["integer", "null"], "minimum": 0}),
        "phase": _PHASE,
    },
    {"k": _by_name(_ARGUMENT, "by keyword"), "line": _PLACE},
)
_SEED = _object(
    {"op": {"const": "seed"}, "seed": {"type": "integer"}, "phase": _PHASE},
    {
        "generator": {**_INDEX, "description": "one of the program's own; default: torch's"},
        "device": {
            "enum": list(DEVICES),
            "description": "the device of torch's generator; default: both devices",
        },
        "line": _PLACE,
    },
)
_LAUNCH = _object(
    {
        "op": {"const": "launch"},
        "kernel": _TEXT,
        "args": _by_name(_KERNEL_ARGUMENT, "by parameter, without constexprs"),
        **_CONFIGURATION,
        "phase": _PHASE,
    },
    {
        "variants": _list(_object(_CONFIGURATION, _UNPREPARED), maxItems=MAX_VARIANTS),
        "reset_to_zero": _list(_TEXT),
        "restore_value": _list(_TEXT),
        "allocator": {
            "type": "boolean",
            "description": "`triton.set_allocator` had been called; default: false",
        },
        "tunes": {
            "type": "boolean",
            "description": "Triton would run the variants several times first; default: false",
        },
        "hook_ops": {
            **_INDEX,
            "description": "number of ops before it that a `pre_hook` did; default: 0",
        },
        "line": _PLACE,
    },
)
_KERNEL = _object(
    {
        "file": _TEXT,
        "name": _TEXT,
        "line": _INDEX,
        "parameters": _list(_object({"name": _TEXT, "constexpr": {"type": "boolean"}})),
    }
)
TAPE_SCHEMA: Mapping[str, Any] = {
    "title": "Tape",
    "description": "A recorded program: its ATen ops, launches and seeds, in order.",
    **_object(
        {
            "tape": {"const": VERSION},
            "torch": _TEXT,
            "tensors": _list(_TENSOR, maxItems=MAX_TENSORS),
            "storages": _list(_INDEX, maxItems=MAX_TENSORS, description="bytes of each"),
            "kernels": _by_name(_KERNEL, "jitted functions of the program"),
            "constants": _by_name(_TEXT, "base64 of a tensor's bytes, by its index"),
            "seed": {"type": "integer"},
            "inputs": _list(_STRUCTURE),
            "inputs2": _list(_STRUCTURE),
            "params": _list({"type": "array", "prefixItems": [_TEXT, _INDEX]}),
            "outputs": _STRUCTURE,
            "outputs2": _STRUCTURE,
            "ops": _list(
                {
                    "oneOf": [
                        {"title": "AtenOp", **_ATEN},
                        {"title": "SeedOp", **_SEED},
                        {"title": "LaunchOp", **_LAUNCH},
                    ]
                },
                maxItems=MAX_OPS,
            ),
        },
        {
            "init_inputs": _list(_STRUCTURE),
        },
    ),
}
"""JSON Schema 2020-12."""
