"""Infers a specialization from facts and arguments, exactly as Triton's JIT does when it launches.

This follows `create_function_from_signature` in triton/runtime/jit.py and, for types that
annotations fix, `_normalize_ty` and `KernelParam.annotation_type`. It reads annotations as text and
never evaluates them, so only the last part of a dotted name counts.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler import parameter_binding
from compiler.constexpr import Value, plain_value
from compiler.parameter_binding import BindingFailed, BindingProblem
from compiler.rejection import did_you_mean
from compiler.specialization import Specialization, SpecializedParameter, Type, with_suffix
from compiler.target import BACKENDS
from compiler.type_name import is_pointer
from launch.request.bound_arguments import (
    Argument,
    BoundArguments,
    Buffer,
    Descriptor,
    NoValue,
    Scalar,
    TupleArgument,
)
from launch.request.element import BOOLEANS, INTEGER_RANGES
from launch.request.scalar import dtype_of, integer

_TYPES = {
    "bool": "u1",
    "int1": "u1",
    "uint1": "u1",
    "i1": "u1",
    "u1": "u1",
    "float8e4nv": "fp8e4nv",
    "float8e5": "fp8e5",
    "float8e4b15": "fp8e4b15",
    "float8_e4m3fn": "fp8e4nv",
    "float8e4b8": "fp8e4b8",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8e5b16": "fp8e5b16",
    "float8_e5m2fnuz": "fp8e5b16",
    "half": "fp16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "float32": "fp32",
    "double": "fp64",
    "float64": "fp64",
    "int": "i32",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
}
_NORMAL = _TYPES | {name: name for name in _TYPES.values()}
_POINTER_TYPE = re.compile(r"(?:\w+\.)*pointer_type\(\s*([\w.]+)\s*(?:,.*)?\)", re.DOTALL)
_DIVISIBLE = frozenset({"divisible_by_16"})
_ONE = frozenset({"equal_to_1"})
_RANGE = frozenset({"pointer_range_32"})
MAX_RANGE_BYTES = 2**31 - 1


def annotated_type(text: str | None) -> str | None:
    """Return the Triton type that an annotation fixes, None if it fixes none.

    `tl.int64` → `i64`, `"*fp32"` → `*fp32`, `"const float*"` → `*kfp32`, `float` → `fp32`.
    """
    name = _normalized((text or "").strip())
    element = name.removeprefix("*k") if name.startswith("*k") else name.removeprefix("*")
    return name if element in _NORMAL.values() else None


def _normalized(text: str) -> str:
    if text.startswith("const "):
        inner = _normalized(text.removeprefix("const ").strip())
        return "*k" + inner[1:] if inner.startswith("*") else ""
    if text.endswith("*"):
        return "*" + _normalized(text[:-1].strip())
    if text.startswith("*k") and (text[2:] in _NORMAL):
        return "*k" + _NORMAL[text[2:]]
    if text.startswith("*"):
        return "*" + _normalized(text[1:].strip())
    if match := _POINTER_TYPE.fullmatch(text):
        return "*" + _normalized(match[1])
    head, dot, last = text.rpartition(".")
    if dot and head.split(".")[0] == "torch":
        return text  # Triton does not accept such an object as a type
    return _NORMAL.get(last.replace("_t", ""), last)


@dataclass(frozen=True, slots=True)
class Inferred:
    """The JIT's input for compilation, and the arguments with defaults of run-time parameters."""

    specialization: Specialization
    arguments: BoundArguments


