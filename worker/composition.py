"""The worker as it is deployed: the core and its features.

Only this module imports features, by the names in `jobs.features`.
"""

from importlib import import_module

from jobs.features import NAMES
from worker.feature import WorkerFeature


def _feature(name: str) -> WorkerFeature:
    feature = import_module(f"{name}.worker.feature").FEATURE
    assert isinstance(feature, WorkerFeature)
    return feature


FEATURES = tuple(map(_feature, NAMES))
