"""Applies functions of scalars, with their own control flow, to each lane of whole tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances


def elementwise(programs: ProgramInstances, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` for tensors whose last axis is the programs."""

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
        """Broadcast to every program if some are inactive, since lanes may then differ."""
        if programs.active is None:
            return over_lanes(*tensors)
        wide = [np.broadcast_to(t, (*t.shape[:-1], programs.count)) for t in tensors]
        return over_lanes(*wide)

    return over_lanes_of_all


def map_packs(
    programs: ProgramInstances, function: Callable[..., Any], pack: int, *tensors: Array
) -> Any:
    """Return the results of `function` for each `pack` neighbours of all tensors."""
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
    """Return the results of `function` for each element of tensors with the leading axis first."""
    made = elementwise(programs, function)(*[np.moveaxis(tensor, 0, -1) for tensor in tensors])
    if isinstance(made, tuple):
        return tuple(np.moveaxis(row, -1, 0) for row in made)
    return np.moveaxis(made, -1, 0)


def check_extent(
    programs: ProgramInstances, value: Any, shape: tuple[int, ...], made_by: str
) -> None:
    """Raise `AssertionError` unless `value` has `shape` after a leading axis of programs or of 1.

    Pointers may be narrower: each access broadcasts them to the shape of its tile.
    """
    if isinstance(value, Pointer):
        parts = [part.shape for part in (value.across, value.along) if part is not None]
        for part in parts:
            if part[0] not in (1, programs.count):
                raise AssertionError(f"{made_by}: a pointer of {part} for {programs.count}")
            np.broadcast_shapes(part[1:], shape)
        return
    found = np.shape(value)
    if found[:1] not in ((1,), (programs.count,)) or found[1:] != shape:
        raise AssertionError(f"{made_by}: {found}, but the part of one program is {shape}")
