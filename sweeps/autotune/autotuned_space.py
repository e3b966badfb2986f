"""The space `{"autotune": true}`: configurations of the source's own decorator, and its heuristics.

The same source may list others for another target or Triton, and another source its own, so there
is a reading for each of these contexts, and a variant has only what its own context's lists.
"""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from compiler.autotune import AutotuneReading
from compiler.diagnostic import USER_FILE, Assumption
from compiler.rejection import FieldError, RequestRejected, pointer, shown
from compiler.request.signature import parse_specialization
from compiler.specialization import SpecializedParameter
from compiler.target import STANDARD_TARGET, canonical_target
from compiler.wanted import check_wanted
from sweeps.autotune.configurations import AT, configurations
from sweeps.autotune.heuristics import Heuristics
from sweeps.axis import Axis
from sweeps.combinations import COMBINATIONS_PER_VARIANT, MAX_STEPS, Choice, check_count
from sweeps.condition_values import Defaults, no_defaults
from sweeps.space import PlannedSweep, Space, bounded, check_space, planned
from sweeps.sweep_plan import ABSENT, SweepPlan, SweptAxis
from sweeps.variant import Kind
from sweeps.where import Condition, spellings

MAX_CONTEXTS: Final = 64
_AT = "/space/like"
_MEANINGS = {"divisible_by_16": "is divisible by 16", "equal_to_1": "is equal to 1"}


@dataclass(frozen=True, slots=True)
class AutotuneContext:
    """The inputs that an autotuner's configurations may depend on, from a variant's request."""

    source: str
    target: str
    triton: str | None


def context_of(body: Mapping[str, Any], kind: Kind) -> AutotuneContext:
    """Return the context of one variant's request. Raises RequestRejected without a source."""
    compilation = body.get("compilation") if kind == "launches" else body
    source = compilation.get("source") if isinstance(compilation, dict) else None
    if not isinstance(compilation, dict) or not isinstance(source, str):
        message = "needs a base with a `source`, whose @triton.autotune has the configurations"
        raise RequestRejected(FieldError(AT, message))
    named = compilation.get("target") or _target_of(body.get("device"))
    return AutotuneContext(source, str(named or STANDARD_TARGET), compilation.get("triton"))


def _target_of(device: Any) -> Any:
    """Return the target that a device names, None if it names none."""
    if isinstance(device, dict):
        return device.get("target")
    return device if isinstance(device, str) and ":" in canonical_target(device) else None


def contexts_of(base: Mapping[str, Any], kind: Kind, space: Space) -> list[AutotuneContext]:
    """Return the contexts of all variants, before there are any. Raises RequestRejected."""
    own = context_of(base, kind) if "source" not in _names(space) else None
    axes = {axis.name: axis for axis in space.product if axis.name in _OF_CONTEXT}
    ranges = [
        [axes[name].content(index) for index in range(len(axes[name].values))]
        if name in axes
        else [getattr(own or _without_source(base, kind), name)]
        for name in _OF_CONTEXT
    ]
    contexts = [
        AutotuneContext(*some)
        for some in itertools.islice(itertools.product(*ranges), MAX_CONTEXTS)
    ]
    if len(contexts) == MAX_CONTEXTS:
        message = f"sources, targets and Tritons make {MAX_CONTEXTS} autotuners or more; take fewer"
        raise RequestRejected(FieldError(AT, message))
    return contexts


_OF_CONTEXT: Final = ("source", "target", "triton")


def _names(space: Space) -> set[str]:
    return {axis.name for axis in space.product}


def _without_source(base: Mapping[str, Any], kind: Kind) -> AutotuneContext:
    inner = base.get("compilation", {}) if kind == "launches" else base
    body = {**base, "compilation": {**inner, "source": ""}} if kind == "launches" else base
    return context_of({**body, "source": ""}, kind)


