"""The tolerance of each output of a program, and warnings where it is wider than usual."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from launch.checks.precision_measure import MANTISSA_BITS
from launch.messages import Tolerance
from launch.request.tolerance import default_tolerance
from programs.program_request import ToleranceRequest
from programs.tape.flow import KernelsEffects, access_of
from programs.tape.overload_effects import argument_tensors, kind_of, name_of, written_tensors
from programs.tape.schema import (
    AtenOp,
    Op,
    ProgramLine,
    Structure,
    Tape,
    TapeLaunch,
    TensorRef,
    by_path,
    changeable,
    tensors_of,
)

_EXACT = frozenset(
    "_to_copy abs amax amin cat clamp clamp_max clamp_min clone constant_pad_nd copy copy_ "
    "diag_embed embedding expand_copy fill fill_ flip gather index index_copy index_fill "
    "index_select lift_fresh lift_fresh_copy masked_fill masked_scatter max "
    "max_pool2d_with_indices max_pool3d_with_indices maximum min minimum neg nan_to_num "
    "permute_copy relu repeat roll rot90 scatter select_scatter sign slice_scatter sort stack "
    "take topk tril triu unsafe_split unsafe_split_with_sizes view_copy where".split()
)
"""Ops that round only if they convert: otherwise their results are among their arguments."""
_SAME_NUMBERS = ("uninitialized", "constant", "random", "view", "metadata")
_MAX_WARNINGS = 5
_MAX_PATHS = 5


@dataclass(frozen=True, slots=True)
class Rounding:
    """A step that rounds to floats of a dtype, and its line."""

    dtype: str
    place: ProgramLine | None

    @property
    def bits(self) -> int:
        """The mantissa bits that remain."""
        return MANTISSA_BITS[self.dtype]


def roundings(tape: Tape, effects: KernelsEffects) -> Mapping[str, Rounding]:
    """Return the least precise step on which each output of either call depends, by path.

    Inputs, parameters and buffers are included, since changed ones are compared, too.
    """
    steps = _Steps(tape, effects)
    for phase in ("run", "run2"):
        for op in tape.ops:
            if op.phase == phase:
                steps.take(op)
        second = phase == "run2"
        steps.keep(tape.outputs2 if second else tape.outputs)
        for path, id_ in changeable(tape, int(second)):
            steps.keep_tensor(path, id_)
    return steps.kept


class _Steps:
    """The least precise step on which each storage depends, op by op."""

    def __init__(self, tape: Tape, effects: KernelsEffects) -> None:
        self._tape, self._effects = tape, effects
        self._known: dict[int, Rounding] = {}
        self.kept: dict[str, Rounding] = {}

    def keep(self, structure: Structure) -> None:
        """Keep the current steps of the tensors of a structure."""
        for path, value in by_path(structure).items():
            if isinstance(value, TensorRef):
                self.keep_tensor(path, value.id)

    def keep_tensor(self, path: str, id_: int) -> None:
        """Keep the current steps of a tensor."""
        here = self._known.get(self._tape.tensors[id_].storage)
        least = _least(self.kept.get(path), here)
        if least is not None:
            self.kept[path] = least

    def take(self, op: Op) -> None:
        """Take the next op."""
        tape = self._tape
        access = access_of(op, tape, self._effects)
        before = _least(*[self._known.get(storage) for storage in access.reads])
        written = dict(self._floats_written(op))
        for storage in access.writes:
            kept = None if storage in access.renews else self._known.get(storage)
            dtype = written.get(storage)
            if dtype is not None:
                rounds = dtype in MANTISSA_BITS and self._rounds(op, dtype)
                kept = _least(kept, before, Rounding(dtype, op.place) if rounds else None)
            self._known.pop(storage, None)
            if kept is not None:
                self._known[storage] = kept

    def _floats_written(self, op: Op) -> Iterator[tuple[int, str]]:
        """Yield the storages that an op writes floats into, each with the dtype."""
        ids: list[int] = []
        if isinstance(op, AtenOp):
            ids = [*written_tensors(op), *(id_ for id_ in op.outputs if id_ is not None)]
        elif isinstance(op, TapeLaunch):
            ids = [id_ for value in op.args.values() for id_ in tensors_of(value)]
        for id_ in ids:
            tensor = self._tape.tensors[id_]
            if tensor.dtype in MANTISSA_BITS or tensor.dtype.startswith("complex"):
                yield tensor.storage, tensor.dtype

    def _rounds(self, op: Op, dtype: str) -> bool:
        """Return True if an op rounds when it writes floats of a dtype.

        A kernel with unknown effects does not count as rounding, so it widens no tolerance.
        """
        if isinstance(op, TapeLaunch):
            return self._effects.get(op.kernel) is not None
        if not isinstance(op, AtenOp) or kind_of(op) in _SAME_NUMBERS:
            return False
        name = name_of(op)
        if name not in _EXACT and name.removesuffix("_") not in _EXACT:
            return True
        dtypes = (self._tape.tensors[id_].dtype for id_ in argument_tensors(op))
        widest = max((MANTISSA_BITS.get(dtype, 0) for dtype in dtypes), default=0)
        return widest > MANTISSA_BITS[dtype]


def _least(*steps: Rounding | None) -> Rounding | None:
    """Return the least precise step, the first of equal ones; None if there is none."""
    return min(
        (step for step in steps if step is not None), key=lambda step: step.bits, default=None
    )


@dataclass(frozen=True, slots=True)
class OutputTolerances:
    """The requested tolerances, else those of the least precise dtype that the reference rounds to.

    The candidate's roundings do not count: it may not be less precise than the reference.
    """

    asked: ToleranceRequest | None = None
    roundings: Mapping[str, Rounding] = field(default_factory=dict)
    """The reference's roundings, by path of the output."""
    factor: float = 1.0
    """The ratio to the usual tolerances."""

    def of(self, path: str, dtype: str) -> Tolerance:
        """Return the tolerance of the output at `path`, which is compared as `dtype`."""
        coarser = self._coarser(path, dtype)
        usual = default_tolerance(dtype if coarser is None else coarser.dtype)
        if self.asked is not None:
            members = {name: getattr(self.asked, name) for name in ("rtol", "atol", "atol_scale")}
            usual = replace(
                usual, **{name: value for name, value in members.items() if value is not None}
            )
        return replace(usual, rtol=usual.rtol * self.factor, atol=usual.atol * self.factor)

    def expected_bits(self, path: str, dtype: str) -> int | None:
        """Return the mantissa bits of the reference's output; None: those of `dtype`."""
        coarser = self._coarser(path, dtype)
        return None if coarser is None else coarser.bits

    def warnings(self, outputs: Iterable[tuple[str, str]]) -> list[str]:
        """Return warnings for outputs (path, dtype) with a wider tolerance than their dtype's."""
        if self.asked is not None and None not in (self.asked.rtol, self.asked.atol):
            return []
        paths: dict[Rounding, list[str]] = {}
        for path, dtype in outputs:
            coarser = self._coarser(path, dtype)
            if coarser is not None:
                paths.setdefault(coarser, []).append(path)
        return [_warning(rounding, paths[rounding]) for rounding in list(paths)[:_MAX_WARNINGS]]

    def _coarser(self, path: str, dtype: str) -> Rounding | None:
        """Return the reference's rounding if it is less precise than `dtype`, else None."""
        rounding = self.roundings.get(path)
        bits = MANTISSA_BITS.get(dtype, 0)
        return rounding if rounding is not None and rounding.bits < bits else None


def output_tolerances(
    asked: ToleranceRequest | None, reference: Tape, effects: KernelsEffects
) -> OutputTolerances:
    """Return the tolerances for outputs of `reference`, whose kernels have these `effects`."""
    return OutputTolerances(asked, roundings(reference, effects))


def _warning(rounding: Rounding, paths: list[str]) -> str:
    shown = ", ".join(path[:100] for path in paths[:_MAX_PATHS])
    more = f" and {len(paths) - _MAX_PATHS} more" if len(paths) > _MAX_PATHS else ""
    who = f"Output {shown} is" if len(paths) == 1 else f"Outputs {shown}{more} are"
    place = rounding.place
    where = "" if place is None else f" at {place.file}:{place.line}"
    return (
        f"{who} compared with the tolerance of {rounding.dtype}, because the reference rounds to "
        f"{rounding.dtype}{where}. Set `tolerance` to change that."
    )
