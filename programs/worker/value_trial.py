"""Replays a program that passed, and its reference, with other values of inputs.

A program that is right only for its inputs then differs. Elements count where the reference agrees
with its own run in fp64, so that no program has to match rounding errors.
"""

import asyncio
import secrets
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from math import isfinite, prod
from typing import Self

from launch.checks.precision_measure import MANTISSA_BITS
from launch.messages import CompareOrder, OutputOrder, Tolerance
from launch.request.launch_record import Comparison
from launch.request.verdict import RunEnding
from programs.program_record import ProgramFlag, ProgramOutput
from programs.replay.replay_order import Experiment, InsensitiveOutput, OtherValues
from programs.tape.overload_effects import tensors_at
from programs.tape.schema import Tape, TensorMeta, TensorRef, by_path, tensors_of
from programs.worker.program_comparison import (
    BodyParts,
    ComparedProgram,
    compare,
    compare_outputs,
    compared_dtype,
)
from programs.worker.program_trials import PassedProgram, ProgramTrials
from programs.worker.replayed import Replayed, ReplayedCall, ReplayedTensor, is_side_effect
from worker.pool.shared_bytes import Body

_SEED_BITS = 53
_FACTOR = 2.0
"""The ratio of tolerances to those for the usual values."""
_MAX_FLAGS = 4
_PRECISE_BYTES = 8
_VARIED = (
    "its inputs in another order, with other signs, and a few elements 1,000 times as large",
    "its inputs in another order, and one in 64 elements 30 times as large",
)
_DIGESTED = 4096
"""The number of a parameter's elements in its digest."""
_ENCODED = {"fp64": "<d", "fp32": "<f", "fp16": "<e"}
_BF16_ONE = b"\x80\x3f"


@dataclass(frozen=True, slots=True)
class ValueTrial:
    """Other values of a program that passed, and what both programs make of them."""

    trials: ProgramTrials
    values: OtherValues
    expected: Replayed
    replayed: Replayed | None
    """None if nothing varies, or the reference cannot show it."""

    @classmethod
    async def of(cls, trials: ProgramTrials) -> Self:
        """Replay both with other values. Raises DeadlinePassed, ZygoteError."""
        seed = secrets.randbits(_SEED_BITS)
        values = OtherValues(seed=seed, parameters=changed_parameters(trials.passed))
        experiment = Experiment(values=values, tolerances=_tolerances(trials))
        expected = await trials.reference(experiment)
        inputs = trials.passed.reference.tape.inputs
        varies = values.parameters or any(map(tensors_of, inputs))
        tells = varies and _ran(expected) and expected.calls
        replayed = await trials.candidate(Experiment(values=values)) if tells else None
        return cls(trials, values, expected, replayed)

    @property
    def is_insensitive(self) -> bool:
        """True if an output of the reference shows little."""
        return bool(self.expected.insensitive)

    async def flags(self) -> list[ProgramFlag]:
        """Return the flags of the program. Raises DeadlinePassed, ZygoteError, NotCompared."""
        expected = self.expected
        flags = [_insensitive(output, self.trials) for output in expected.insensitive]
        flags += await _imprecise(self.trials, expected.precise)
        if self.replayed is not None:
            flags += await _differences(self.trials, self.replayed, expected)
        return flags

    async def follow(self, experiment: Experiment) -> bool:
        """Return True if the first call's outputs change with an experiment. Raises as `flags`."""
        if self.replayed is None or not self.replayed.calls:
            return False
        changed = await self.trials.candidate(replace(experiment, values=self.values))
        if not changed.calls:
            return True
        # in a thread: outputs may be large
        masked = await asyncio.to_thread(_counting, self.replayed.calls[0], self.expected.calls[0])
        sides = await asyncio.to_thread(_counting, changed.calls[0], masked[0])
        return not await _match(self.trials, *sides)


def _insensitive(output: InsensitiveOutput, trials: ProgramTrials) -> ProgramFlag:
    path = _paths(trials.passed.reference.tape)[output.position]
    tolerance = _tolerances(trials)[output.position]
    message = (
        f"Output {path} hardly tells right programs from wrong ones: {output.what} matches the "
        f"expected values within the tolerance (rtol {tolerance.rtol:g}, atol {tolerance.atol:g}); "
        f"the largest difference is {output.difference:.3g}. Choose other inputs, a smaller "
        "tolerance, or `atol_scale: rms`."
    )
    return ProgramFlag(kind="insensitive_output", message=message)


