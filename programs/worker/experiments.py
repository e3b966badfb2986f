"""Makes experiments on a program that passed on the CPU device.

Each is a replay of a tape with a change that no tape can foresee. Only programs that otherwise
pass pay for them.
"""

from dataclasses import dataclass, field

from programs.program_record import ProgramFlag
from programs.worker.program_trials import ProgramTrials
from programs.worker.torch_share import torch_share
from programs.worker.value_trial import with_other_values


@dataclass(slots=True)
class ExperimentResults:
    """The flags that experiments raise, and the share of the work that torch does not do."""

    flags: list[ProgramFlag] = field(default_factory=list)
    coverage: float | None = None


async def make_experiments(trials: ProgramTrials) -> ExperimentResults:
    """Return what experiments show. Raises DeadlinePassed, ZygoteError, NotCompared."""
    torch = await torch_share(trials)
    return ExperimentResults(
        flags=[*torch.flags, *await with_other_values(trials)], coverage=1 - torch.share
    )
