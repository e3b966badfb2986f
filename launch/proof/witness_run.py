"""Runs a witness on the CPU device: what it did there, as a report."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from compiler.proof.binding import AXES
from compiler.proof.obligations import Conclusion
from compiler.proof.polynomial import Polynomial
from compiler.proof.prove import KernelProof
from compiler.proof.solver import Model
from compiler.proof.terms import Check, SymbolicAccess, bits_of_element
from compiler.ttir_to_numpy.batched.program_axes import ProgramAxes
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.mlir_types import TRITON_NAMES, pointee_of
from launch.buffers.element_types import Array
from launch.checks.access import Access
from launch.checks.finding import axes_apart
from launch.proof.proof_messages import ProveOrder, WitnessReport
from launch.proof.virtual_memory import TouchedElement
from launch.proof.witness_replay import NotReplayed, ReplayedProgram, WitnessLaunch, replay

_WRAP_BITS = 32
"""A wrapped integer is a multiple of 2^32 away from the exact one."""
_EXACT: Mapping[str, Callable[..., Any]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.shli": lambda a, b: a * np.exp2(b),
    "math.absi": np.abs,
    "arith.trunci": lambda a: a,
    "arith.index_cast": lambda a: a,
}
"""The result that an operation makes of its operands, where no integer wraps."""
_LOOP = "scf.for"
_SECOND = "'"
"""Marks the names of the second program of a race."""
_LANES = re.compile(r"lane\d+#(\d+)")


@dataclass(frozen=True)
class _SecondProgram:
    """A model as the second program of a race reads it: by its own names, where it has them."""

    model: Model

    def __getitem__(self, name: str) -> int:
        own = _second(name)
        return self.model[own if own in self.model else name]

    def __contains__(self, name: str) -> bool:
        return _second(name) in self.model


def _second(name: str) -> str:
    return f"{name}{_SECOND}" if "#" in name else f"{name}#{_SECOND}"


@dataclass(frozen=True)
class WitnessRun:
    """The witness of one broken obligation of an access."""

    order: ProveOrder
    text: str
    proof: KernelProof
    access: SymbolicAccess
    conclusion: Conclusion

    def witness(self, model: Model) -> WitnessReport:
        """Run the program of a broken bound or integer. Raises NotReplayed."""
        launch = self._launch(model, self._loaded(model))
        if self.conclusion.check is None:
            ran = replay(self.order, self.text, launch)
            message, index = self._outside(self._touched(ran))
        else:
            message, index = self._wrapped(model, launch, self.conclusion.check)
        return self._report(launch, model, message, index)

    def race(self, model: Model) -> WitnessReport:
        """Run both programs of a race. Raises NotReplayed."""
        # both programs find in memory what either of them loads
        contents = [*self._loaded(model), *self._loaded(_SecondProgram(model))]
        mine = self._launch(model, contents)
        other = self._launch(model, contents, _SECOND)
        assert self.conclusion.pair is not None
        ran = [replay(self.order, self.text, launch) for launch in (mine, other)]
        touched = [
            [element for element in program.touched if self._is_by(element, by)]
            for program, by in zip(ran, self.conclusion.pair, strict=True)
        ]
        message, index = _met(mine, other, *touched)
        if message:
            message += self._why_met(mine, other, ran[0].axes)
        return self._report(mine, model, message, index, list(other.program))

    def _why_met(self, mine: WitnessLaunch, other: WitnessLaunch, axes: ProgramAxes | None) -> str:
        """Return why both programs of a race come to one element, "" where it is not known."""
        assert self.conclusion.pair is not None
        first, second = self.conclusion.pair
        if axes is None or first.number != second.number:
            return ""
        numbers = axes_apart(mine.program, other.program, axes.ignored(first.number))
        if numbers:
            return f": the address does not depend on {numbers}"
        case = self.conclusion.case
        return "" if case is None else _overlap(case.offset)

    def _report(
        self,
        launch: WitnessLaunch,
        model: Model,
        message: str,
        index: int | None,
        other: list[int] | None = None,
    ) -> WitnessReport:
        bound = self.proof.contract
        own = [text for text in bound.sizes if text not in bound.arguments]
        types = {
            name: TRITON_NAMES.get(pointee_of(bound.arguments[name]) or "", "fp32")
            for name in launch.extents
        }
        return WitnessReport(
            scalars=dict(launch.scalars),
            sizes={text: model[text] for text in own},
            extents=dict(launch.extents),
            types=types,
            grid=list(launch.grid),
            program=list(launch.program),
            other_program=other,
            values={
                name: {str(at): value for at, value in elements.items()}
                for name, elements in launch.values.items()
            },
            index=index,
            message=message,
        )

    def _loaded(self, model: Model | _SecondProgram) -> Iterator[tuple[str, int, int]]:
        """Yield what a program loads: the buffer, the element, the value."""
        for text, loaded in self.proof.prover.evaluator.loaded.items():
            if text in model:
                yield loaded.base, loaded.offset.value(model), model[text]

    def _launch(
        self, model: Model, contents: Iterable[tuple[str, int, int]], mark: str = ""
    ) -> WitnessLaunch:
        """Return the launch that a model describes; `mark` is that of the second program."""
        bound = self.proof.contract
        scalars = {
            name: bound.fixed[name].value(model) if name in bound.fixed else model[name]
            for name, kind in bound.arguments.items()
            if kind[:1] == "i" and kind[1:].isdigit()
        }
        buffers = [n for n, kind in bound.arguments.items() if pointee_of(kind) is not None]
        missing = [name for name in buffers if name not in bound.extents]
        if missing:
            raise NotReplayed(f"the contract does not say how many elements {missing[0]} has")
        extents = {name: bound.extents[name].value(model) for name in buffers}
        ends = {
            name: (low.value(model), high.value(model))
            for name, (low, high) in bound.value_ranges.items()
        }
        values: dict[str, dict[int, int]] = {}
        for base, at, value in contents:
            low, high = ends.get(base, (value, value + 1))
            bits = bits_of_element(pointee_of(bound.arguments[base]) or "index")
            # a masked lane has a name, too, but no element, and any value
            is_held = (value - low) % (1 << bits) < high - low  # an unsigned one may look negative
            if 0 <= at < extents[base] and is_held:
                values.setdefault(base, {})[at] = value
        return WitnessLaunch(
            parameters=list(bound.arguments),
            types=bound.arguments,
            scalars=scalars,
            extents=extents,
            values=values,
            fill={name: range(low, low + 1) for name, (low, _) in ends.items()},
            grid=[size.value(model) for size in bound.grid],
            program=[model[f"program#{axis}{mark}"] for axis in AXES],
        )

    def _is_by(self, touched: TouchedElement, operation: Operation) -> bool:
        """Return whether the access in question touched something, in the buffer in question.

        Inlined calls and copies of an unrolled line share a line and a column, but no number.
        """
        case = self.conclusion.case
        is_there = case is None or touched.argument == case.base
        return touched.operation == operation.number and is_there

    def _touched(self, ran: ReplayedProgram) -> list[TouchedElement]:
        return [element for element in ran.touched if self._is_by(element, self.access.operation)]

    def _outside(self, touched: Sequence[TouchedElement]) -> tuple[str, int | None]:
        """Return what the access touched beyond a buffer, "" where there was nothing."""
        for element in touched:
            outside = element.outside()
            if outside is not None and element.argument is not None:
                verb = "reads" if self.access.kind == "load" else "writes"
                size = f"{element.size:,} element{'s' if element.size != 1 else ''}"
                return f"{verb} {element.argument}[{outside:,}] of {size}", outside
        return "", None

    def _wrapped(self, model: Model, launch: WitnessLaunch, check: Check) -> tuple[str, int | None]:
        """Return what a wrapped integer did, "" where no integer in question wrapped."""
        expected = check.result.value(model)
        name, number = check.operation.name, check.operation.number
        readings = self._readings(model, check)
        seen = WrappedInteger(number, name, expected, check.bits, readings)
        is_watched = check.kind == "overflow"
        watched = self._refuted_operations() if is_watched else frozenset[int]()
        ran = replay(self.order, self.text, launch, watched=watched, watch=seen)
        touched = self._touched(ran)
        lanes = [(element, _lanes_of(model, element.elements.shape[1:])) for element in touched]
        live = [int(element.elements[at]) for element, at in lanes if element.live[at]]
        counts = bool(live) or check in self.access.mask_checks
        # the counter of a loop wraps behind its last turn
        is_over = name != "scf.for" or not ran.ended
        if seen.is_seen and counts and is_over:
            outside = self._outside(touched)
            return outside if outside[0] else (f"computes an integer other than {expected:,}", None)
        offset = _offset_of(self.access, model)
        if offset is None or ran.ended:
            return "", None
        # a loop runs the access in each turn: none may have reached the element in question
        wrapped = [at for at in live if (offset - at) % (1 << _WRAP_BITS) == 0]
        if not wrapped or offset in live:
            return "", None
        return f"uses {touched[0].argument}[{wrapped[0]:,}] in place of [{offset:,}]", wrapped[0]

    def _readings(self, model: Model, check: Check) -> Literal["signed", "some", "every"]:
        """Return in which readings an integer must wrap.

        Without a number that looks negative, what was expected fits neither reading.
        """
        if not self.proof.prover.may_be_unsigned(check):
            return "signed"
        read = (*self.proof.prover.evaluator.loaded, *self.proof.contract.arguments)
        return "every" if any(model[text] < 0 for text in read) else "some"

    def _refuted_operations(self) -> frozenset[int]:
        """Return the operations whose integers wrap: one translation shows all of them."""
        checks = [
            answer.check for answer in self.proof.prover.checked if answer.verdict == "refuted"
        ]
        return frozenset(check.operation.number for check in checks if check is not None)


def _met(
    mine: WitnessLaunch,
    other: WitnessLaunch,
    first: list[TouchedElement],
    second: list[TouchedElement],
) -> tuple[str, int | None]:
    """Return an element that both programs touch and one writes, "" where there is none."""
    if list(mine.program) == list(other.program):
        return "", None
    for a in first:
        for b in second:
            if a.argument is None or a.argument != b.argument:
                continue
            if a.access is Access.LOAD and b.access is Access.LOAD:
                continue
            both = np.intersect1d(a.elements[a.live], b.elements[b.live])
            if both.size:
                at = int(both[0])
                programs = " and ".join(str(tuple(element.program)) for element in (mine, other))
                verbs = "write" if Access.LOAD not in (a.access, b.access) else "use"
                return f"programs {programs} {verbs} {a.argument}[{at:,}]", at
    return "", None


def _overlap(offset: Polynomial) -> str:
    """Return that a program begins before the last one ends, "" where nothing shows it."""
    numbers = {(f"program#{letter}",): axis for axis, letter in enumerate(AXES)}
    moved = [(axis, offset.terms[name]) for name, axis in numbers.items() if name in offset.terms]
    lanes = [(name, n) for name, n in offset.terms.items() if name and name not in numbers]
    if len(moved) != 1 or len(lanes) != 1:
        return ""
    [(axis, step)], [(names, apart)] = moved, lanes
    lane = _LANES.fullmatch(names[0])
    if lane is None or len(names) > 1 or apart != 1 or not 0 < step < int(lane[1]):
        return ""
    return (
        f": a program covers {lane[1]} elements, and the next one of tl.program_id({axis}) begins "
        f"{step} further on"
    )


def _offset_of(access: SymbolicAccess, model: Model) -> int | None:
    cases = access.pointer.cases
    return cases[0].offset.value(model) if len(cases) == 1 else None


def _lanes_of(model: Model, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (0, *(model[f"lane{axis}#{size}"] for axis, size in enumerate(shape)))


@dataclass
class WrappedInteger:
    """Watches the operation `number` for `expected`, which does not fit its `bits`.

    Called with the values of watched operations. Floats tell exact results from wrapped ones, which
    are `2 ** bits` or more away. Where operands may be unsigned, what counts is a wrap in `some`
    reading of them, or in `every` one: signed and unsigned.
    """

    number: int
    operation: str
    expected: int
    bits: int
    readings: Literal["signed", "some", "every"] = "signed"
    _is_computed: bool = field(default=False, init=False)
    _wraps: bool = field(default=False, init=False)

    @property
    def is_seen(self) -> bool:
        """True if the operation wrapped, and had what is left of `expected`."""
        return self._is_computed and self._wraps

    def __call__(self, number: int, values: Sequence[Any]) -> None:
        """Look at the result and the operands of an operation, or at a loop's bounds and step."""
        if number != self.number or self.is_seen:
            return
        if self.operation == _LOOP:
            self._look_at_loop(*(int(np.asarray(value).flat[0]) for value in values))
            return
        exact = _EXACT.get(self.operation)
        if exact is None:
            return
        readings = [self._readings(np.asarray(value, np.float64)) for value in values]
        wraps = [
            np.abs(exact(*operands) - result) >= _half(self.bits)
            for result, *operands in itertools.product(*readings)
        ]
        combine = np.logical_or if self.readings == "some" else np.logical_and
        self._wraps |= bool(combine.reduce(wraps).any())
        self._is_computed |= bool((np.asarray(values[0]).astype(np.int64) == self._wrapped()).any())

    def _readings(self, signed: Array) -> list[Array]:
        """Return what bits may be: a signed integer, and an unsigned one that it may be, too."""
        if self.readings == "signed":
            return [signed]
        return [signed, np.where(signed < 0, signed + 2.0 * _half(self.bits), signed)]

    def _look_at_loop(self, low: int, high: int, step: int) -> None:
        if step > 0 and low < high:
            past = low + (high - low + step - 1) // step * step
            self._wraps = self._is_computed = past >= _half(self.bits)

    def _wrapped(self) -> int:
        half = _half(self.bits)
        return (self.expected + half) % (2 * half) - half


def _half(bits: int) -> int:
    return 1 << (bits - 1)
