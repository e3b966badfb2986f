"""Runs a kernel's NumPy code with every access checked: is its result deterministic?

The second run executes the programs in reverse order. It also changes values that the compiler may
choose freely: masked lanes without `other`, quotients by zero, and infinities converted to
integers. If both runs agree, without a race or an access out of bounds, a GPU must give the same
result.

A third run flips the last bit of fp32 and fp64 inputs. If that moves a result out of its tolerance,
a wrong rounding cannot be distinguished from a right one, and the case reports it.
"""

import itertools
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from launch.buffers.allocation import leaves, materialise, view
from launch.buffers.element_types import readable
from launch.request.tolerance import default_tolerance

NO_PROGRAM, SEVERAL = -1, -2
_POISON = 77
_SINGLE_BYTES = 4


class Nondeterministic(Exception):
    """The launch cannot be compared; the message explains why."""


@dataclass
class WatchedLaunch:
    """The results of a launch: the bytes of each allocation, and the findings."""

    before: list[np.ndarray]
    after: list[np.ndarray]
    notes: set[str] = field(default_factory=set)


def watched(text: str, kernel: str, launch: dict[str, Any], limit_s: float) -> WatchedLaunch:
    """Run `launch`, grid and bound arguments as JSON, twice.

    Raises Nondeterministic, and IndexError for an access outside a buffer.
    """
    made = _run(text, kernel, launch, limit_s, backwards=False)
    try:
        other = _run(text, kernel, launch, 2 * limit_s, backwards=True)
    except IndexError as error:
        raise Nondeterministic(f"an address depends on masked-off lanes: {error}") from error
    for described, one, two in zip(launch["allocations"], made.after, other.after, strict=True):
        if one.tobytes() != two.tobytes():
            if "atomics" not in made.notes:
                raise Nondeterministic("depends on order, or on what is undefined")
            made.notes.add("order")
            if not _within(described["dtype"], one, two):
                raise Nondeterministic("depends on the order of atomics")
    if not is_well_conditioned(text, kernel, launch, made):
        made.notes.add("ill-conditioned")
    return made


def is_well_conditioned(
    text: str, kernel: str, launch: dict[str, Any], made: WatchedLaunch
) -> bool:
    """Return True if all results stay in tolerance when the inputs' last bits change."""
    module: dict[str, Any] = {"__name__": "told"}
    exec(compile(text, "translated.py", "exec"), module)
    allocations, arguments = bound(module, kernel, launch)
    chance, inputs = np.random.default_rng(0), []
    for one in allocations:
        if one.memory.dtype.kind == "f" and one.memory.itemsize >= _SINGLE_BYTES:
            up = chance.random(one.memory.size) < 0.5
            away = np.where(up, np.inf, -np.inf).astype(one.memory.dtype)
            is_usual = np.isfinite(one.memory) & (one.memory != 0)
            one.memory[is_usual] = np.nextafter(one.memory, away)[is_usual]
        inputs.append(one.memory.copy())
    module["launch"](module[kernel], launch["grid"], **arguments)
    for described, one, before, after, start in zip(
        launch["allocations"], allocations, made.before, made.after, inputs, strict=True
    ):
        changed = _bits(after) != _bits(before)
        changed |= _bits(one.memory) != _bits(start)
        if changed.any() and not _within(described["dtype"], after[changed], one.memory[changed]):
            return False
    return True


def _bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


def _within(dtype: str, one: np.ndarray, other: np.ndarray) -> bool:
    if dtype[0] in "iu":
        return one.tobytes() == other.tobytes()
    tolerance = default_tolerance(dtype)
    x, y = readable(one, dtype).astype(np.float64), readable(other, dtype).astype(np.float64)
    return bool(np.allclose(y, x, tolerance.rtol, tolerance.atol, equal_nan=True))


def plain(text: str, kernel: str, launch: dict[str, Any]) -> list[np.ndarray]:
    """Return the bytes of each allocation after a run without checks."""
    module: dict[str, Any] = {"__name__": "told"}
    exec(compile(text, "translated.py", "exec"), module)
    allocations, arguments = bound(module, kernel, launch)
    module["launch"](module[kernel], launch["grid"], **arguments)
    return [one.memory for one in allocations]


