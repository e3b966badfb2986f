"""Examples of arguments, by which heuristics of a compilation are evaluated: the space's `like`.

What they say must not contradict what the base says of the same parameters.
"""

from collections.abc import Collection, Mapping
from typing import Any

from compiler.autotune import AutotuneReading
from compiler.rejection import FieldError, RequestRejected, pointer, shown
from compiler.request.signature import parse_specialization
from compiler.specialization import SpecializedParameter

_AT = "/space/like"
_MEANINGS = {"divisible_by_16": "is divisible by 16", "equal_to_1": "is equal to 1"}


def check_known(like: Mapping[str, Any], readings: Collection[AutotuneReading]) -> None:
    """Refuse examples of what no kernel has. Raises RequestRejected."""
    known = {name for reading in readings for name in reading.parameters}
    kernel = next(reading.kernel for reading in readings)
    errors = [
        FieldError(_AT + pointer(name), f"{kernel} has no parameter {name[:100]}")
        for name in like
        if name not in known
    ]
    if errors:
        raise RequestRejected(*errors)


def check_hints(
    like: Mapping[str, Any], base: Mapping[str, Any], parameters: Collection[str]
) -> None:
    """Refuse examples that break a hint of the compilation `base`; `parameters` in their order.

    Raises RequestRejected; also for a signature that cannot be read.
    """
    if not like:
        return
    said = parse_specialization(base.get("signature"), base.get("hints"), base.get("constexprs"))
    named = dict(zip(parameters, said.positional, strict=False)) | said.named
    errors = [
        error
        for name, value in like.items()
        if name in named and (error := _broken(name, value, named[name])) is not None
    ]
    if errors:
        raise RequestRejected(*errors)


def _broken(name: str, value: Any, parameter: SpecializedParameter) -> FieldError | None:
    """Return what is wrong with an example of a parameter that has hints."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    for hint in sorted(parameter.hints & _MEANINGS.keys()):
        holds = value == 1 if hint == "equal_to_1" else value % 16 == 0
        if not holds:
            message = (
                f"{shown(value)} breaks a hint: the base says that {name[:100]} {_MEANINGS[hint]}; "
                "give another example, or leave the hint out"
            )
            return FieldError(_AT + pointer(name), message)
    return None