async def _imprecise(trials: ProgramTrials, precise: Mapping[int, Body]) -> list[ProgramFlag]:
    """Return the flags of outputs that are far off, compared with how far the reference is."""
    passed, bodies, orders = trials.passed, BodyParts(), {}
    for position, body in precise.items():
        path = _paths(passed.reference.tape)[position]
        ours, theirs = (replay.calls[0].get(path) for replay in (passed.replayed, passed.expected))
        if not (isinstance(ours, ReplayedTensor) and isinstance(theirs, ReplayedTensor)):
            continue
        if ours.data is None or theirs.data is None or ours.meta.dtype not in MANTISSA_BITS:
            continue
        if len(body) != _PRECISE_BYTES * prod(ours.meta.shape):
            continue
        orders[path] = OutputOrder(
            dtype=ours.meta.dtype,
            shape=list(ours.meta.shape),
            returned="none",
            actual=bodies.add(ours.data),
            expected=bodies.add(theirs.data),
            precise=bodies.add(body),
            tolerance=trials.tolerances.of(path, ours.meta.dtype),
        )
    if not orders:
        return []
    pool = trials.attempt.context.comparing
    report = await compare_outputs(pool, CompareOrder(outputs=orders), bodies.parts)
    downgrades = [
        output.downgrade for output in report.outputs.values() if output.downgrade is not None
    ]
    return [
        ProgramFlag(kind="precision_downgrade", message=f"Output {downgrade.message}")
        for downgrade in downgrades
    ]


async def _differences(
    trials: ProgramTrials, replayed: Replayed, expected: Replayed
) -> list[ProgramFlag]:
    """Return the flags of a replay with other values that does not match the reference's."""
    if replayed.problem is not None or replayed.ending not in (
        RunEnding.FINISHED,
        RunEnding.CRASHED,
    ):
        return []
    failed = next(iter(replayed.findings), None)
    if failed is None:
        return await _mismatches(trials, replayed, expected)
    message = f"With {_VARIED[min(len(replayed.calls), 1)]}, it fails: {failed.message}"
    return [_flag(message, failed.file, failed.line)]


async def _mismatches(
    trials: ProgramTrials, replayed: Replayed, expected: Replayed
) -> list[ProgramFlag]:
    flags = []
    for call, (ours, theirs) in enumerate(zip(replayed.calls, expected.calls, strict=False)):
        # in a thread: outputs may be large
        sides = await asyncio.to_thread(_counting, ours, theirs)
        for path, output in (await _compared(trials, *sides)).outputs.items():
            if output.comparison is not None and not output.comparison.matches:
                flags.append(_flag(_message(call, path, output)))
    return list(islice(flags, _MAX_FLAGS))


async def _match(trials: ProgramTrials, ours: ReplayedCall, theirs: ReplayedCall) -> bool:
    return all((await _compared(trials, ours, theirs)).matches)


async def _compared(
    trials: ProgramTrials, ours: ReplayedCall, theirs: ReplayedCall
) -> ComparedProgram:
    pool = trials.attempt.context.comparing
    tolerances = replace(trials.tolerances, factor=_FACTOR)
    return await compare(pool, Replayed(calls=[ours]), Replayed(calls=[theirs]), tolerances)


def _ran(replayed: Replayed) -> bool:
    ended = replayed.problem is None and replayed.ending is RunEnding.FINISHED
    return ended and not replayed.findings


def _flag(message: str, file: str | None = None, line: int | None = None) -> ProgramFlag:
    kept = message[:1000]
    return ProgramFlag(kind="right_only_for_its_inputs", message=kept, file=file, line=line)


def _message(call: int, path: str, output: ProgramOutput) -> str:
    comparison = output.comparison
    where = f"With {_VARIED[call]}, output {path} differs from the reference"
    if comparison is None:
        return f"{where}."
    first = comparison.first_mismatch
    overflows = first is not None and not isfinite(float(first.actual))
    advice = " The program may overflow for larger inputs." if overflows else ""
    return f"{where}{_shown(comparison)}.{advice}"


