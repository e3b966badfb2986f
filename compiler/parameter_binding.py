"""Binds a specialization to a kernel's parameters, and checks it against the source.

Works on the facts that slicing found; the source itself is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler import compilation
from compiler.constexpr import Value, plain_value
from compiler.rejection import ALIKE_AMONG_FEW, closest
from compiler.specialization import (
    ONE,
    Specialization,
    SpecializedParameter,
    Type,
    item_constants,
    item_hints,
    plain_type,
)

_OF_DECORATORS = {
    "heuristics": "@triton.heuristics sets it only when Python launches the kernel",
    "autotune": "@triton.autotune sets it only when Python launches the kernel",
    "perhaps_autotune": "if @triton.autotune sets it, that is only when Python launches the kernel",
}
_POINTER_WORDS = frozenset({"ptr", "ptrs", "pointer", "pointers"})
_COUNT_WORDS = frozenset(
    {"n", "m", "k", "num", "numel", "len", "length", "size", "stride", "count"}
    | {"rows", "cols", "columns", "elements", "offset", "seed", "dim", "batch", "heads"}
)
_FLOAT_WORDS = frozenset(
    {"eps", "epsilon", "alpha", "beta", "scale", "lr", "momentum", "decay", "slope"}
    | {"temperature", "dropout", "p", "theta", "factor", "rate", "threshold"}
)


@dataclass(frozen=True, slots=True)
class BindingProblem:
    """One thing that does not fit: with which parameter, and what to do about it.

    `suggested` is the parameter that was probably meant.
    """

    slug: str
    message: str
    parameter: str
    hint: str | None = None
    suggested: str | None = None


def unknown(kernel: str, passed: Iterable[str], names: Sequence[str]) -> list[BindingProblem]:
    """Return an error for each of `passed` that is not among the kernel's parameters, `names`."""
    problems: list[BindingProblem] = []
    for name in passed:
        if name in names:
            continue
        meant = closest(name, names, ALIKE_AMONG_FEW)
        message = f"kernel `{kernel}` has no parameter `{name}`."
        message += f" Did you mean `{meant}`?" if meant else ""
        if not problems:  # once is enough
            message += f" Its parameters are {', '.join(names) or 'none'}."
        problems.append(BindingProblem("extra_argument", message, name, suggested=meant))
    return problems


def without_value(kernel: str, fact: Mapping[str, Any]) -> BindingProblem:
    """Return the misfit of a constexpr that has neither a value nor a default."""
    name = fact["name"]
    problem = f"constexpr parameter `{name}` of `{kernel}` has no value"
    setter = fact.get("set_by")
    if setter is None:
        return BindingProblem("missing_constexpr", f"{problem}: add it to `constexprs`", name)
    message = f"{problem}: {_OF_DECORATORS[setter]}, so give it in `constexprs`"
    return BindingProblem("missing_constexpr", message, name, _hint(fact))


def without_type(kernel: str, fact: Mapping[str, Any]) -> BindingProblem:
    """Return the misfit of a parameter that has neither a type nor a value."""
    name = fact["name"]
    examples = " or ".join(f'"{name}": "{example}"' for example in _example_types(name))
    message = (
        f"parameter `{name}` of `{kernel}` has neither a type in `signature` "
        f"nor a value in `constexprs`: add for example {examples}"
    )
    hint = None
    if fact.get("set_by"):
        message, hint = f"{message} ({_OF_DECORATORS[fact['set_by']]})", _hint(fact)
    return BindingProblem("missing_type", message, name, hint)


def _example_types(name: str) -> tuple[str, ...]:
    """Return a type that the parameter's name implies, or one of each kind if it implies none."""
    words = set(re.findall(r"[a-z]+", name.lower()))
    if words & _POINTER_WORDS:
        return ("*fp32:16",)
    if words & _FLOAT_WORDS:
        return ("fp32",)
    return ("i32",) if words & _COUNT_WORDS else ("i32", "fp32", "*fp32:16")


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


_MAX_SHOWN = 50


