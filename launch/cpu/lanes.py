"""Regions and functions of scalars that decide by them, for whole tensors: each lane by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances


def elementwise(programs: ProgramInstances, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` for tensors whose last axis is that of programs."""

    def over_lanes(*tensors: Array) -> Any:
        arrays = np.broadcast_arrays(*tensors)
        shape = arrays[0].shape
        with programs.lanes(shape):
            made = function(*[array.reshape(-1) for array in arrays])
        rows = made if isinstance(made, tuple) else (made,)
        shaped = tuple(np.broadcast_to(row, (arrays[0].size,)).reshape(shape) for row in rows)
        return shaped if isinstance(made, tuple) else shaped[0]

    if programs.count == 1:
        return over_lanes

    def over_lanes_of_all(*tensors: Array) -> Any:
        """Have every program's lanes, where those that take part are not known to be alike."""
        if programs.active is None:
            return over_lanes(*tensors)
        wide = [np.broadcast_to(t, (*t.shape[:-1], programs.count)) for t in tensors]
        return over_lanes(*wide)

    return over_lanes_of_all


def map_packs(
    programs: ProgramInstances, function: Callable[..., Any], pack: int, *tensors: Array
) -> Any:
    """Return what `function` makes of `pack` neighbours of each tensor, tensor by tensor."""
    arrays = np.broadcast_arrays(*tensors)
    shape = arrays[0].shape
    rows = [array.reshape(shape[0], -1, pack) for array in arrays]
    each = [row[:, :, place] for row in rows for place in range(pack)]
    made = map_elementwise(programs, function, *each)
    made = made if isinstance(made, tuple) else (made,)
    found = tuple(
        np.stack(made[first : first + pack], -1).reshape(-1, *shape[1:])
        for first in range(0, len(made), pack)
    )
    return found if len(found) > 1 else found[0]


def map_elementwise(
    programs: ProgramInstances, function: Callable[..., Any], *tensors: Array
) -> Any:
    """Return what `function` makes of each element of tensors, their leading axis first."""
    made = elementwise(programs, function)(*[np.moveaxis(tensor, 0, -1) for tensor in tensors])
    if isinstance(made, tuple):
        return tuple(np.moveaxis(row, -1, 0) for row in made)
    return np.moveaxis(made, -1, 0)


def check_extent(
    programs: ProgramInstances, value: Any, shape: tuple[int, ...], made_by: str
) -> None:
    """Raise `AssertionError` unless `value` has `shape` below an axis of all programs or of 1.

    Pointers are narrow by design: each access spreads them to the shape of its tile.
    """
    if isinstance(value, Pointer):
        parts = [part.shape for part in (value.across, value.along) if part is not None]
        for part in parts:
            if part[0] not in (1, programs.count):
                raise AssertionError(f"{made_by}: a pointer of {part} among {programs.count}")
            np.broadcast_shapes(part[1:], shape)
        return
    found = np.shape(value)
    if found[:1] not in ((1,), (programs.count,)) or found[1:] != shape:
        raise AssertionError(f"{made_by}: {found} where a program's own part is {shape}")
