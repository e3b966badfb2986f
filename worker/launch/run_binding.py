"""From a case to its run: facts, arguments and specialization put together, the grid evaluated."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from compiler.compilation import amended
from compiler.constexpr import Value
from compiler.job import CompileJob
from compiler.parameter_binding import BindingFailed
from compiler.specialization import ONE, Specialization, SpecializedParameter
from compiler.type_name import is_pointer
from launch.request.bound_arguments import Argument, BoundArguments, NoValue, Scalar
from launch.request.grid import NUM_SMS, Grid
from launch.request.hint_check import check_hints
from launch.request.inference import infer
from launch.request.launch_resolution import grid_values
from worker.compile.reports import KernelFacts
from worker.launch.run import PreparedRun


def bind(
    job: CompileJob, facts: KernelFacts, arguments: BoundArguments, grid: Grid, num_sms: int
) -> PreparedRun:
    """Return the run of the kernel of `job`; the uploads are still to be put in.

    Raises BindingFailed for errors that only the source shows, and RequestRejected for a grid that
    cannot be evaluated and arguments that a given signature forbids.
    """
    named = _by_name(facts, job.specialization)
    typed = {name: item for name, item in named.items() if not item.is_constexpr}
    constants = {name: item for name, item in named.items() if item.is_constexpr}
    if typed:
        check_hints(
            typed, select(arguments, arguments.arguments.keys() - constants), complete=False
        )
        arguments = _with_ones(arguments, typed)
    parameters = [parameter.model_dump() for parameter in facts.parameters]
    inferred = infer(facts.name, parameters, arguments, constants)
    constexprs = _constexprs(facts, inferred.specialization)
    bound = _apply_types(inferred.arguments, inferred.specialization.named | typed, constexprs)
    values = values_for_grid(bound, constexprs) | {NUM_SMS: num_sms}
    return PreparedRun(
        facts.name, bound, grid.evaluate(values), constexprs, inferred.specialization
    )


def bind_ir(arguments: BoundArguments, grid: Grid, num_sms: int) -> PreparedRun:
    """Return the run of posted IR, which declares its types: a compilation checks them.

    Raises RequestRejected for a grid that cannot be evaluated.
    """
    values = values_for_grid(arguments, {}) | {NUM_SMS: num_sms}
    return PreparedRun("", arguments, grid.evaluate(values), {}, Specialization())


def values_for_grid(bound: BoundArguments, constexprs: Mapping[str, Value]) -> dict[str, Any]:
    """Return what a run's grid may name, except `NUM_SMS`."""
    return grid_values(
        Specialization(
            {
                name: SpecializedParameter(value=value, is_constexpr=True)
                for name, value in constexprs.items()
            }
        ),
        bound,
    )


def _by_name(facts: KernelFacts, specialization: Specialization) -> dict[str, SpecializedParameter]:
    if len(specialization.positional) > len(facts.parameters):
        message = (
            f"the signature has {len(specialization.positional)} entries, but `{facts.name}` "
            f"{len(facts.parameters)} parameters"
        )
        raise BindingFailed("extra_argument", message, "signature")
    positions = zip(facts.parameters, specialization.positional, strict=False)
    return specialization.named | {known.name: item for known, item in positions}


def select(arguments: BoundArguments, names: Collection[str]) -> BoundArguments:
    """Return the arguments called `names`; the others' memory stays, views may need it."""
    selected = {name: item for name, item in arguments.arguments.items() if name in names}
    return BoundArguments(allocations=arguments.allocations, arguments=selected)


def _with_ones(
    arguments: BoundArguments, typed: Mapping[str, SpecializedParameter]
) -> BoundArguments:
    """Fill in the arguments that are 1 by a signature."""
    ones: dict[str, Argument] = {
        name: Scalar(value=ONE, dtype=str(item.type))
        for name, item in typed.items()
        if "equal_to_1" in item.hints and name not in arguments.arguments
    }
    return BoundArguments(allocations=arguments.allocations, arguments=arguments.arguments | ones)


def _constexprs(facts: KernelFacts, specialization: Specialization) -> dict[str, Value]:
    """Return the values of constexprs, defaults that are literals among them."""
    values = {}
    for parameter in facts.parameters:
        item = specialization.named.get(parameter.name)
        if item is None:
            default = parameter.default or {}
            if "literal" in default and (parameter.constexpr or default.get("constexpr")):
                values[parameter.name] = default["literal"]
        elif item.is_constexpr and (parameter.constexpr or item.value is not None):
            values[parameter.name] = item.value
    return values


def _apply_types(
    bound: BoundArguments,
    named: Mapping[str, SpecializedParameter],
    constexprs: Mapping[str, Value],
) -> BoundArguments:
    """Return the arguments of a run: scalars have their parameters' types, constexprs are gone."""
    arguments = {
        name: _apply_type(argument, named.get(name))
        for name, argument in bound.arguments.items()
        if name not in constexprs or isinstance(argument, NoValue)
    }
    return BoundArguments(allocations=bound.allocations, arguments=arguments)


def _apply_type(argument: Argument, parameter: SpecializedParameter | None) -> Argument:
    kind = parameter.type if parameter is not None else None
    if not isinstance(argument, Scalar) or not isinstance(kind, str) or is_pointer(kind):
        return argument
    return Scalar(value=argument.value, dtype=kind, dtype_given=argument.dtype_given)


def with_uploads(run: PreparedRun, files: Mapping[str, bytes]) -> PreparedRun:
    """Return `run` with the uploaded files, by digest, that its initialisers name."""
    allocations, uploads, size = [], [], 0
    for allocation in run.bound.allocations:
        if allocation.init is not None and allocation.init["kind"] == "tensor":
            data = files[allocation.init["digest"]]
            allocation = amended(allocation, body=(size, len(data)))
            uploads.append(data)
            size += len(data)
        allocations.append(allocation)
    bound = BoundArguments(allocations=allocations, arguments=run.bound.arguments)
    return replace(run, bound=bound, uploads=b"".join(uploads))
