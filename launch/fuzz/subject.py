"""The subject of fuzzing: one case of a launch, as described by the request and the kernel.

Holds facts only; `links` infers how numbers depend on each other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from compiler.constexpr import plain_value
from launch.request.bound_arguments import BoundArguments, Buffer, Descriptor, Scalar, TupleArgument
from launch.request.buffer import contiguous_strides
from launch.request.element import is_floating
from launch.request.grid import Grid
from launch.request.scalar import integer


@dataclass(frozen=True, slots=True)
class FuzzedBuffer:
    """A buffer among the arguments. An output without `init` starts poisoned.

    `described` is the buffer, or the base of a descriptor, as the request writes it. `pinned` gives
    the reason why its memory must stay unchanged, or None if it may change.
    """

    name: str
    described: Mapping[str, Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    init: Mapping[str, Any] | None
    output: bool
    in_descriptor: bool = False
    pinned: str | None = None

    @property
    def is_contiguous(self) -> bool:
        """True if its strides are those of C order."""
        wanted = contiguous_strides(self.shape)
        triples = zip(self.shape, self.strides, wanted, strict=True)
        return all(extent == 1 or stride == own for extent, stride, own in triples)

    @property
    def is_input(self) -> bool:
        """True if the request gives its initial contents."""
        return self.init is not None

    @property
    def is_index_like(self) -> bool:
        """True if its integers may be indices into another buffer."""
        return self.is_input and not is_floating(self.dtype)


@dataclass(frozen=True, slots=True)
class Subject:
    """One case: its arguments as the request writes them, and the numbers in them by name.

    `fixed` holds the names that the caller wants unchanged. With `equal_nan`, NaN is a meaningful
    result of the reference.
    """

    arguments: Mapping[str, Any]
    buffers: Mapping[str, FuzzedBuffer]
    integers: Mapping[str, int]
    floats: Mapping[str, float]
    constexprs: Mapping[str, Any]
    grid: Grid
    fixed: frozenset[str] = frozenset()
    equal_nan: bool = False
    tuples: tuple[str, ...] = ()
    """Arguments that are tuples: the meaning of their items is unknown."""

    @property
    def blocks(self) -> dict[str, int]:
        """The integer constexprs that may be block lengths, by name."""
        constexprs = self.constexprs.items()
        return {name: value for name, value in constexprs if type(value) is int and value > 1}

    @property
    def is_grid_literal(self) -> bool:
        """True if the grid is all literals: then it cannot follow a change of extents."""
        return not self.grid.names

    @property
    def grid_literals(self) -> frozenset[int]:
        """The integer literals above 1 in the grid."""
        return frozenset(number for number in self.grid.integers if number > 1)

    @property
    def float_outputs_only(self) -> bool:
        """True if every output has a floating-point dtype."""
        return all(is_floating(each.dtype) for each in self.buffers.values() if each.output)


def subject_of(
    arguments: Mapping[str, Any],
    bound: BoundArguments,
    constexprs: Mapping[str, Any],
    grid: Grid,
    fixed: frozenset[str] = frozenset(),
    *,
    equal_nan: bool = False,
) -> Subject:
    """Return the subject for the `arguments` of a request and their `bound` form.

    `constexprs` holds the tagged values of all constexpr parameters. An argument for a constexpr
    does not count as a scalar.
    """
    scalars = {
        name: argument
        for name, argument in bound.arguments.items()
        if isinstance(argument, Scalar) and name not in constexprs
    }
    integers = {name: integer(scalar) for name, scalar in scalars.items()}
    viewed = frozenset(_viewed(arguments))
    return Subject(
        arguments=arguments,
        buffers=dict(_buffers(arguments, bound, viewed)),
        integers={name: number for name, number in integers.items() if number is not None},
        floats={
            name: float.fromhex(scalar.value["float"])
            for name, scalar in scalars.items()
            if isinstance(scalar.value, dict) and "float" in scalar.value
        },
        constexprs={name: plain_value(value) for name, value in constexprs.items()},
        grid=grid,
        fixed=fixed,
        equal_nan=equal_nan,
        tuples=tuple(
            name
            for name, argument in bound.arguments.items()
            if isinstance(argument, TupleArgument) and argument.items
        ),
    )


def _buffers(
    arguments: Mapping[str, Any], bound: BoundArguments, viewed: frozenset[str]
) -> Iterator[tuple[str, FuzzedBuffer]]:
    for name, raw in arguments.items():
        argument = bound.arguments.get(name)
        base = argument.base if isinstance(argument, Descriptor) else argument
        if not isinstance(base, Buffer) or not isinstance(raw, Mapping):
            continue
        described = raw["descriptor"]["base"] if "descriptor" in raw else raw
        init = bound.allocations[base.allocation].init
        yield (
            name,
            FuzzedBuffer(
                name=name,
                described=described,
                shape=tuple(base.shape),
                strides=tuple(base.strides),
                dtype=base.dtype,
                init=init,
                output=base.output,
                in_descriptor=isinstance(argument, Descriptor),
                pinned=_pinned(name, described, init, viewed),
            ),
        )


def _pinned(
    name: str, described: Mapping[str, Any], init: Mapping[str, Any] | None, viewed: frozenset[str]
) -> str | None:
    if "view" in described:
        return f"{name} is a view of other memory"
    if name in viewed:
        return f"another argument is a view of {name}"
    if init is not None and init["kind"] in {"values", "tensor"}:
        return f"the request gives explicit values for {name}"
    return None


def _viewed(raw: Any) -> Iterator[str]:
    """Yield the names of the arguments that views refer to."""
    items = raw.values() if isinstance(raw, Mapping) else raw if isinstance(raw, list) else ()
    if isinstance(raw, Mapping) and isinstance(raw.get("view"), Mapping):
        yield str(raw["view"].get("of", "")).partition(".")[0]
    for item in items:
        yield from _viewed(item)