class BindingFailed(Exception):
    """The specialization does not fit the kernel: `misfits` are all that is wrong.

    `slug` and `parameter` are those of the first.
    """

    def __init__(self, slug: str, message: str, parameter: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.slug = slug
        self.parameter = parameter
        self.misfits: tuple[BindingProblem, ...] = (BindingProblem(slug, message, parameter, hint),)

    @classmethod
    def of(cls, misfits: Sequence[BindingProblem]) -> BindingFailed:
        """Return one failure for all of `misfits`, which are in the order of the report."""
        first, shown = misfits[0], misfits[:_MAX_SHOWN]
        problems = [item.message.rstrip(".") for item in shown[:-1]] + [shown[-1].message]
        failed = cls(first.slug, "; ".join(problems), first.parameter)
        failed.misfits = tuple(shown)
        return failed


@dataclass(frozen=True, slots=True)
class Binding:
    """Types, values and hints by parameter name, in the order of the kernel's parameters.

    Values and hints of the items of tuples by path: `pair.0`.
    """

    signature: dict[str, Type]
    constexprs: dict[str, Value]
    hints: dict[str, list[str]]
    parameters: tuple[compilation.Parameter, ...]


def bind(
    kernel: str, facts: list[dict[str, Any]], specialization: Specialization, *, sure: bool = True
) -> Binding:
    """Bind `specialization` to the parameters in `facts` (see KernelFacts in the worker's reports).

    Not `sure`: which of them are constexprs only looks so, and the front child checks it. Raises
    BindingFailed (`missing_constexpr`, `missing_type`, `extra_argument`) with all that is wrong.
    """
    names = [fact["name"] for fact in facts]
    passed, misfits = _by_name(kernel, names, specialization)
    meant = {item.suggested for item in misfits}
    bound = []
    for fact in facts:
        fitting = _bind_one(kernel, fact, passed.get(fact["name"]), sure=sure)
        if isinstance(fitting, compilation.Parameter):
            bound.append(fitting)
        elif fact["name"] not in meant:
            misfits.append(fitting)
    if misfits:
        raise BindingFailed.of(misfits)
    runtime = [item for item in bound if item.role == "runtime"]
    constexprs = {
        name: parameter.value if parameter.is_constexpr else ONE
        for name, parameter in passed.items()
        if parameter.is_constexpr or "equal_to_1" in parameter.hints
    }
    hints = {item.name: item.hints for item in runtime if item.hints}
    for item in runtime:
        constexprs |= item_constants(item.name, item.type)
        hints |= item_hints(item.name, item.type)
    signature = {item.name: plain_type(item.type) for item in runtime}
    return Binding(signature, constexprs, hints, tuple(bound))


def bind_unseen(specialization: Specialization) -> Binding:
    """Bind by name alone, for a kernel that only executing the source can find.

    Raises BindingFailed when the specialization needs the positions of parameters.
    """
    if specialization.positional:
        message = (
            "this kernel is only found by executing the source, so its parameters have no known "
            "positions: write `signature` as an object by name"
        )
        raise BindingFailed("missing_type", message, "signature")
    facts = [
        {"name": name, "constexpr": parameter.is_constexpr, "default": None}
        for name, parameter in specialization.named.items()
    ]
    return bind("kernel", facts, specialization)


def with_defaults(
    parameters: tuple[compilation.Parameter, ...], defaults: dict[str, Value]
) -> tuple[compilation.Parameter, ...]:
    """Return `parameters` with the values of defaults that only execution could find."""
    return tuple(
        compilation.amended(item, value=plain_value(defaults[item.name]))
        if item.role == "constexpr" and item.name in defaults
        else item
        for item in parameters
    )


def _by_name(
    kernel: str, names: list[str], specialization: Specialization
) -> tuple[dict[str, SpecializedParameter], list[BindingProblem]]:
    """Return the given values by name, and an error for each unknown name."""
    misfits = unknown(kernel, specialization.named, names)
    by_name = dict(specialization.named)
    if len(specialization.positional) > len(names):
        count = len(specialization.positional)
        message = f"`signature` has {count} entries, but `{kernel}` has {len(names)} parameters"
        raise BindingFailed("extra_argument", message, str(len(names)))
    for name, parameter in zip(names, specialization.positional, strict=False):
        if name in by_name:
            message = f"parameter `{name}` has an entry in `signature` and one in `constexprs`"
            raise BindingFailed("extra_argument", message, name)
        by_name[name] = parameter
    return by_name, misfits


def _bind_one(
    kernel: str, fact: dict[str, Any], passed: SpecializedParameter | None, *, sure: bool
) -> compilation.Parameter | BindingProblem:
    name = fact["name"]
    if passed is None:
        if fact["default"] is None:
            if fact["constexpr"]:
                return without_value(kernel, fact)
            return without_type(kernel, fact)
        # a default that is an expression is evaluated by the front child only
        return _parameter(name, "constexpr", value=fact["default"].get("literal"))
    if passed.is_constexpr:
        return _parameter(name, "constexpr", value=passed.value)
    if fact["constexpr"] and sure:
        message = (
            f"parameter `{name}` of `{kernel}` is a tl.constexpr: "
            f"give its value in `constexprs`, not a type in `signature`"
        )
        return BindingProblem("missing_constexpr", message, name)
    if "equal_to_1" in passed.hints:
        return _parameter(name, "specialized", passed.type, ["equal_to_1"], ONE)
    return _parameter(name, "runtime", passed.type, sorted(passed.hints))


def _parameter(
    name: str, role: Any, kind: Type | None = None, hints: Any = (), value: Value = None
) -> compilation.Parameter:
    return compilation.Parameter(
        name=name, type=kind, role=role, hints=list(hints), value=plain_value(value)
    )
