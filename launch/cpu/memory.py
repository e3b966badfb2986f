"""The memory of the programs that run at once, with a quick check of all their accesses.

A quick check only raises a suspicion (`PossibleRace`). Then the programs run one after the other,
and `AccessChecker` finds the cause. Invalid accesses are never performed, and addresses are
virtual, so that no other memory can be reached.
"""

from functools import partial
from typing import Any

import numpy as np

from launch.buffers.element_types import Array
from launch.checks.access import Access, AccessForm, Touch
from launch.checks.checked_memory import AccessChecker
from launch.checks.finding import Stopped
from launch.checks.owner_table import PossibleRace
from launch.checks.race_screen import OrderScreen
from launch.cpu import atomic_updates
from launch.cpu.located import LocatedLanes
from launch.cpu.locator import Locator
from launch.cpu.pointer import Pointer
from launch.cpu.programs import ProgramInstances
from launch.cpu.undefined_lanes import OperationLanes

Shape = tuple[int, ...]
_NOTHING = np.zeros(1, np.uint8)


class ProgramMemory:
    """Loads, stores and atomics of `programs`; values have their leading axis, or one of 1.

    While it `is_exact`, programs run one at a time, and `access_checker` checks each access first.
    """

    def __init__(
        self,
        programs: ProgramInstances,
        locator: Locator,
        access_checker: AccessChecker,
        suspicion: OrderScreen,
    ) -> None:
        self._programs, self._locator = programs, locator
        self._access_checker, self._suspicion = access_checker, suspicion
        self.is_exact = False
        self._batch: Array | None = None
        self._owners: Array | None = None

    def load(
        self,
        pointer: Pointer,
        mask: Any = None,
        other: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> Array:
        """Return the values at `pointer` where `mask` is true, `other` (or 0) elsewhere.

        After an invalid lane the program goes on, so that its next accesses are checked as well,
        but it writes nothing more.
        """
        live = self._live(mask, pointer)
        try:
            self._admit(Access.LOAD, pointer, live, None, shape, None, form)
        except Stopped as failed:
            live = self._left_after(failed, live, shape)
        loaded: Array | None = None
        if isinstance(other, OperationLanes):
            other = None if live is None else other.values(~live, pointer.dtype)
        rest = None if live is None else _as_bits(other, pointer.dtype)
        for lanes in self._locator.located(pointer, live):
            if not self.is_exact and self._suspicion.wants_loads(lanes.allocation):
                self._look_at_load(lanes)
            if rest is None and lanes.live is not None:
                rest = _as_bits(None, pointer.dtype)
            loaded = rest = lanes.loaded(_NOTHING if rest is None else rest)
        if loaded is None:
            loaded = _as_bits(other, pointer.dtype) if rest is None else rest
        if loaded.shape[1:] != shape:  # equal addresses, and no mask that broadcast them
            ones = (1,) * (len(shape) + 1 - loaded.ndim)
            wide = loaded.reshape(len(loaded), *ones, *loaded.shape[1:])
            loaded = np.broadcast_to(wide, (len(loaded), *shape))
        return loaded != 0 if pointer.dtype.kind == "b" else loaded.view(pointer.dtype)

    def store(
        self,
        pointer: Pointer,
        value: Any,
        mask: Any = None,
        shape: Shape = (),
        *,
        form: AccessForm | None = None,
    ) -> None:
        """Store `value` at `pointer` where `mask` is true; the last of equal addresses wins."""
        values = np.atleast_1d(np.asarray(value, pointer.dtype))
        live = self._live(mask, pointer, values)
        self._admit(Access.STORE, pointer, live, values, shape, None, form)
        if self._access_checker.failed_loads:
            return
        for lanes in self._locator.located(pointer, live):
            wide, picked = lanes.spread(values)
            if self.is_exact:
                lanes.put(picked, wide)
                continue
            owner, cells = self._owner(lanes, wide), partial(lanes.cells, wide)
            self._suspicion.store(lanes.allocation, cells, picked, owner)
            lanes.put(picked, wide)
            if self._suspicion.meetings.checks_lanes:
                _check_kept(lanes.elements, cells(), picked)

    def atomic(
        self,
        kind: str,
        pointer: Pointer,
        value: Any,
        mask: Any,
        shape: Shape,
        is_used: bool,
        *,
        semantics: str | None = None,
        within_program: bool = False,
        form: AccessForm | None = None,
    ) -> Any:
        """Combine every lane's value into memory; return the old values if they are used."""
        wide = (self._programs.count, *shape)
        before = np.zeros(wide, pointer.dtype) if is_used else None
        may_change_places = not is_used and kind != "xchg" and pointer.dtype.kind in "iu"
        exchanged = kind if may_change_places else None  # the order changes sums of floats
        for lanes, cells in self._updated(
            pointer, mask, wide, semantics, form,
            kind=exchanged, is_returned=is_used, within_program=within_program,
        ):  # fmt: skip
            picked = lanes.picked(np.asarray(value, pointer.dtype), wide).reshape(-1)
            if before is None:
                atomic_updates.update(kind, lanes.elements, cells, picked)
            else:
                met = atomic_updates.fetch_and_update(kind, lanes.elements, cells, picked)
                before[lanes.mask(wide)] = met
        return before

    def compare_and_swap(
        self,
        pointer: Pointer,
        expected: Any,
        value: Any,
        shape: Shape,
        *,
        semantics: str | None = None,
        within_program: bool = False,
    ) -> Array:
        """Store `value` where memory equals `expected`, lane by lane; return the old values."""
        wide = (self._programs.count, *shape)
        before = np.zeros(wide, pointer.dtype)
        for lanes, cells in self._updated(
            pointer, None, wide, semantics, AccessForm.COMPARED,
            kind=None, is_returned=True, within_program=within_program,
        ):  # fmt: skip
            wanted, replacement = (
                lanes.picked(np.asarray(operand, pointer.dtype), wide).reshape(-1)
                for operand in (expected, value)
            )
            met = atomic_updates.compare_and_swap(lanes.elements, cells, wanted, replacement)
            before[lanes.mask(wide)] = met
        return before

    def _updated(
        self,
        pointer: Pointer,
        mask: Any,
        wide: Shape,
        semantics: str | None,
        form: AccessForm | None,
        *,
        kind: str | None,
        is_returned: bool,
        within_program: bool,
    ) -> list[tuple[LocatedLanes, Array]]:
        """Return the located lanes of an atomic operation and their flat cells."""
        live = self._live(mask, pointer, np.broadcast_to(True, wide))
        form = form or (AccessForm.UNMASKED if live is None else AccessForm.MASKED)
        semantics = semantics or "RELAXED"
        self._admit(Access.ATOMIC, pointer, live, None, wide[1:], semantics, form,
            is_returned=is_returned, within_program=within_program,
        )  # fmt: skip
        updated: list[tuple[LocatedLanes, Array]] = []
        if self._access_checker.failed_loads:
            return updated
        for lanes in self._locator.located(pointer, live, in_rows=False):
            cells = lanes.cells(wide).reshape(-1)
            if not self.is_exact:
                owner, size = self._owner(lanes, wide), pointer.dtype.itemsize
                if owner is not None and lanes.live is None:
                    owner = np.broadcast_to(owner, wide).reshape(-1)
                cells_of = partial(np.asarray, cells)
                self._suspicion.update(
                    lanes.allocation, cells_of, size, owner,
                    kind=kind, within_program=within_program,
                )  # fmt: skip
            updated.append((lanes, cells))
        return updated

    def _live(self, mask: Any, pointer: Pointer, values: Array | None = None) -> Array | None:
        """Return a mask of the active lanes, `None` for all."""
        if mask is not None and not isinstance(mask, np.ndarray):
            mask = np.atleast_1d(mask)  # a constant
        active = self._programs.active
        if active is not None:
            arrays = [array for array in (mask, values) if array is not None]
            if pointer.count > 1 or any(len(array) > 1 for array in arrays):
                rank = max(pointer.rank, *(array.ndim for array in arrays), 1) - 1
                active = active.reshape(-1, *(1,) * rank)
                mask = active if mask is None else mask & active
        return None if mask is None or mask.all() else mask

    def _admit(
        self,
        access: Access,
        pointer: Pointer,
        live: Array | None,
        values: Array | None,
        shape: Shape,
        semantics: str | None,
        form: AccessForm | None,
        *,
        is_returned: bool = False,
        within_program: bool = False,
    ) -> None:
        """Count an access; if checks are exact, have `access_checker` check the lanes."""
        active = self._programs.active
        if not self.is_exact:
            if self._programs.numbers is not self._batch:
                self._batch = self._programs.numbers
                self._owners = self._suspicion.begin(self._batch)
            count = self._programs.count if active is None else int(np.count_nonzero(active))
            self._access_checker.count(count)
            return
        form = form or (AccessForm.UNMASKED if live is None else AccessForm.MASKED)
        addresses = np.broadcast_to(pointer.address[0], shape).astype(np.uint64)
        written = None if values is None else np.broadcast_to(values[0], shape)
        touch = Touch(
            access, addresses, pointer.dtype.itemsize, written, semantics, form,
            is_returned, within_program,
        )  # fmt: skip
        elsewhere = self._locator.in_other_argument(pointer, live)
        if elsewhere is not None:
            raise self._access_checker.into_other_argument(touch, *elsewhere)
        self._access_checker.admit(touch, None if live is None else np.broadcast_to(live[0], shape))

    def _left_after(self, failed: Stopped, live: Array | None, shape: Shape) -> Array:
        """Return the valid lanes of a load that failed. Raises `Stopped` after too many."""
        self._access_checker.go_on_after(failed)
        self._programs.end_soon()
        wanted = np.broadcast_to(True if live is None else live[0], shape)
        return (wanted & (False if failed.bad is None else ~failed.bad))[None]

    def _look_at_load(self, lanes: LocatedLanes) -> None:
        shape = lanes.shape
        size, owner = lanes.elements.itemsize, self._owner(lanes, shape)
        self._suspicion.load(lanes.allocation, partial(lanes.cells, shape), size, owner)

    def _owner(self, lanes: LocatedLanes, shape: Shape) -> Array | None:
        """Return the owners of the live lanes in the form of `OrderScreen`."""
        owners = self._owners
        if owners is None or (owners.size > 1 and shape[0] == 1):
            return None
        owners = owners.reshape(-1, *(1,) * (len(shape) - 1))
        return owners if lanes.live is None else lanes.picked(owners, shape)


def _check_kept(elements: Array, cells: Array, values: Array) -> None:
    """Raise `PossibleRace` if lanes of one store wrote different values to one address."""
    bits = np.dtype(f"u{elements.itemsize}")
    if (elements.view(bits).take(cells) != values.view(bits)).any():
        raise PossibleRace


def _bits_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type in which to move elements: unsigned bits for bool and types of ml_dtypes."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.num > 255 or dtype.kind == "b" else dtype


def _as_bits(other: Any, dtype: np.dtype[Any]) -> Array:
    """Return the bits of `other`, the value of lanes that load nothing."""
    values = np.asarray(0 if other is None else other).astype(dtype)
    return np.atleast_1d(values).view(_bits_of(dtype))
