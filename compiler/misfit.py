"""What is said of a parameter that a specialization does not fit. Words only; decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.rejection import closest_name
from compiler.value import plain_value

_OF_DECORATORS = {
    "heuristics": "@triton.heuristics sets it only when Python launches the kernel",
    "autotune": "@triton.autotune sets it only when Python launches the kernel",
    "perhaps_autotune": "if @triton.autotune sets it, that is only when Python launches the kernel",
}


@dataclass(frozen=True, slots=True)
class Misfit:
    """One thing that does not fit: what is said of which parameter, and what to do about it.

    `suggested` is the parameter that was probably meant.
    """

    slug: str
    message: str
    parameter: str
    hint: str | None = None
    suggested: str | None = None


def unknown(kernel: str, given: Iterable[str], names: Sequence[str]) -> list[Misfit]:
    """Return what is said of those of `given` that are none of the kernel's parameters, `names`."""
    found: list[Misfit] = []
    for name in given:
        if name in names:
            continue
        meant = closest_name(name, names)
        message = f"kernel `{kernel}` has no parameter `{name}`."
        message += f" Did you mean `{meant}`?" if meant else ""
        if not found:  # once is enough
            message += f" Its parameters are {', '.join(names) or 'none'}."
        found.append(Misfit("extra_argument", message, name, suggested=meant))
    return found


def without_value(kernel: str, fact: Mapping[str, Any]) -> Misfit:
    """Return what is said of a constexpr that has neither a value nor a default."""
    name = fact["name"]
    said = f"constexpr parameter `{name}` of `{kernel}` has no value"
    setter = fact.get("set_by")
    if setter is None:
        return Misfit("missing_constexpr", f"{said}: add it to `constexprs`", name)
    message = f"{said}: {_OF_DECORATORS[setter]}, so give it in `constexprs`"
    return Misfit("missing_constexpr", message, name, _hint(fact))


def without_type(kernel: str, fact: Mapping[str, Any]) -> Misfit:
    """Return what is said of a parameter that has neither a type nor a value."""
    name = fact["name"]
    example = "*fp32:16" if name.lower().endswith("ptr") else "i32"
    message = (
        f"parameter `{name}` of `{kernel}` has neither a type in `signature` "
        f'nor a value in `constexprs`: add for example "{name}": "{example}"'
    )
    hint = None
    if fact.get("set_by"):
        message, hint = f"{message} ({_OF_DECORATORS[fact['set_by']]})", _hint(fact)
    return Misfit("missing_constexpr", message, name, hint)


def _hint(fact: Mapping[str, Any]) -> str:
    name = fact["name"]
    if fact["set_by"] == "heuristics":
        return (
            f"Add to `constexprs` what the function that @triton.heuristics has for {name} would "
            "give with the arguments of the launch."
        )
    example = fact.get("example") or {}
    if "literal" not in example:
        return f"Add the value of {name} to `constexprs`, as one of the configurations has it."
    value = plain_value(example["literal"])
    return f"Add it to `constexprs`: the first configuration has {name} = {value}."
