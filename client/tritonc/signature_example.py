"""Types by example: the signature that Triton's JIT would choose for such arguments.

`Client.inspect` returns the parameters of a file; no source is read here. The service checks that
types exist and fit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tritonc.target_names import target_name
from tritonc.upload import Upload

DIVISIBLE, RANGE_32 = "divisible_by_16", "pointer_range_32"
_ALIGNMENT = 16
_MAX_RANGE_BYTES = 2**31 - 1
_I32, _I64 = range(-(2**31), 2**31), range(-(2**63), 2**63)
_BITS = (8, 16, 32, 64)
_NAMES = {
    **{f"{sign}int{bits}": f"{sign[:1] or 'i'}{bits}" for sign in ("", "u") for bits in _BITS},
    **dict.fromkeys(("bool", "int1", "uint1", "i1"), "u1"),
    "int": "i32",
    "float": "fp32",
    "half": "fp16",
    "double": "fp64",
    "bfloat16": "bf16",
    **{f"float{bits}": f"fp{bits}" for bits in _BITS[1:]},
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
    "float8e4b15": "fp8e4b15",
    "float8e4b8": "fp8e4b8",
    "float8e5b16": "fp8e5b16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
}
_DTYPES = frozenset(_NAMES.values())
_POINTER_TYPE = re.compile(r"(?:\w+\.)*pointer_type\(\s*([\w.]+)\s*(?:,.*)?\)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Specialization:
    """The result of the examples, in the form of a compile request."""

    signature: dict[str, str] = field(default_factory=dict)
    constexprs: dict[str, Any] = field(default_factory=dict)
    hints: dict[str, list[str]] = field(default_factory=dict)


def signature_of(
    arguments: Mapping[str, Any],
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    target: str = "cuda",
) -> Specialization:
    """Return the specialization of a kernel that is launched with `arguments`.

    The arguments are those of a launch request: buffers, numbers, booleans, None. A buffer counts
    as divisible by 16, like any allocation, unless its `offset` or `align_bytes` do not fit; an
    integer by its value, and 1 is a constant. `parameters` are the results of `inspect` by name:
    constexprs, types fixed by annotations, and parameters that are not specialized. `target`
    matters for AMD, whose buffers below 2 GiB get another hint. Raises ValueError for an argument
    that does not determine a type.
    """
    made = Specialization()
    for name, argument in arguments.items():
        fact = (parameters or {}).get(name, {})
        if fact.get("constexpr") or argument is None:
            made.constexprs[name] = argument["value"] if _has_value(argument) else argument
            continue
        try:
            kind, hints = _typed(argument, fact, is_hip=target_name(target).startswith("hip"))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{name}: {error}") from error
        made.signature[name] = kind
        if hints:
            made.hints[name] = hints
    return made


def _typed(argument: Any, fact: Mapping[str, Any], *, is_hip: bool) -> tuple[str, list[str]]:
    if isinstance(argument, Upload):
        argument = argument.described()
    if isinstance(argument, Mapping) and "shape" in argument:
        return _buffer(argument, fact, is_hip=is_hip)
    return _scalar(argument, fact), []


def _buffer(
    buffer: Mapping[str, Any], fact: Mapping[str, Any], *, is_hip: bool
) -> tuple[str, list[str]]:
    element = dtype_of(str(buffer["dtype"]))
    pointer = ("*k" if fact.get("const") else "*") + element
    fixed = annotated(fact.get("annotation"))
    if fixed is not None and fixed.startswith("*"):
        pointer = fixed
    elif fixed is not None:
        raise ValueError(f"it is annotated {fact['annotation']}, which is not a buffer")
    if fact.get("do_not_specialize"):
        return pointer, []
    size = _item_bytes(element)
    is_aligned = buffer.get("offset", 0) * size % _ALIGNMENT == 0
    is_aligned &= (buffer.get("align_bytes") or _ALIGNMENT) % _ALIGNMENT == 0
    is_divisible = is_aligned and not fact.get("do_not_specialize_on_alignment")
    is_small = is_hip and _elements(buffer) * size <= _MAX_RANGE_BYTES
    if is_small:
        return pointer, [DIVISIBLE, RANGE_32] if is_divisible else [RANGE_32]
    return pointer + (":16" if is_divisible else ""), []


def _scalar(argument: Any, fact: Mapping[str, Any]) -> str:
    has_dtype = _has_value(argument) and argument.get("dtype") is not None
    written = dtype_of(str(argument["dtype"])) if has_dtype else None
    value = argument["value"] if _has_value(argument) else argument
    fixed = annotated(fact.get("annotation")) or written
    if fixed is not None and fixed.startswith("*"):
        raise ValueError(f"it is annotated {fact['annotation']}, and {value!r} is not a buffer")
    match value:
        case bool():
            kind = "u1"
        case int():
            kind = "i32" if value in _I32 else "i64" if value in _I64 else "u64"
        case float():
            kind = "fp32"
        case _:
            raise ValueError(f"{value!r} does not give a type; write 4.0, 16 or fp32[4096]")
    if fixed is not None and not _holds(fixed, value):
        raise ValueError(f"{value!r} is not a {fixed}, the type of this parameter")
    if isinstance(value, bool) or (fixed or kind)[0] not in "iu" or fixed == "u1":
        return fixed or kind
    return (fixed or kind) + _suffix(int(value), fact, is_fixed=fixed is not None)


def _holds(dtype: str, value: float) -> bool:
    if dtype[0] not in "iu" or dtype == "u1" or isinstance(value, bool):
        return True
    bits = int(dtype[1:]) - (dtype[0] == "i")
    return isinstance(value, int) and (-(2**bits) if dtype[0] == "i" else 0) <= value < 2**bits


def _suffix(value: int, fact: Mapping[str, Any], *, is_fixed: bool) -> str:
    """Return the JIT's suffix for an integer's value; with a fixed type, 1 is not a constant."""
    if fact.get("do_not_specialize"):
        return ""
    if value == 1:
        return "" if is_fixed else ":1"
    is_divisible = value % _ALIGNMENT == 0 and not fact.get("do_not_specialize_on_alignment")
    return ":16" if is_divisible else ""


def _has_value(argument: Any) -> bool:
    return isinstance(argument, Mapping) and "value" in argument


def dtype_of(name: str) -> str:
    """Return Triton's name of a dtype. Raises ValueError if there is none."""
    dtype = _NAMES.get(name.rpartition(".")[2], name)
    if dtype not in _DTYPES:
        raise ValueError(f"{name!r} is not a dtype; write fp32, bf16, i32, fp8e4nv, ...")
    return dtype


def annotated(text: str | None) -> str | None:
    """Return the type that an annotation fixes in Triton's eyes, None if it fixes none."""
    name = (text or "").strip()
    if match := _POINTER_TYPE.fullmatch(name):
        name = f"*{match[1]}"
    is_const = name.startswith("const ")
    name = name.removeprefix("const ").strip()
    is_pointer = name.startswith("*") or name.endswith("*")
    name = name.strip("* ")
    if is_pointer and name.startswith("k") and name not in _DTYPES:
        is_const, name = True, name.removeprefix("k")
    is_torch = name.startswith("torch.")  # Triton ignores such objects as types
    dtype = _NAMES.get(name.rpartition(".")[2].replace("_t", ""), name)
    if dtype not in _DTYPES or is_torch or (is_const and not is_pointer):
        return None
    return ("*k" if is_const else "*" if is_pointer else "") + dtype


def _item_bytes(dtype: str) -> int:
    digits = "".join(character for character in dtype if character.isdigit())
    return 1 if dtype.startswith("fp8") or dtype == "u1" else max(1, int(digits) // 8)


def _elements(buffer: Mapping[str, Any]) -> int:
    count = 1
    for extent in buffer["shape"]:
        count *= int(extent)
    return count
