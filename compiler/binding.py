"""A specialization bound to a kernel's parameters: what only the source can tell is checked here.

Works on the facts that the cut found; the source itself is not seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compiler import compilation, misfit
from compiler.misfit import Misfit
from compiler.specialization import Parameter, Specialization, Type
from compiler.tuple_type import item_constants, item_hints, plain_type
from compiler.value import Value, plain_value

_MOST_TOLD = 50
ONE: Value = {"int": "1"}


class BindingFailed(Exception):
    """The specialization does not fit the kernel: `misfits` are all that is wrong.

    `slug` and `parameter` are those of the first.
    """

    def __init__(self, slug: str, message: str, parameter: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.slug = slug
        self.parameter = parameter
        self.misfits: tuple[Misfit, ...] = (Misfit(slug, message, parameter, hint),)

    @classmethod
    def of(cls, misfits: Sequence[Misfit]) -> "BindingFailed":
        """Return one failure for all of `misfits`, which are in the order to tell them in."""
        first, told = misfits[0], misfits[:_MOST_TOLD]
        said = [item.message.rstrip(".") for item in told[:-1]] + [told[-1].message]
        failed = cls(first.slug, "; ".join(said), first.parameter)
        failed.misfits = tuple(told)
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
    """Bind `specialization` to the parameters in `facts` (see the cut's KernelFacts).

    Not `sure`: which of them are constexprs only looks so, and the front child checks it. Raises
    BindingFailed (`missing_constexpr`, `extra_argument`), which tells all that is wrong.
    """
    names = [fact["name"] for fact in facts]
    given, misfits = _by_name(kernel, names, specialization)
    meant = {item.suggested for item in misfits}
    bound = []
    for fact in facts:
        fitting = _bind_one(kernel, fact, given.get(fact["name"]), sure=sure)
        if isinstance(fitting, compilation.Parameter):
            bound.append(fitting)
        elif fact["name"] not in meant:
            misfits.append(fitting)
    if misfits:
        raise BindingFailed.of(misfits)
    runtime = [item for item in bound if item.role == "runtime"]
    constexprs = {
        name: parameter.value if parameter.is_constexpr else ONE
        for name, parameter in given.items()
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
        raise BindingFailed("missing_constexpr", message, "signature")
    facts = [
        {"name": name, "constexpr": parameter.is_constexpr, "default": None}
        for name, parameter in specialization.named.items()
    ]
    return bind("kernel", facts, specialization)


def with_defaults(
    parameters: tuple[compilation.Parameter, ...], defaults: dict[str, Value]
) -> tuple[compilation.Parameter, ...]:
    """Return `parameters` with the values of defaults that only executing the source could tell."""
    return tuple(
        item.model_copy(update={"value": plain_value(defaults[item.name])})
        if item.role == "constexpr" and item.name in defaults
        else item
        for item in parameters
    )


def _by_name(
    kernel: str, names: list[str], specialization: Specialization
) -> tuple[dict[str, Parameter], list[Misfit]]:
    """Return what is given by name, and a misfit for each name that is no parameter's."""
    misfits = misfit.unknown(kernel, specialization.named, names)
    given = dict(specialization.named)
    if len(specialization.positional) > len(names):
        count = len(specialization.positional)
        message = f"`signature` has {count} entries, but `{kernel}` has {len(names)} parameters"
        raise BindingFailed("extra_argument", message, str(len(names)))
    for name, parameter in zip(names, specialization.positional, strict=False):
        if name in given:
            message = f"parameter `{name}` has an entry in `signature` and one in `constexprs`"
            raise BindingFailed("extra_argument", message, name)
        given[name] = parameter
    return given, misfits


def _bind_one(
    kernel: str, fact: dict[str, Any], given: Parameter | None, *, sure: bool
) -> compilation.Parameter | Misfit:
    name = fact["name"]
    if given is None:
        if fact["default"] is None:
            if fact["constexpr"]:
                return misfit.without_value(kernel, fact)
            return misfit.without_type(kernel, fact)
        # a default that is an expression is evaluated by the front child only
        return _parameter(name, "constexpr", value=fact["default"].get("literal"))
    if given.is_constexpr:
        return _parameter(name, "constexpr", value=given.value)
    if fact["constexpr"] and sure:
        message = (
            f"parameter `{name}` of `{kernel}` is a tl.constexpr: "
            f"give its value in `constexprs`, not a type in `signature`"
        )
        return Misfit("missing_constexpr", message, name)
    if "equal_to_1" in given.hints:
        return _parameter(name, "specialized", given.type, ["equal_to_1"], ONE)
    return _parameter(name, "runtime", given.type, sorted(given.hints))


def _parameter(
    name: str, role: Any, kind: Type | None = None, hints: Any = (), value: Value = None
) -> compilation.Parameter:
    return compilation.Parameter(
        name=name, type=kind, role=role, hints=list(hints), value=plain_value(value)
    )
