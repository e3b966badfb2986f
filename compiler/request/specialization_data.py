"""`specialization_data`, the JSON that Triton's JIT gives its hooks, as a specialization.

Shaped by `serialize_specialization_data` in triton/runtime/jit.py (3.6 to 3.9): types by name,
constants and attributes by their paths in the list of parameters.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from compiler.rejection import FieldError, RequestRejected, shown
from compiler.request.options import misfit
from compiler.request.signature import parse_specialization
from compiler.specialization import Specialization
from compiler.target import Target
from compiler.toolchain import OptionSpec
from compiler.type_name import SCALARS, canonical_dtype

AT = "/specialization_data"
_DTYPES = frozenset(name for name in SCALARS if name[0] not in "iu") | frozenset(
    "int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
)
"""Spellings of dtypes as constants, which look like strings."""
_HINTS = {("tt.divisibility", 16): "divisible_by_16", ("tt.pointer_range", 32): "pointer_range_32"}


@dataclass(frozen=True, slots=True)
class JitData:
    """The content of the data; `options` are all those of `backend`, not only the offered ones."""

    specialization: Specialization
    kernel: str | None = None
    backend: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def options_for(self, target: Target, table: dict[str, OptionSpec]) -> dict[str, Any]:
        """Return the options that mean something for `target`, whose own are in `table`.

        Data that does not name its backend is taken to be made for that of the target.
        """
        if self.backend not in {None, target.backend}:
            return {}
        return {
            name: value
            for name, value in self.options.items()
            if name in table and misfit(value, table[name]) is None
        }


def read_jit_data(written: Any) -> JitData:
    """Read the data, as the object that it is or as the text that hooks are given.

    Raises RequestRejected at `/specialization_data`.
    """
    data = _object(written)
    signature = data.get("signature")
    if not isinstance(signature, dict):
        raise _fault("has no `signature` by parameter name: it is not what Triton's hooks give")
    names = list(signature)
    try:
        constants = {
            path: _constant(value) for path, value in _pairs(data, "constant", names) if path
        }
        hints = {path: _hints(value) for path, value in _pairs(data, "attrs", names) if path}
    except (TypeError, ValueError, LookupError) as error:
        raise _fault(f"cannot be read: {error}") from None
    types = {name: kind for name, kind in signature.items() if kind != "constexpr"}
    hints = {path: named for path, named in hints.items() if named and path not in constants}
    try:
        specialization = parse_specialization(types, hints, constants)
    except RequestRejected as rejected:
        errors = [FieldError(AT + error.pointer, error.message) for error in rejected.errors]
        raise RequestRejected(*errors) from None
    options = data.get("options")
    return JitData(
        specialization=specialization,
        kernel=_kernel(data.get("name")),
        backend=_backend(options, data.get("target")),
        options=options if isinstance(options, dict) else {},
    )


def _object(written: Any) -> dict[str, Any]:
    if isinstance(written, str):
        try:
            written = json.loads(written)
        except (ValueError, RecursionError):
            raise _fault("is not JSON") from None
    if not isinstance(written, dict):
        raise _fault("must be an object, or the text of one")
    return written


def _pairs(data: dict[str, Any], kind: str, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Return (path, value) of every entry, such as `pair.1` for the index path [2, 1]."""
    keys, values = data.get(f"{kind}_keys") or [], data.get(f"{kind}_vals") or []
    if len(keys) != len(values):
        message = f"`{kind}_keys` has {len(keys)} entries, `{kind}_vals` has {len(values)}"
        raise ValueError(message)
    for indices, value in zip(keys, values, strict=True):
        first, *rest = indices
        if first not in range(len(names)):
            message = f"`{kind}_keys` names parameter {first}, but `signature` has {len(names)}"
            raise ValueError(message)
        yield ".".join([names[first], *(str(int(index)) for index in rest)]), value


def _constant(value: Any) -> Any:
    if isinstance(value, str) and value in _DTYPES:
        return {"dtype": canonical_dtype(value)}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, list):
        return {"tuple": [_constant(item) for item in value]}
    if not isinstance(value, dict):
        return value
    [(tag, inner)] = value.items()
    if tag == "constexpr":
        return _constant(inner)
    if tag == "jit_function" and isinstance(inner, str):
        return {"function": inner.rpartition(":")[2].rpartition(".")[2]}
    message = f"{shown(value)} is not a constant"
    raise ValueError(message)


def _hints(attributes: Any) -> list[str]:
    return [hint for (name, value), hint in _HINTS.items() if [name, value] in attributes]


def _kernel(name: Any) -> str | None:
    return name.rpartition(".")[2] if isinstance(name, str) and name else None


def _backend(options: Any, target: Any) -> str | None:
    """Return the backend; Triton 3.6 does not name the target, but the options name it too."""
    for described, name in (target, "backend"), (options, "backend_name"):
        if isinstance(described, dict) and isinstance(described.get(name), str):
            return str(described[name])
    return None


def _fault(message: str) -> RequestRejected:
    return RequestRejected(FieldError(AT, message))
