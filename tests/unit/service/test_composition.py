"""The service works without any of its features; only their own routes are missing."""

from __future__ import annotations

import pytest

from service.application import create_app
from service.composition import FEATURES
from service.feature import Feature
from service.settings import ServiceSettings


def paths(*features: Feature) -> set[str]:
    return set(create_app(ServiceSettings(), features).openapi()["paths"])


def test_the_core_serves_without_features() -> None:
    assert {"/v1/compilations", "/v1/launches", "/v1/batches"} <= paths()


@pytest.mark.parametrize("left_out", [feature for feature in FEATURES if feature.routers])
def test_without_a_feature_only_its_routes_are_missing(left_out: Feature) -> None:
    others = [feature for feature in FEATURES if feature is not left_out]

    missing = paths(*FEATURES) - paths(*others)

    assert missing
    assert missing == paths(left_out) - paths()