class AutotunedSpace:
    """A space with the configurations of its readings, and the plan of its sweep."""

    def __init__(self, space: Space, readings: Mapping[AutotuneContext, AutotuneReading]) -> None:
        """Take the configurations over.

        Raises RequestRejected: for no autotuner, and for an axis that configurations set.
        """
        self._readings = readings
        self._found = {context: configurations(reading) for context, reading in readings.items()}
        every = [
            _changes(variant)
            for configured in self._found.values()
            for variant in configured.variants
        ]
        unique = {orjson.dumps(changes): changes for changes in every}
        self.space = replace(space, configurations=tuple(unique.values()))
        check_space(self.space)
        _check_known(space.like, readings.values())
        self._set_aside = {
            heuristic.name
            for reading in readings.values()
            for heuristic in reading.heuristics
            if {f"constexprs.{heuristic.name}", f"options.{heuristic.name}"} & _names(space)
        }

    @property
    def assumptions(self) -> list[Assumption]:
        """The assumptions of using the configurations, each once."""
        assumptions = [
            item for configured in self._found.values() for item in configured.assumptions
        ]
        for name in sorted(self._set_aside):
            message = f"the heuristic {name} is ignored: an axis of the space gives its value"
            line = next(reading.line for reading in self._readings.values())
            assumptions.append(Assumption(USER_FILE, line, message))
        if self.space.like and any(reading.heuristics for reading in self._readings.values()):
            values = ", ".join(
                f"{name} = {value}" for name, value in sorted(self.space.like.items())
            )
            line = next(reading.line for reading in self._readings.values())
            message = f"heuristics are evaluated for {values}, as in `like`"
            assumptions.append(Assumption(USER_FILE, line, message))
        return list(dict.fromkeys(assumptions))

    def planned(
        self,
        base: Mapping[str, Any],
        kind: Kind,
        where: Sequence[Condition],
        max_variants: int,
        defaults: Defaults = no_defaults,
    ) -> PlannedSweep:
        """Return the variants, each with the values of its heuristics.

        Conditions that name a heuristic are asked last. Raises RequestRejected as `planned` of a
        space and `completed`, and for an example that breaks a hint of the base.
        """
        if self.space.like:
            parameters = next(reading.parameters for reading in self._readings.values())
            _check_hints(self.space.like, base, parameters)
        computed = {
            spelling
            for reading in self._readings.values()
            for heuristic in reading.heuristics
            if heuristic.name not in self._set_aside
            for spelling in spellings(heuristic.name)
        }
        early = [condition for condition in where if not condition.expression.names & computed]
        late = [condition for condition in where if condition.expression.names & computed]
        most = max_variants * (COMBINATIONS_PER_VARIANT if late else 1)
        sweep = self.completed(planned(base, kind, self.space, early, most, defaults))
        if not late:
            return sweep
        check_count(len(sweep.plan), late, max_variants)
        stays = Choice(base, kind, late, defaults).kept(sweep.plan.chosen, sweep.axes)
        kept = bounded(stays, max_variants)
        return replace(sweep, plan=sweep.plan.model_copy(update={"chosen": kept}))

    def completed(self, sweep: PlannedSweep) -> PlannedSweep:
        """Return `sweep` without what a context does not list, and with heuristics as axes.

        Raises RequestRejected: for a heuristic that cannot be evaluated, and for no variant left.
        """
        plan = sweep.plan
        kept = list(self._kept(sweep)) if len(self._readings) > 1 else plan.chosen
        if not kept:
            raise RequestRejected(FieldError(AT, "leaves no variant of the space"))
        plan = plan.model_copy(update={"chosen": kept})
        added = self._heuristic_axes(plan)
        if not added:
            return replace(sweep, plan=plan)
        axes = [
            Axis(name, AT, tuple(values.contents), tuple(range(len(values.contents))))
            for name, values in added.items()
        ]
        swept = [
            SweptAxis(name=axis.name, values=list(axis.values), is_computed=True) for axis in axes
        ]
        chosen = [
            [*first, *(values.chosen[index] for values in added.values())]
            for index, first in enumerate(kept)
        ]
        plan = plan.model_copy(update={"axes": [*plan.axes, *swept], "chosen": chosen})
        return PlannedSweep(plan, (*sweep.axes, *axes))

    def _kept(self, sweep: PlannedSweep) -> Iterator[list[int]]:
        allowed = {
            context: {
                orjson.dumps(_changes(v), option=orjson.OPT_SORT_KEYS) for v in configured.variants
            }
            for context, configured in self._found.items()
        }
        listed = len(sweep.axes) - len(self.space.product)
        plan = sweep.plan
        for index, chosen in enumerate(plan.chosen):
            check_wanted()
            pairs = zip(plan.axes[:listed], chosen, strict=False)
            changes = {axis.name: axis.content(at) for axis, at in pairs if at != ABSENT}
            context = context_of(plan.variant(index).body, plan.kind)
            if orjson.dumps(changes, option=orjson.OPT_SORT_KEYS) in allowed[context]:
                yield chosen

    def _heuristic_axes(self, plan: SweepPlan) -> dict[str, "_Values"]:
        added: dict[str, _Values] = {}
        if not any(reading.heuristics for reading in self._readings.values()):
            return added
        known = {context: self._heuristics(context) for context in self._readings}
        steps = len(plan) * max(heuristics.size for heuristics, _ in known.values())
        if steps > MAX_STEPS:
            message = (
                f"{len(plan)} variants, each with heuristics of {steps // len(plan)} terms, take "
                f"more than {MAX_STEPS} steps to evaluate; make the space smaller"
            )
            raise RequestRejected(FieldError(AT, message))
        for index in range(len(plan)):
            check_wanted()
            body = plan.variant(index).body
            heuristics, configured = known[context_of(body, plan.kind)]
            applied = heuristics.applied(body, configured, self.space.like)
            for group, values in (("constexprs", applied.constexprs), ("options", applied.options)):
                for name, value in values.items():
                    axis = added.setdefault(f"{group}.{name}", _Values(len(plan)))
                    axis.put(index, value)
        return added

    def _heuristics(self, context: AutotuneContext) -> tuple[Heuristics, frozenset[str]]:
        reading = self._readings[context]
        left = [item for item in reading.heuristics if item.name not in self._set_aside]
        names = {name for config in reading.configs for name in (*config.values, *config.options)}
        return Heuristics(reading.model_copy(update={"heuristics": left})), frozenset(names)


