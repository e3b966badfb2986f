"""The service works without any of its features; only their own routes are missing."""

from __future__ import annotations

import pytest

from service.application import create_app
from service.composition import FEATURES, composed_app
from service.feature import Feature
from service.settings import ServiceSettings


def paths(*features: Feature) -> set[str]:
    app = create_app(ServiceSettings(), features)
    plain = {route.path for feature in FEATURES for route in feature.plain_routes}
    return set(app.openapi()["paths"]) | {
        route.path for route in app.router.routes if getattr(route, "path", None) in plain
    }


def test_the_core_serves_without_features() -> None:
    assert {"/v1/compilations", "/v1/launches", "/v1/batches"} <= paths()


@pytest.mark.parametrize("left_out", FEATURES)
def test_without_a_feature_only_its_routes_are_missing(left_out: Feature) -> None:
    others = [feature for feature in FEATURES if feature is not left_out]

    missing = paths(*FEATURES) - paths(*others)

    assert missing
    assert missing == paths(left_out) - paths()


def test_examples_of_batches_include_those_of_features() -> None:
    titles = []
    for app in (create_app(ServiceSettings()), composed_app(ServiceSettings())):
        body = app.openapi()["paths"]["/v1/batches"]["post"]["requestBody"]
        titles.append(body["content"]["application/json"]["examples"].keys())
    assert titles[1] - titles[0] == {"one program"}


def test_the_document_names_the_kinds_of_batches_that_features_bring() -> None:
    documents = [app.openapi() for app in (create_app(ServiceSettings()), composed_app())]
    schemas = [document["components"]["schemas"] for document in documents]

    kinds = [schema["BatchRequest"]["properties"]["kind"]["enum"] for schema in schemas]
    assert kinds[0] == ["compilations", "launches"]
    assert kinds[1] == [*kinds[0], "programs"]
    assert [schema["Batch"]["properties"]["kind"]["enum"] for schema in schemas] == kinds
    assert [schema["BatchItem"]["properties"]["url"]["description"] for schema in schemas] == [
        "URL of the compilation or launch; null if refused",
        "URL of the compilation, launch or program; null if refused",
    ]
