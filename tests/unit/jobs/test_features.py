"""Each feature is complete, wherever a list or a convention needs it."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tritonc import own_list

from jobs.features import FEATURES, NAMES, FeatureRow
from service.composition import FEATURES as SERVED
from service.feature import Feature
from worker.code_digest import PACKAGES
from worker.composition import FEATURES as WORKING
from worker.feature import WorkerFeature

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
TEXTS = {name: (ROOT / name).read_text() for name in (".dockerignore", "Makefile", "mkdocs.yml")}
[SUITES] = re.findall(r"^FEATURES := (.+)$", TEXTS["Makefile"], re.MULTILINE)
LANES = (ROOT / "deploy/helm/tritond/templates/_helpers.tpl").read_text()
WAYS = {("POST", ""), ("GET", ""), ("GET", "/{id}"), ("DELETE", "/{id}"), ("GET", "/{id}/events")}


def served(name: str) -> Feature | None:
    return next((one for one in SERVED if name in {kind.name for kind in one.kinds}), None)


def working(name: str) -> WorkerFeature | None:
    return next((one for one in WORKING if name in {kind.name for kind in one.kinds}), None)


def ways(feature: Feature, name: str) -> set[tuple[str, str]]:
    """Return the methods and paths of a feature's routes, below its collection."""
    routes: list[Any] = [route for router in feature.routers for route in router.routes]
    return {
        (method, re.sub(r"{\w+}", "{id}", route.path.removeprefix(f"/v1/{name}")))
        for route in routes
        for method in route.methods
    }


def lists_of_features(table: Any, place: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield each list below `table` that names several features, and its place."""
    if isinstance(table, dict):
        place = table.get("name", place)
        for key, inner in table.items():
            yield from lists_of_features(inner, f"{place} {key}".strip())
    elif isinstance(table, list):
        if sum(name in table for name in NAMES) > 1:
            yield place, table
        for inner in table:
            yield from lists_of_features(inner, place)


def missing(row: FeatureRow) -> list[str]:
    """Return what a feature lacks, in words."""
    name, service, worker = row.name, served(row.name), working(row.name)
    kinds = [kind for kind in service.kinds if kind.name == name] if service else []
    needed = {
        f"{name}/service/feature.py with its kind": bool(kinds),
        f"{name}/worker/feature.py with its kind": worker is not None
        and list(worker.kinds) == kinds,
        "a request": all(kind.request is not None for kind in kinds),
        "an owner": all(kind.is_owned for kind in kinds),
        "one lane, or lanes": all((kind.lane_of is None) == row.has_one_lane for kind in kinds),
        "routes": service is not None and ways(service, name) >= WAYS,
        "a section of the OpenAPI document": service is not None and service.tag is not None,
        "a body of the OpenAPI document": service is not None
        and all(kind.request in service.bodies for kind in kinds),
        "a list in the client": name in own_list.KINDS,
        "its package in the worker's digests": name in PACKAGES,
        "its package in the images": f"!{name}" in TEXTS[".dockerignore"].splitlines(),
        f"tests/{name} and a suite of them": f"FOLDERS_{name} := tests/{name}" in TEXTS["Makefile"],
        "its suite among those of features": name in SUITES.split(),
        "its lane among those of CPU workers": not row.has_one_lane or f"|{name}" in LANES,
        f"docs/reference/{name}.md": f"reference/{name}.md" in TEXTS["mkdocs.yml"],
    }
    return [what for what, is_there in needed.items() if not is_there]


@pytest.mark.parametrize("row", FEATURES, ids=lambda row: row.name)
def test_a_feature_is_complete(row: FeatureRow) -> None:
    assert missing(row) == []


def test_each_list_of_pyproject_with_several_features_has_all() -> None:
    lists = dict(lists_of_features(PROJECT))
    lacking = {place: set(NAMES) - set(names) for place, names in lists.items()}

    assert {"hatch build targets wheel packages", "mypy packages", "coverage run source"} <= set(
        lists
    )
    assert {place: names for place, names in lacking.items() if names} == {}


def test_a_new_feature_is_reported_with_its_gaps() -> None:
    assert missing(FeatureRow("audits", has_one_lane=True)) == [
        "audits/service/feature.py with its kind",
        "audits/worker/feature.py with its kind",
        "routes",
        "a section of the OpenAPI document",
        "a body of the OpenAPI document",
        "a list in the client",
        "its package in the worker's digests",
        "its package in the images",
        "tests/audits and a suite of them",
        "its suite among those of features",
        "its lane among those of CPU workers",
        "docs/reference/audits.md",
    ]