def infer(
    kernel: str,
    facts: Sequence[Mapping[str, Any]],
    bound: BoundArguments,
    constexprs: Mapping[str, SpecializedParameter],
    backend: str = "cuda",
) -> Inferred:
    """Return the specialization of `kernel` for arguments, given the values in `constexprs`.

    `facts` are the parameters in its KernelFacts. Raises BindingFailed: `extra_argument`,
    `missing_argument`, `argument_mismatch`.
    """
    _check_names(kernel, [fact["name"] for fact in facts], bound, constexprs)
    arguments = dict(bound.arguments)
    named = dict(constexprs)
    passed = arguments.keys() | named.keys()
    missing = [fact for fact in facts if fact["name"] not in passed and fact["default"] is None]
    if missing:
        raise BindingFailed.of([_missing(kernel, fact) for fact in missing])
    for fact in facts:
        name = fact["name"]
        if name in named:
            continue
        argument = arguments.get(name) or _default(kernel, fact)
        if argument is None:
            continue  # the compilation fills in the default, as a constexpr
        if not fact["constexpr"]:
            arguments[name] = argument
        named[name] = _parameter(kernel, fact, argument, bound, backend)
    filled = BoundArguments(allocations=bound.allocations, arguments=arguments)
    return Inferred(Specialization(named), filled)


def _check_names(
    kernel: str,
    names: list[str],
    bound: BoundArguments,
    constexprs: Mapping[str, SpecializedParameter],
) -> None:
    for name in [*bound.arguments, *constexprs]:
        if name not in names:
            message = (
                f"kernel `{kernel}` has no parameter `{name}`.{did_you_mean(name, names)} "
                f"Its parameters are {', '.join(names) or 'none'}."
            )
            raise BindingFailed("extra_argument", message, name)
    for name in bound.arguments:
        if name in constexprs:
            message = f"parameter `{name}` of `{kernel}` has an argument and a value in constexprs"
            raise BindingFailed("extra_argument", message, name)


def _missing(kernel: str, fact: Mapping[str, Any]) -> BindingProblem:
    if fact["constexpr"]:
        return parameter_binding.without_value(kernel, fact)
    message = f"parameter `{fact['name']}` of `{kernel}` has no argument and no default"
    return BindingProblem("missing_argument", message, fact["name"])


def _default(kernel: str, fact: Mapping[str, Any]) -> Argument | None:
    name, default = fact["name"], fact["default"]
    if fact["constexpr"] or default.get("constexpr") or _is_function(default.get("literal")):
        return None
    argument = _from_value(default["literal"]) if "literal" in default else None
    if argument is None:
        shown = default.get("expression") or plain_value(default["literal"])
        message = (
            f"the default of parameter `{name}` of `{kernel}`, {shown!s:.100}, cannot be passed "
            "to a kernel: give it an argument, or annotate it tl.constexpr"
        )
        raise BindingFailed("missing_argument", message, name)
    return argument


def _from_value(value: Value) -> Argument | None:
    """Return a default as an argument, None if the JIT only takes it as a constant."""
    if value is None:
        return NoValue()
    if isinstance(value, bool) or (isinstance(value, dict) and value.keys() <= {"int", "float"}):
        return Scalar(value=value, dtype=dtype_of(value))
    if isinstance(value, dict) and "tuple" in value:
        items = [_from_value(item) for item in value["tuple"]]
        known = [item for item in items if item is not None]
        return TupleArgument(items=known) if len(known) == len(items) else None
    return None


def _is_function(value: Value) -> bool:
    return isinstance(value, dict) and "function" in value


def _parameter(
    kernel: str, fact: Mapping[str, Any], argument: Argument, bound: BoundArguments, backend: str
) -> SpecializedParameter:
    if fact["constexpr"]:
        return SpecializedParameter(
            value=_constant(kernel, fact["name"], argument), is_constexpr=True
        )
    inferred = specialized(argument, bound, backend, Rules.of(fact))
    kind = annotated_type(fact["annotation"]) or _given_type(argument)
    if kind is None:
        return inferred
    _check_kind(kernel, fact["name"], kind, argument)
    if kind == "u1" or kind[:2] in {"fp", "bf"}:
        return SpecializedParameter(kind)
    return SpecializedParameter(
        kind, inferred.hints - _ONE
    )  # with its type fixed, 1 is not a constant


def _given_type(argument: Argument) -> str | None:
    if not isinstance(argument, Scalar) or not argument.dtype_given:
        return None
    return "u1" if argument.dtype in BOOLEANS else argument.dtype


