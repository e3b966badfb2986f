"""Maps compiled kernels to their autotuner's configurations, and marks the fastest. Pure."""

from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from compiler.json_number import written_number
from programs.program_record import KernelConfiguration
from programs.tape.schema import DtypeName, KernelArgument, LaunchVariant, Tape, TapeLaunch
from programs.worker.kernel_jobs import KernelUse


def configurations_of(
    tape: Tape, variants: Mapping[int, Sequence[KernelUse]], fastest: Mapping[int, int]
) -> dict[KernelUse, KernelConfiguration]:
    """Return the configuration of each use of an autotuned kernel.

    `variants` has all uses of a launch, `fastest` the number of its fastest variant; both are by
    the index of the launch.
    """
    found: dict[KernelUse, KernelConfiguration] = {}
    for index, uses in variants.items():
        op = tape.ops[index]
        if not isinstance(op, TapeLaunch) or len(op.variants) != len(uses):
            continue
        for number, use in enumerate(uses):
            was_fastest = found[use].is_fastest if use in found else None
            is_fastest = fastest[index] == number if index in fastest else None
            if use not in found or (is_fastest and not was_fastest):
                found[use] = _configuration(op.variants, number, is_fastest)
    return found


def _configuration(
    variants: Sequence[LaunchVariant], number: int, is_fastest: bool | None
) -> KernelConfiguration:
    """Return one of `variants`, with only those constants that differ among them."""
    own = variants[number]
    constants = {
        name: _shown(value)
        for name, value in own.constexprs.items()
        if any(one.constexprs.get(name) != value for one in variants)
    }
    options = dict(own.options)
    return KernelConfiguration(
        number=number, constexprs=constants, options=options, is_fastest=is_fastest
    )


def _shown(value: object) -> JsonValue:
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            return written_number(value)
        case DtypeName():
            return value.name
        case KernelArgument():
            return value.kernel
        case tuple():
            return [_shown(item) for item in value]
    return str(value)