def _shown(comparison: Comparison) -> str:
    first = comparison.first_mismatch
    if first is None:
        return ""
    place = ", ".join(map(str, first.index))
    return (
        f": {comparison.mismatched:,} of {comparison.compared:,} elements, at [{place}] "
        f"{first.actual} instead of {first.expected}"
    )


def _counting(ours: ReplayedCall, theirs: ReplayedCall) -> tuple[ReplayedCall, ReplayedCall]:
    """Return both calls' outputs, with elements left out that the reference calls unwritten."""
    counted: dict[str, ReplayedTensor] = {}
    expected: dict[str, ReplayedTensor] = {}
    for path, tensor in ours.items():
        other = theirs.get(path)
        if is_side_effect(path) or not isinstance(tensor, ReplayedTensor):
            continue
        if isinstance(other, ReplayedTensor) and tensor.meta.dtype == compared_dtype(
            tensor.meta.dtype
        ):
            bits = other.unwritten
            counted[path] = replace(tensor, unwritten=_either(tensor.unwritten, bits))
            expected[path] = other
    return counted, expected


def _either(first: Body | None, other: Body | None) -> Body | None:
    if first is None or other is None:
        return first if other is None else other
    both = int.from_bytes(bytes(first)) | int.from_bytes(bytes(other))
    return both.to_bytes(len(first))


def _tolerances(trials: ProgramTrials) -> list[Tolerance]:
    """Return the tolerance of each output of the reference's first call, in order."""
    tape = trials.passed.reference.tape
    outputs = _paths(tape), tensors_of(tape.outputs)
    return [
        trials.tolerances.of(path, compared_dtype(tape.tensors[id_].dtype))
        for path, id_ in zip(*outputs, strict=True)
    ]


def _paths(tape: Tape) -> list[str]:
    return [path for path, value in by_path(tape.outputs).items() if isinstance(value, TensorRef)]


def changed_parameters(passed: PassedProgram) -> Sequence[str]:
    """Return the reference's parameters that are all 0, or all 1, and get other values.

    The program has the same, or nothing of that shape that it made before the call: it then takes
    the constant for granted.
    """
    tape = passed.recorded.candidate.tape
    names = [name for name, _ in tape.params]
    digests = dict(zip(names, passed.replayed.parameters, strict=False))
    metas = {name: tape.tensors[id_] for name, id_ in tape.params}
    shapes = {tape.tensors[id_].shape for id_ in _made_before(tape)}

    def is_changed(name: str, meta: TensorMeta, digest: str) -> bool:
        own = metas.get(name)
        if own is None:
            return meta.shape not in shapes
        alike = (own.dtype, own.shape) == (meta.dtype, meta.shape)
        return alike and digests.get(name) in (None, digest)

    known = _constants(passed.expected, passed.reference.tape)
    return [name for name, (meta, digest) in known.items() if is_changed(name, meta, digest)]


def _made_before(tape: Tape) -> Iterator[int]:
    """Yield the tensors that a program has before its first call, other than inputs."""
    yield from tape.constants
    for op in tape.ops:
        if op.phase != "init":
            return
        yield from tensors_at(op)


def _constants(replayed: Replayed, tape: Tape) -> Mapping[str, tuple[TensorMeta, str]]:
    """Return the parameters that are all 0 or all 1, with their digests, by name."""
    digests = {}
    for (name, id_), digest in zip(tape.params, replayed.parameters, strict=False):
        meta = tape.tensors[id_]
        count = min(prod(meta.shape), _DIGESTED)
        elements = (_element(meta.dtype, value) for value in (0, 1))
        constants = [
            _digest(element * count) for element in elements if count and element is not None
        ]
        if digest is not None and digest in constants:
            digests[name] = (meta, digest)
    return digests


def _element(dtype: str, value: int) -> bytes | None:
    if dtype == "bf16":
        return _BF16_ONE if value else bytes(2)
    return struct.pack(_ENCODED[dtype], value) if dtype in _ENCODED else None


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