class _Values:
    """The values of one axis that is made while variants are gone through."""

    def __init__(self, variants: int) -> None:
        self.contents: list[Any] = []
        self.chosen = [ABSENT] * variants
        self._known: dict[bytes, int] = {}

    def put(self, variant: int, content: Any) -> None:
        at = self._known.setdefault(orjson.dumps(content), len(self.contents))
        if at == len(self.contents):
            self.contents.append(content)
        self.chosen[variant] = at


def _changes(variant: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return a configuration as a space has it: values by the names of axes."""
    return {
        f"{group}.{name}": value
        for group, values in variant.items()
        for name, value in values.items()
    }


# Examples of arguments, by which heuristics of a compilation are evaluated: the space's `like`.
#
# They must not contradict the base's values of the same parameters.


def _check_known(like: Mapping[str, Any], readings: Collection[AutotuneReading]) -> None:
    """Refuse examples of parameters that no kernel has. Raises RequestRejected."""
    known = {name for reading in readings for name in reading.parameters}
    kernel = next(reading.kernel for reading in readings)
    errors = [
        FieldError(_AT + pointer(name), f"{kernel} has no parameter {name[:100]}")
        for name in like
        if name not in known
    ]
    if errors:
        raise RequestRejected(*errors)


def _check_hints(
    like: Mapping[str, Any], base: Mapping[str, Any], parameters: Collection[str]
) -> None:
    """Refuse examples that break a hint of the compilation `base`; `parameters` in their order.

    Raises RequestRejected; also for a signature that cannot be read.
    """
    if not like:
        return
    specialization = parse_specialization(
        base.get("signature"), base.get("hints"), base.get("constexprs")
    )
    named = dict(zip(parameters, specialization.positional, strict=False)) | specialization.named
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
                f"{shown(value)} breaks a hint: by the base, {name[:100]} {_MEANINGS[hint]}; "
                "give another example, or leave the hint out"
            )
            return FieldError(_AT + pointer(name), message)
    return None
