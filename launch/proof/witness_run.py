"""Runs a witness on the CPU device: what it did there, as a report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from compiler.proof.binding import AXES
from compiler.proof.obligations import Conclusion
from compiler.proof.polynomial import Polynomial
from compiler.proof.prove import KernelProof
from compiler.proof.solver import Model
from compiler.proof.terms import SymbolicAccess
from compiler.ttir_to_numpy.mlir_types import TRITON_NAMES, pointee_of
from launch.checks.access import Access
from launch.proof.proof_messages import ProveOrder, WitnessReport
from launch.proof.virtual_memory import TouchedElement
from launch.proof.witness_replay import NotReplayed, ReplayedProgram, WitnessLaunch, replay

_WRAP_BITS = 32
"""A wrapped integer is a multiple of 2^32 away from the exact one."""


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
        launch = self._launch(model)
        ran = replay(self.order, self.text, launch)
        message, index = self._confirmed(model, ran)
        return self._report(launch, model, message, index)

    def race(self, model: Model) -> WitnessReport:
        """Run both programs of a race. Raises NotReplayed."""
        mine = self._launch(model)
        other = self._launch(model, "'")
        touched = [
            one for launch in (mine, other) for one in [replay(self.order, self.text, launch)]
        ]
        message, index = _met(mine, other, *(ran.touched for ran in touched))
        return self._report(mine, model, message, index, list(other.program))

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
                name: {str(at): value for at, value in found.items()}
                for name, found in launch.values.items()
            },
            index=index,
            message=message,
        )

    def _launch(self, model: Model, mark: str = "") -> WitnessLaunch:
        """Return the launch that a model describes; `mark` is that of the second program."""
        bound, evaluator = self.proof.contract, self.proof.prover.evaluator
        scalars = {
            name: _value(bound.fixed[name], model) if name in bound.fixed else model[name]
            for name, kind in bound.arguments.items()
            if kind[:1] == "i" and kind[1:].isdigit()
        }
        buffers = [n for n, kind in bound.arguments.items() if pointee_of(kind) is not None]
        missing = [name for name in buffers if name not in bound.extents]
        if missing:
            raise NotReplayed(f"the contract does not say how many elements {missing[0]} has")
        values: dict[str, dict[int, int]] = {}
        for text, loaded in evaluator.loaded.items():
            if text in model.values:
                at = _value(loaded.offset, model)
                values.setdefault(loaded.base, {})[at] = model[text]
        return WitnessLaunch(
            parameters=list(bound.arguments),
            types=bound.arguments,
            scalars=scalars,
            extents={name: _value(bound.extents[name], model) for name in buffers},
            values=values,
            fill={
                name: range(low := _value(ends[0], model), low + 1)
                for name, ends in bound.value_ranges.items()
            },
            grid=[_value(size, model) for size in bound.grid],
            program=[model[f"program#{axis}{mark}"] for axis in AXES],
        )

    def _confirmed(self, model: Model, ran: ReplayedProgram) -> tuple[str, int | None]:
        """Return what the CPU device saw of the broken obligation, "" where it saw nothing."""
        access = self.access
        location = access.operation.locations[0] if access.operation.locations else None
        if location is None:
            return "", None
        where = location.line, location.column
        here = [one for one in ran.touched if (one.location.line, one.location.column) == where]
        for one in here:
            outside = one.outside()
            if outside is not None and one.argument is not None:
                verb = "reads" if access.kind == "load" else "writes"
                size = f"{one.size:,} element{'s' if one.size != 1 else ''}"
                return f"{verb} {one.argument}[{outside:,}] of {size}", outside
        expected = _offset_of(access, model)
        if self.conclusion.check is None or expected is None or ran.ended:
            return "", None
        # a loop touches the line in each turn: none may have reached the element in question
        lanes = [(one, _lanes_of(model, one.elements.shape[1:])) for one in here]
        seen = [int(one.elements[at]) for one, at in lanes if one.live[at]]
        wrapped = [at for at in seen if (expected - at) % (1 << _WRAP_BITS) == 0]
        if not wrapped or expected in seen:
            return "", None
        name = here[0].argument
        return f"uses {name}[{wrapped[0]:,}] in place of [{expected:,}]", wrapped[0]


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
                programs = " and ".join(str(tuple(one.program)) for one in (mine, other))
                verbs = "write" if Access.LOAD not in (a.access, b.access) else "use"
                return f"programs {programs} {verbs} {a.argument}[{at:,}]", at
    return "", None


def _offset_of(access: SymbolicAccess, model: Model) -> int | None:
    cases = access.pointer.cases
    return _value(cases[0].offset, model) if len(cases) == 1 else None


def _lanes_of(model: Model, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (0, *(model[f"lane{axis}#{size}"] for axis, size in enumerate(shape)))


def _value(polynomial: Polynomial, model: Model) -> int:
    return polynomial.value(model)
