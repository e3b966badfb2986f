"""How far each output of a program may be from its reference's, and why so far."""

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
    """As asked; else of the least precise floats that the reference rounds an output to.

    Nothing of the candidate counts: one that alone is less precise is held to the reference.
    """

    asked: ToleranceRequest | None = None
    roundings: Mapping[str, Rounding] = field(default_factory=dict)
    """The reference's, by path."""

    def of(self, path: str, dtype: str) -> Tolerance:
        """Return how far the output at `path`, which is compared as `dtype`, may be."""
        coarser = self._coarser(path, dtype)
        default = default_tolerance(dtype if coarser is None else coarser.dtype)
        if self.asked is None:
            return default
        given = {name: getattr(self.asked, name) for name in ("rtol", "atol", "atol_scale")}
        return replace(default, **{name: one for name, one in given.items() if one is not None})

    def expected_bits(self, path: str, dtype: str) -> int | None:
        """Return the bits of mantissa that the reference's output has; None: those of `dtype`."""
        coarser = self._coarser(path, dtype)
        return None if coarser is None else coarser.bits

    def warnings(self, outputs: Iterable[tuple[str, str]]) -> list[str]:
        """Return why outputs, each with the type that it is compared as, may be so far off."""
        if self.asked is not None and None not in (self.asked.rtol, self.asked.atol):
            return []
        paths: dict[Rounding, list[str]] = {}
        for path, dtype in outputs:
            coarser = self._coarser(path, dtype)
            if coarser is not None:
                paths.setdefault(coarser, []).append(path)
        return [_warning(one, paths[one]) for one in list(paths)[:_MOST_WARNINGS]]

    def _coarser(self, path: str, dtype: str) -> Rounding | None:
        """Return the step that is less precise than the output's own type, if there is one."""
        rounding = self.roundings.get(path)
        bits = MANTISSA_BITS.get(dtype, 0)
        return rounding if rounding is not None and rounding.bits < bits else None


def output_tolerances(
    asked: ToleranceRequest | None, reference: Tape, effects: KernelsEffects
) -> OutputTolerances:
    """Return the tolerances beside a reference, whose kernels have these effects."""
    return OutputTolerances(asked, roundings(reference, effects))


def _warning(rounding: Rounding, paths: list[str]) -> str:
    shown = ", ".join(path[:100] for path in paths[:_MOST_PATHS])
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    who = f"Output {shown} is" if len(paths) == 1 else f"Outputs {shown}{more} are"
    place = rounding.place
    where = "" if place is None else f" at {place.file}:{place.line}"
    return (
        f"{who} held to the tolerance of {rounding.dtype}, as the reference rounds to "
        f"{rounding.dtype}{where}: post a `tolerance` for another."
    )
