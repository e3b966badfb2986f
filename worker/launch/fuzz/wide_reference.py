"""The reference of fuzzing: in float64, and not trusted where it depends on rounding."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jobs.deadline import Deadline
from launch.messages import RoundingOrder
from launch.request.element import is_floating
from launch.request.reference_request import Reference
from worker.launch.comparison import tolerance_of
from worker.launch.reference import Expected, References
from worker.launch.run import PreparedRun

_PART = 1 / 8
"""The shift of inputs, as part of the tolerance, that shows sensitivity to rounding."""
_MAX_COUNT = 2.0**-8
MAX_CALLS = 7
"""The most calls of the reference for one case; each may take the full time limit."""


@dataclass(slots=True)
class WideReferences:
    """Answers one case after the other. The creator of `references` closes them.

    Not `wide`: the reference gets what the kernel gets, as ever. `only_copies` and
    `is_not_finite` are of the next case; `scales` are how large the outputs of the launch are.
    """

    references: References
    seed: int
    wide: bool = True
    only_copies: bool = False
    is_not_finite: bool = False
    scales: Mapping[str, float] = field(default_factory=dict)
    last_scales: Mapping[str, float] = field(default_factory=dict)
    """The typical size of each output's elements in the last case."""

    async def expect(
        self,
        reference: Reference,
        run: PreparedRun,
        timeout_s: float,
        deadline: Deadline,
        *,
        keep: bool = True,  # noqa: ARG002 - answers of fuzz cases are never reused
    ) -> Expected:
        """Return what the source of `reference` answers. Raises DeadlinePassed."""
        doubt = self._doubt(reference, run)
        limit_s = MAX_CALLS * timeout_s
        expected = await self.references.expect(reference, run, limit_s, deadline, doubt)
        self.last_scales = expected.scales
        factors = {
            name: max(1.0, scale / known)
            for name, scale in expected.scales.items()
            if (known := self.scales.get(name, 0.0)) > 0
        }
        return replace(expected, atol_factors=factors)

    def keep_scales(self) -> None:
        """Take the case that came last as the measure of all others."""
        self.scales = dict(self.last_scales)

    def _doubt(self, reference: Reference, run: PreparedRun) -> RoundingOrder:
        outputs = run.bound.outputs
        tolerances = {name: tolerance_of(each.dtype, reference) for name, each in outputs.items()}
        parts = [
            tolerance.rtol + (tolerance.atol / scale if (scale := self.scales.get(name)) else 0.0)
            for name, tolerance in tolerances.items()
            if is_floating(outputs[name].dtype)
        ]
        return RoundingOrder(
            seed=self.seed,
            wide=self.wide,
            relative=min(_PART * max(parts, default=0.0), _MAX_COUNT),
            tolerances=tolerances,
            only_copies=self.only_copies,
            replaces_non_finite=self.is_not_finite and not reference.equal_nan,
        )
