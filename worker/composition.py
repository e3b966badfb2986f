"""The worker as it is deployed: the core and its features.

Only this module imports features.
"""

from sweeps.worker.feature import SWEEPS
from worker.feature import WorkerFeature
from worker.programs.feature import PROGRAMS

FEATURES: tuple[WorkerFeature, ...] = (PROGRAMS, SWEEPS)
