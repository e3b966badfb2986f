"""The tolerance of each output of a program, and warnings where it is wider than usual."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from launch.checks.precision_measure import MANTISSA_BITS
from launch.messages import Tolerance
from launch.request.tolerance import default_tolerance
from programs.program_request import ToleranceRequest
from programs.tape.flow import KernelsEffects
from programs.tape.roundings import Rounding, roundings
from programs.tape.schema import Tape

_MOST_WARNINGS = 5
_MOST_PATHS = 5


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
            given = {name: getattr(self.asked, name) for name in ("rtol", "atol", "atol_scale")}
            usual = replace(usual, **{name: one for name, one in given.items() if one is not None})
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
        return [_warning(one, paths[one]) for one in list(paths)[:_MOST_WARNINGS]]

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
    shown = ", ".join(path[:100] for path in paths[:_MOST_PATHS])
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    who = f"Output {shown} is" if len(paths) == 1 else f"Outputs {shown}{more} are"
    place = rounding.place
    where = "" if place is None else f" at {place.file}:{place.line}"
    return (
        f"{who} compared with the tolerance of {rounding.dtype}, because the reference rounds to "
        f"{rounding.dtype}{where}. Set `tolerance` to change that."
    )
