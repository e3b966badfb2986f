"""Checks a launch against its kernel: parameters, variants, descriptors."""

from collections.abc import Mapping

from programs.tape.invalid_tape import InvalidTape
from programs.tape.schema import (
    LaunchValue,
    ReinterpretedArgument,
    Tape,
    TapeDescriptor,
    TapeKernel,
    TapeLaunch,
    tensors_of,
)
from programs.tape.tape_dtypes import ELEMENT_BYTES
from programs.tape.tensor_extents import spanned_bytes


def check_launch(launch: TapeLaunch, tape: Tape, where: str) -> None:
    """Raise `InvalidTape` for a launch that does not fit its kernel. Skips tensors."""
    kernel = tape.kernels.get(launch.kernel)
    if kernel is None:
        raise InvalidTape(f"{where}/kernel", f"there is no kernel {launch.kernel!r} in this tape")
    _check_parameters(launch, kernel, where)
    _check_variants(launch, where)
    for name, value in launch.constexprs.items():
        if tensors_of(value):
            raise InvalidTape(f"{where}/constexprs/{name}", "a tensor cannot be a constexpr")
    for name, value in launch.args.items():
        _check_argument(value, tape, f"{where}/args/{name}")


def _check_parameters(launch: TapeLaunch, kernel: TapeKernel, where: str) -> None:
    names = frozenset(parameter.name for parameter in kernel.parameters)
    given = (*launch.args, *launch.constexprs)
    for name in given:
        if name not in names:
            raise InvalidTape(where, f"kernel {kernel.name} has no parameter {name!r}")
    if len(set(given)) != len(given):
        twice = sorted(set(launch.args) & set(launch.constexprs))
        raise InvalidTape(where, f"{twice[0]!r} is an argument and a constexpr")
    for name in sorted(names.difference(given)):
        raise InvalidTape(where, f"parameter {name!r} of kernel {kernel.name} has no argument")
    for name in dict.fromkeys(
        (*launch.reset_to_zero, *launch.restore_value)
    ):  # some are there twice
        if not tensors_of(launch.args.get(name)):
            raise InvalidTape(where, f"{name!r} is not a tensor, so an autotuner cannot restore it")


def _check_variants(launch: TapeLaunch, where: str) -> None:
    known = {**launch.args, **launch.constexprs}
    for index, variant in enumerate(launch.variants):
        here = f"{where}/variants/{index}"
        for name, value in variant.constexprs.items():
            if name not in known or tensors_of(value):
                raise InvalidTape(here, f"{name!r} is not a constexpr that can vary")
    if launch.variants and not _is_first(launch, known):
        raise InvalidTape(f"{where}/variants/0", "the first variant is not the launch itself")


def _is_first(launch: TapeLaunch, known: Mapping[str, LaunchValue]) -> bool:
    first = launch.variants[0]
    return (
        not first.unprepared
        and first.grid == launch.grid
        and first.options == launch.options
        and all(
            (type(known[name]), repr(known[name])) == (type(value), repr(value))
            for name, value in first.constexprs.items()
        )
    )


def _check_argument(value: LaunchValue, tape: Tape, where: str) -> None:
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            _check_argument(item, tape, f"{where}/{index}")
    elif isinstance(value, TapeDescriptor):
        tensor = tape.tensors[value.base.id]
        size = ELEMENT_BYTES[tensor.dtype]
        reach = spanned_bytes(value.shape, value.strides, tensor.offset, size)
        if reach > tape.storages[tensor.storage]:
            there = tape.storages[tensor.storage]
            raise InvalidTape(where, f"the descriptor reaches {reach} bytes into {there}")
    elif isinstance(value, ReinterpretedArgument) and value.dtype not in ELEMENT_BYTES:
        raise InvalidTape(where, f"memory cannot be reinterpreted as {value.dtype}")
