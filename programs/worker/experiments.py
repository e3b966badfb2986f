"""Makes experiments on a program that passed on the CPU device.

Each is a replay of a tape with a change that no tape can foresee. Only programs that otherwise
pass pay for them.
"""

from programs.worker.experiment_results import ExperimentResults
from programs.worker.program_trials import ProgramTrials
from programs.worker.torch_share import torch_share
from programs.worker.value_trial import with_other_values


async def make_experiments(trials: ProgramTrials) -> ExperimentResults:
    """Return what experiments show. Raises DeadlinePassed, ZygoteError, NotCompared."""
    flags = await with_other_values(trials)
    is_insensitive = any(flag.kind == "insensitive_output" for flag in flags)
    torch = await torch_share(trials, is_insensitive=is_insensitive)
    return ExperimentResults([*torch.flags, *flags], 1 - torch.share)