def _constant(kernel: str, name: str, argument: Argument) -> Value:
    if isinstance(argument, Scalar):
        return argument.value
    if isinstance(argument, NoValue):
        return None
    if isinstance(argument, TupleArgument):
        return {"tuple": [_constant(kernel, name, item) for item in argument.items]}
    message = f"parameter `{name}` of `{kernel}` is a tl.constexpr, so it cannot be a buffer"
    raise BindingFailed("argument_mismatch", message, name)


def _check_kind(kernel: str, name: str, kind: str, argument: Argument) -> None:
    match argument:
        case NoValue() | Buffer():
            fits = is_pointer(kind)  # None is a null pointer; other elements are reinterpreted
        case Scalar():
            fits = not is_pointer(kind) and _holds(kind, argument)
        case _:
            fits = False
    if not fits:
        what = argument.value if isinstance(argument, Scalar) else f"a {argument.kind}"
        message = f"parameter `{name}` of `{kernel}` is annotated {kind}, its argument is {what}"
        raise BindingFailed("argument_mismatch", message, name)


def _holds(kind: str, scalar: Scalar) -> bool:
    number = integer(scalar)
    if kind == "u1" or kind not in INTEGER_RANGES or isinstance(scalar.value, bool):
        return True
    return number is not None and number in INTEGER_RANGES[kind]


# The type and hints that Triton's JIT gives one argument by its value.
#
# After python/src/specialize.cc of Triton 3.9.


@dataclass(frozen=True, slots=True)
class Rules:
    """The degree of one parameter's specialization; items of a tuple are always specialized."""

    const: bool = False
    values: bool = True
    alignment: bool = True

    @classmethod
    def of(cls, fact: Mapping[str, Any]) -> "Rules":
        """Return the rules of a parameter, from its facts."""
        return cls(
            const=fact["const"],
            values=not fact["do_not_specialize"],
            alignment=not fact["do_not_specialize_on_alignment"],
        )


def specialized(
    argument: Argument, bound: BoundArguments, backend: str, rules: Rules
) -> SpecializedParameter:
    """Return the JIT's view of one argument of `bound`."""
    match argument:
        case NoValue():
            return SpecializedParameter(is_constexpr=True)
        case Scalar():
            return _scalar(argument, rules)
        case Buffer():
            return _buffer(argument, bound, backend, rules)
        case Descriptor():
            dtype = "u1" if argument.base.dtype in BOOLEANS else argument.base.dtype
            block = ",".join(map(str, argument.block_shape))
            return SpecializedParameter(f"tensordesc<{dtype}[{block}]>")
        case TupleArgument():
            items = [specialized(item, bound, backend, Rules()) for item in argument.items]
            return SpecializedParameter([_leaf(item) for item in items])


def _scalar(scalar: Scalar, rules: Rules) -> SpecializedParameter:
    number = integer(scalar)
    dtype = "u1" if scalar.dtype in BOOLEANS else scalar.dtype
    if number is None or not rules.values:
        return SpecializedParameter(dtype)
    if number == 1:
        return SpecializedParameter(dtype, _ONE)
    return SpecializedParameter(
        dtype, _DIVISIBLE if rules.alignment and number % 16 == 0 else frozenset()
    )


def _buffer(
    buffer: Buffer, bound: BoundArguments, backend: str, rules: Rules
) -> SpecializedParameter:
    element = "u1" if buffer.dtype in BOOLEANS else buffer.dtype
    hints: frozenset[str] = frozenset()
    if rules.values:
        if rules.alignment and bound.is_divisible_by_16(buffer):
            hints |= _DIVISIBLE
        is_small = bound.allocations[buffer.allocation].size_bytes <= MAX_RANGE_BYTES
        if is_small and BACKENDS[backend].has_pointer_ranges:
            hints |= _RANGE
    return SpecializedParameter(("*k" if rules.const else "*") + element, hints)


def _leaf(item: SpecializedParameter) -> Type | None:
    """Return the type of a tuple's item with its hint as a suffix; None for a constant None."""
    if item.is_constexpr:
        return None
    return with_suffix(item.type, item.hints) if isinstance(item.type, str) else item.type