def bound(
    module: dict[str, Any], kernel: str, launch: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """Return a launch's allocations and the kernel's arguments, which are views of them."""
    allocations = materialise(launch["allocations"], launch["arguments"], b"")
    kinds = {n: k.strip("\"'") for n, k in module[kernel].__annotations__.items()}
    arguments = {}
    kinds.pop("return", None)
    named = dict(zip(kinds, launch["arguments"].items(), strict=False))
    if len(kinds) != len(launch["arguments"]):  # descriptors have parameters for their extents
        named = {
            name: (name, launch["arguments"][name]) for name in kinds if name in launch["arguments"]
        }
    for name, (_, argument) in named.items():
        match argument["kind"]:
            case "scalar":
                ((_, value),) = (argument["value"].items() if isinstance(argument["value"], dict)
                                 else [("", argument["value"])])  # fmt: skip
                if isinstance(value, str):
                    value = float.fromhex(value) if "x" in value or "n" in value else int(value)
                arguments[name] = value
            case "buffer":
                (leaf,) = leaves({name: argument})
                array = view(allocations[leaf.allocation].memory, leaf)
                dtype = module["dtype_named"](kinds[name].removeprefix("*"))
                arguments[name] = array if array.dtype == dtype else array.view(dtype)
            case "descriptor":
                (leaf,) = leaves({name: argument["base"]})
                arguments[name] = view(allocations[leaf.allocation].memory, leaf)
    return allocations, arguments


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Nondeterministic("takes too long")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _run(
    text: str, kernel: str, launch: dict[str, Any], limit_s: float, *, backwards: bool
) -> WatchedLaunch:
    module: dict[str, Any] = {"__name__": "told"}
    exec(compile(text, "translated.py", "exec"), module)
    allocations, arguments = bound(module, kernel, launch)
    before = [one.memory.copy() for one in allocations]
    module["memory"].clear()
    types = {n: k.strip("\"'") for n, k in module[kernel].__annotations__.items()}
    missing = [n for n in types if n not in arguments and n != "return"]
    if missing:
        raise Nondeterministic(f"no arguments for {missing}")
    values = {n: module["argument_of"](n, arguments[n], types[n]) for n in types if n != "return"}
    watch = _AccessChecker(module, poisoned=backwards)
    grid = launch["grid"]
    module["memory"].programs = tuple(grid)
    numbers = list(itertools.product(*[range(size) for size in reversed(grid)]))
    with np.errstate(all="ignore"), _limited(limit_s):
        for number in reversed(numbers) if backwards else numbers:
            module["memory"].program = tuple(reversed(number))
            watch.program += 1
            module[kernel](**values)
    return WatchedLaunch(before, [one.memory for one in allocations], watch.notes)


def _poison_undefined(module: dict[str, Any]) -> None:
    """Replace quotients by zero and infinities as integers by other values."""

    def of_division(divide: Any) -> Any:
        def poisoned(a: Any, b: Any, *more: Any) -> Any:
            result = divide(a, b, *more)
            if not isinstance(result, (np.ndarray, np.generic)) or result.dtype.kind not in "iu":
                return result
            return np.where(np.asarray(b) == 0, result.dtype.type(_POISON), result)[()]

        return poisoned

    def poisoned_integer(value: Any, kind: Any, *more: Any) -> Any:
        found = to_integer(value, kind, *more)
        return np.where(np.isfinite(value), found, np.dtype(kind).type(0))[()]

    for name in ("divide", "remainder", "floor_divide"):
        if name in module:
            module[name] = of_division(module[name])
    if to_integer := module.get("to_integer"):
        module["to_integer"] = poisoned_integer


class _AccessChecker:
    """Intercepts the module's loads and stores to find races between programs."""

    def __init__(self, module: dict[str, Any], *, poisoned: bool) -> None:
        self.program = -1
        self.notes: set[str] = set()
        arrays = module["memory"].arrays
        self._base = {a.__array_interface__["data"][0]: index for index, a in enumerate(arrays)}
        self._shadows = [{} for _ in arrays]
        self._arrays = arrays
        self._places = module["places"]
        module["places"] = self._watched_places
        if "load" in module:
            load = module["load"]

            def watched_load(pointer: Any, mask: Any = True, other: Any = None) -> Any:
                if other is None:
                    other = 0
                    if poisoned and pointer.dtype.kind != "b":
                        other = np.array(_POISON).astype(pointer.dtype)
                return load(pointer, mask, other)

            module["load"] = watched_load
        if "store" in module:
            module["store"] = self._store
        if poisoned:
            _poison_undefined(module)

    def _shadow(self, array: Any) -> dict[str, Any]:
        which = self._base[array.__array_interface__["data"][0]]
        shadow = self._shadows[which]
        size = self._arrays[which].size
        if not shadow:
            for name in ("written", "read", "atomic"):
                shadow[name] = np.full(size, NO_PROGRAM, np.int32)
        return shadow

    def _watched_places(self, pointer: Any, mask: Any, what: str) -> Iterator[Any]:
        for array, index, lanes in self._places(pointer, mask, what):
            shadow = self._shadow(array)
            at = index * array.itemsize
            if what.startswith("atomic"):
                self.notes.add("atomics")
                self._conflict(shadow["written"][at], "an atomic and a store")
                self._conflict(shadow["read"][at], "an atomic and a load")
                self._note(shadow["atomic"], at)
            elif what == "load":
                self._conflict(shadow["written"][at], "a load and a store")
                self._conflict(shadow["atomic"][at], "a load and an atomic")
                if (shadow["written"][at] == self.program).any():
                    self.notes.add("own")  # loaded after the same program stored it
                self._note(shadow["read"], at)
            yield array, index, lanes

    def _store(self, pointer: Any, value: Any, mask: Any = True) -> None:
        shape = np.broadcast_shapes(np.shape(pointer.address), np.shape(mask), np.shape(value))
        values = np.broadcast_to(value, shape)
        for array, index, lanes in self._places(pointer, np.broadcast_to(mask, shape), "store"):
            shadow = self._shadow(array)
            at = index * array.itemsize
            new = np.asarray(values[lanes]).astype(array.dtype)
            self._conflict(shadow["read"][at], "a load and a store")
            self._conflict(shadow["atomic"][at], "an atomic and a store")
            written = shadow["written"][at]
            others = (written != NO_PROGRAM) & (written != self.program)
            if others.any() and array[index][others].tobytes() != new[others].tobytes():
                raise Nondeterministic("a race: two stores")
            if (shadow["read"][at] == self.program).any():
                self.notes.add("in_place")
            own = written == self.program
            if own.any() and array[index][own].tobytes() != new[own].tobytes():
                # perhaps by another thread, without a barrier in between
                self.notes.add("overwrites")
            array[index] = new
            if np.asarray(array[index]).tobytes() != new.tobytes():
                raise Nondeterministic("a race: two lanes of a store")
            self._note(shadow["written"], at)

    def _conflict(self, known: Any, what: str) -> None:
        if ((known != NO_PROGRAM) & (known != self.program)).any():
            raise Nondeterministic(f"a race: {what}")

    def _note(self, shadow: Any, at: Any) -> None:
        known = shadow[at]
        shadow[at] = np.where(
            (known == NO_PROGRAM) | (known == self.program), self.program, SEVERAL
        )
