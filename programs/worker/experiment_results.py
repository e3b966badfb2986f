"""The results of the experiments on one program."""

from collections.abc import Sequence
from dataclasses import dataclass

from programs.program_record import ProgramFlag


@dataclass(frozen=True, slots=True)
class ExperimentResults:
    """The flags that experiments raise, and the share of the work that torch does not do."""

    flags: Sequence[ProgramFlag] = ()
    coverage: float | None = None
