"""What comes before what among the programs of a launch: only atomic operations order them.

A program that acquires at an address knows all that others had done before they released there.
Everything else happens in no order, although the interpreter runs one program after another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.launching.dtypes import Array
from compiler.launching.finding import Place

_NOTHING = -1
_ACQUIRES = frozenset({"ACQUIRE", "ACQUIRE_RELEASE"})
_RELEASES = frozenset({"RELEASE", "ACQUIRE_RELEASE"})


@dataclass(frozen=True)
class Step:
    """One access: its number among all of the launch, who did it, and whether atomically."""

    number: int
    program: int
    atomic: bool


class Order:
    """The steps of a launch of `programs` programs, and which of them each program knows of."""

    def __init__(self, programs: int) -> None:
        self._places: list[Place] = []
        self._program_of = np.zeros(1024, np.int32)
        self._is_atomic = np.zeros(1024, np.bool_)
        self._programs = programs
        self._running = _NOTHING
        self._known: Array | None = None
        """Of each program the last step that the running one knows of; `None` for nothing."""
        self._released: dict[int, Array] = {}

    def step(self, program: int, place: Place, *, atomic: bool) -> Step:
        """Return the next step."""
        number = len(self._places)
        self._places.append(place)
        if number == self._program_of.size:
            self._program_of = np.resize(self._program_of, 2 * number)
            self._is_atomic = np.resize(self._is_atomic, 2 * number)
        self._program_of[number], self._is_atomic[number] = program, atomic
        if program != self._running:  # what its predecessor knew is nothing that it knows
            self._running = program
            self._known = None
        return Step(number, program, atomic)

    def synchronise(self, addresses: Array, semantics: str) -> None:
        """Have the running program learn what was released at `addresses`, and release there."""
        every = np.unique(addresses).tolist()
        earlier = {
            id(known): known for known in map(self._released.get, every) if known is not None
        }
        own = np.full(self._programs, _NOTHING, np.int32) if self._known is None else self._known
        if semantics in _ACQUIRES:
            for known in earlier.values():
                own = np.maximum(own, known)
            self._known = own
        if semantics in _RELEASES:
            own = own.copy()  # shared by all addresses, as most know the same
            own[self._running] = len(self._places) - 1
            merged = {number: np.maximum(known, own) for number, known in earlier.items()}
            for address in every:
                self._released[address] = merged.get(id(self._released.get(address)), own)

    def unordered(self, steps: Array, now: Step) -> Array:
        """Return which of the earlier `steps` (-1 for none) nothing puts before `now`.

        Two atomic operations need no order.
        """
        owners = self._program_of[steps]
        apart = (steps != _NOTHING) & (owners != now.program)
        if self._known is not None:
            apart &= self._known[owners] < steps
        needed: Array = apart & ~self._is_atomic[steps] if now.atomic else apart
        return needed

    def place_of(self, step: int) -> Place:
        """Return where a step was."""
        return self._places[step]
