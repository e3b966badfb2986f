"""Finds the copies that could replace launches, if these only pass on what torch computed."""

from collections.abc import Sequence
from itertools import product
from math import prod

from programs.tape.kernel_effects import KernelEffects
from programs.tape.schema import Tape, TapeLaunch, TensorMeta, tensors_of

Copy = tuple[int, int, int]
"""A launch, a tensor that it writes, and one of as many elements that it reads."""
MOST_CHOICES = 3


def launch_copies(tape: Tape, effects: dict[str, KernelEffects | None]) -> Sequence[Sequence[Copy]]:
    """Return up to `MOST_CHOICES` ways to replace all launches of the first call by copies.

    Where several tensors could be copied, each choice takes another one. A launch without any is
    left out. No choices: no launch reads a tensor that could be copied.
    """
    found = [
        (index, target, sources)
        for index, op in enumerate(tape.ops)
        if isinstance(op, TapeLaunch) and op.phase == "run" and 0 not in op.grid
        for target, sources in _sources(op, effects.get(op.kernel), tape)
    ]
    choices = min(MOST_CHOICES, max((len(sources) for _, _, sources in found), default=0))
    return [
        [(index, target, sources[choice % len(sources)]) for index, target, sources in found]
        for choice in range(choices)
    ]


def _sources(
    launch: TapeLaunch, effects: KernelEffects | None, tape: Tape
) -> Sequence[tuple[int, Sequence[int]]]:
    """Return the tensors that a launch writes, each with those that could be copied into it."""
    if effects is None:
        return []
    written, read = (
        dict.fromkeys(id_ for name in names for id_ in tensors_of(launch.args.get(name)))
        for names in (sorted(effects.writes), sorted(effects.reads))
    )
    found: dict[int, list[int]] = {}
    for target, source in product(written, read):
        one, other = tape.tensors[target], tape.tensors[source]
        if target != source and _likeness(one, other):
            found.setdefault(target, []).append(source)
    return [
        (
            target,
            sorted(sources, key=lambda one: -_likeness(tape.tensors[target], tape.tensors[one])),
        )
        for target, sources in found.items()
    ]


def _likeness(one: TensorMeta, other: TensorMeta) -> int:
    """Return 0 if a copy is impossible, and more for the more alike tensors."""
    if prod(one.shape) != prod(other.shape):
        return 0
    return 1 + (one.shape == other.shape) + 2 * (one.dtype == other.dtype)
