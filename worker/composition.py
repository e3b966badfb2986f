"""The worker as it is deployed: the core and its features.

Only this module imports features.
"""

from programs.worker.feature import PROGRAMS
from proofs.worker.feature import PROOFS
from sweeps.worker.feature import SWEEPS
from worker.feature import WorkerFeature

FEATURES: tuple[WorkerFeature, ...] = (PROGRAMS, SWEEPS, PROOFS)
