"""The service works without its features; only their routes are missing."""

from __future__ import annotations

from functools import cache

import pytest
from fastapi import FastAPI

from service.application import create_app
from service.composition import FEATURES
from service.settings import ServiceSettings

ALL = tuple(range(len(FEATURES)))


@cache  # an OpenAPI document takes half a second, and the application caches it
def app_with(*indices: int) -> FastAPI:
    app = create_app(ServiceSettings(), [FEATURES[index] for index in indices])
    app.openapi()
    return app


def paths(*indices: int) -> set[str]:
    app = app_with(*indices)
    plain = {route.path for feature in FEATURES for route in feature.plain_routes}
    return set(app.openapi()["paths"]) | {
        route.path for route in app.router.routes if getattr(route, "path", None) in plain
    }


def test_the_core_serves_without_features() -> None:
    assert {"/v1/compilations", "/v1/launches", "/v1/batches"} <= paths()


@pytest.mark.parametrize(
    "left_out", [0, *(pytest.param(index, marks=pytest.mark.slow) for index in ALL[1:])]
)
def test_without_a_feature_only_its_routes_are_missing(left_out: int) -> None:
    missing = paths(*ALL) - paths(*(index for index in ALL if index != left_out))

    assert missing
    assert missing == paths(left_out) - paths()


def test_examples_of_batches_include_those_of_features() -> None:
    titles = []
    for app in (app_with(), app_with(*ALL)):
        body = app.openapi()["paths"]["/v1/batches"]["post"]["requestBody"]
        titles.append(body["content"]["application/json"]["examples"].keys())
    assert titles[1] - titles[0] == {"one program"}


def test_the_document_names_the_kinds_of_batches_that_features_bring() -> None:
    documents = [app_with().openapi(), app_with(*ALL).openapi()]
    schemas = [document["components"]["schemas"] for document in documents]

    kinds = [schema["BatchRequest"]["properties"]["kind"]["enum"] for schema in schemas]
    assert kinds[0] == ["compilations", "launches"]
    assert kinds[1] == [*kinds[0], "programs", "proofs"]
    assert [schema["Batch"]["properties"]["kind"]["enum"] for schema in schemas] == kinds
    assert [schema["BatchItem"]["properties"]["url"]["description"] for schema in schemas] == [
        "URL of the compilation or launch; null if refused",
        "URL of the compilation, launch, program or proof; null if refused",
    ]
