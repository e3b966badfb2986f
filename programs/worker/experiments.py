"""Makes experiments on a program that passed on the CPU device.

Each is a replay of a tape with a change that no tape can foresee. Only programs that otherwise
pass pay for them.
"""

from programs.worker.experiment_results import ExperimentResults
from programs.worker.prepared_work import prepared_work
from programs.worker.program_trials import ProgramTrials
from programs.worker.torch_share import torch_share
from programs.worker.value_trial import ValueTrial


async def make_experiments(trials: ProgramTrials) -> ExperimentResults:
    """Return what experiments show. Raises DeadlinePassed, ZygoteError, NotCompared."""
    others = await ValueTrial.of(trials)
    torch = await torch_share(trials, others)
    flags = [*torch.flags, *await others.flags(), *await prepared_work(trials)]
    return ExperimentResults(flags, 1 - torch.share)
