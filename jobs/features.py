"""The features, one row each: the only list of them that services and workers read.

A feature is a package with a kind of job. By convention, its `service/feature.py` has the
`FEATURE` of a service, its `worker/feature.py` that of a worker, and both the same kinds.
`tests/unit/jobs/test_features.py` fails until a feature is complete, and lists what is missing.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class FeatureRow:
    """A feature: facts that the core needs without importing it."""

    name: str
    """Of its package, its kind of job, its collection below `/v1`, and the folder of its tests."""
    has_one_lane: bool = False
    """True if its jobs wait in one lane, under its name; otherwise each toolchain has lanes."""


FEATURES: Final = (
    FeatureRow("programs"),
    FeatureRow("sweeps", has_one_lane=True),
    FeatureRow("proofs", has_one_lane=True),
)
NAMES: Final = tuple(row.name for row in FEATURES)
SHARED_LANES: Final = tuple(row.name for row in FEATURES if row.has_one_lane)
"""The lanes of jobs that any toolchain's workers do, and that may post more for any toolchain."""
