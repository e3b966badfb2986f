"""Turns a request's signature, constexprs and hints into what Triton's `ASTSource` takes.

Constexpr values between canonical JSON and Python: integers, floats by bits, dtypes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import triton.language as tl
from triton._utils import canonicalize_dtype

from compiler.back import triton_api
from compiler.diagnostic import Failure, diagnostic
from compiler.front.diagnosis import module_errors
from compiler.front.module import Loaded
from compiler.front.unknown_defaults import UnknownDefault
from compiler.json_number import read_number, tagged_float
from compiler.messages.orders import FrontOrder
from compiler.rejection import suggestion


def decode(value: Any, function: Callable[[str], Any]) -> Any:
    """Return the Python value of tagged JSON; `function` finds a function of the source by name.

    Raises `ValueError` for a tag that is not known.
    """
    if value is None or isinstance(value, (bool, str, int, float)):
        return value
    if isinstance(value, list):
        return tuple(decode(item, function) for item in value)
    ((tag, content),) = value.items()
    match tag:
        case "int" | "float":
            return read_number(value)
        case "tuple":
            return tuple(decode(item, function) for item in content)
        case "dtype":
            return tl.str_to_ty(canonicalize_dtype(content), None)
        case "function":
            return function(content)
    message = f"a constexpr cannot be tagged {tag!r}"
    raise ValueError(message)


def encode(value: Any) -> Any:
    """Return the tagged JSON of a Python value, `{"object": repr}` for one that has none."""
    value = getattr(value, "value", value) if isinstance(value, tl.constexpr) else value
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return {"int": str(int(value))}
    if isinstance(value, float):
        return tagged_float(value)
    if isinstance(value, (tuple, list)):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, tl.dtype):
        return {"dtype": canonicalize_dtype(str(value))}
    if isinstance(value, triton_api.JITFunction):
        return {"function": value.__name__}
    if isinstance(value, UnknownDefault):
        return {"object": "a default that is not known"}
    return {"object": repr(value)[:200]}


Path = tuple[int, ...]

ATTRIBUTES = {
    "divisible_by_16": ["tt.divisibility", 16],
    "pointer_range_32": ["tt.pointer_range", 32],
}


@dataclass(frozen=True)
class CompleteSpecialization:
    """A complete specialization; `filled` are the defaults that it uses."""

    signature: dict[str, Any]
    constexprs: dict[Path, Any]
    attrs: dict[Path, list[list[Any]]]
    filled: dict[str, Any]

    @property
    def runtime_types(self) -> dict[str, Any]:
        """The types of the parameters that are no constexprs, by name."""
        return {name: kind for name, kind in self.signature.items() if kind != "constexpr"}


def specialize(function: Any, order: FrontOrder, loaded: Loaded) -> CompleteSpecialization:
    """Return the specialization of `function` that `order` asks for, defaults filled in.

    Nested values are named by their path: `"pair.1"` is the second element of the tuple `pair`.
    Raises `Failure`: `missing_constexpr`, `missing_type`, `extra_argument`.
    """
    names: list[str] = list(function.arg_names)
    constants, hints = order.constexprs, order.hints
    _check_known([*order.signature, *constants, *hints], names, function.__name__)
    _check_types(function, order.signature)
    constexprs = {_path(key, names): _value(constants[key], loaded) for key in constants}
    signature = {name: _tuples(kind) for name, kind in order.signature.items()}
    filled = _defaults(function, signature, constants)
    constexprs |= {(names.index(name),): value for name, value in filled.items()}
    for path in constexprs:
        if len(path) == 1:
            signature[names[path[0]]] = "constexpr"
    attrs = {_path(key, names): [ATTRIBUTES[hint] for hint in hints[key]] for key in hints}
    ordered = {name: signature[name] for name in names}
    return CompleteSpecialization(
        ordered,
        dict(sorted(constexprs.items())),
        dict(sorted((path, attributes) for path, attributes in attrs.items() if attributes)),
        filled,
    )


def _defaults(
    function: Any, signature: Mapping[str, Any], constants: Mapping[str, Any]
) -> dict[str, Any]:
    filled = {}
    left = [p for p in function.params if p.name not in signature and p.name not in constants]
    missing = [parameter for parameter in left if not parameter.has_default]
    if missing:
        slug = "missing_constexpr" if missing[0].is_constexpr else "missing_type"
        messages = [_missing(parameter, function.__name__) for parameter in missing]
        errors = [diagnostic("error", "frontend", message) for message in messages]
        raise Failure(slug, "frontend", "; ".join(messages), errors)
    for parameter in left:
        filled[parameter.name] = parameter.default  # as it is: what the JIT would be given
    return filled


def _check_types(function: Any, types: Mapping[str, Any]) -> None:
    """Raise `Failure` for a type where Triton wants a value; text alone cannot always show it."""
    for parameter in function.params:
        if parameter.is_constexpr and types.get(parameter.name, "constexpr") != "constexpr":
            message = (
                f"parameter `{parameter.name}` of `{function.__name__}` is a tl.constexpr: "
                f"give its value in `constexprs`, not a type in `signature`"
            )
            raise Failure("missing_constexpr", "frontend", message)


def _missing(parameter: Any, kernel: str) -> str:
    if parameter.is_constexpr:
        return (
            f"{kernel}: the constexpr parameter {parameter.name!r} has no value: "
            "give it one in `constexprs`"
        )
    return (
        f"{kernel}: the parameter {parameter.name!r} has no type: give it one in `signature` "
        '(such as "*fp32" or "i32"), or a value in `constexprs`'
    )


def _check_known(keys: list[str], names: list[str], kernel: str) -> None:
    for key in keys:
        name = key.split(".")[0]
        if name not in names:
            message = f"{kernel} has no parameter {name!r}; its parameters are: {', '.join(names)}"
            raise Failure("extra_argument", "frontend", message + suggestion(name, names))


def _path(key: str, names: list[str]) -> Path:
    name, *rest = key.split(".")
    return (names.index(name), *(int(index) for index in rest))


def _value(value: Any, loaded: Loaded) -> Any:
    def function(name: str) -> Any:
        known = {key: item for key, item in vars(loaded.module).items() if callable(item)}
        if name not in known:
            message = f"`constexprs` names the function {name!r}, which the source does not define"
            message += suggestion(name, known)
            error = diagnostic("error", "request", message)
            raise Failure("compile_error", "request", message, [error])
        module_errors.check_certain(loaded, known[name], name)
        return known[name]

    return decode(value, function)


def _tuples(kind: Any) -> Any:
    return tuple(_tuples(item) for item in kind) if isinstance(kind, list) else kind
