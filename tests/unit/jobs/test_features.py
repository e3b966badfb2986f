"""Each feature is complete, wherever a list or a convention needs it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tritonc import own_list

from jobs.features import FEATURES, FeatureRow
from service.composition import FEATURES as SERVED
from service.feature import Feature
from worker.code_digest import PACKAGES
from worker.composition import FEATURES as WORKING
from worker.feature import WorkerFeature

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
CONTRACTS = {each["name"]: each for each in PROJECT["importlinter"]["contracts"]}
TEXTS = {name: (ROOT / name).read_text() for name in (".dockerignore", "Makefile", "mkdocs.yml")}
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


def missing(row: FeatureRow) -> list[str]:
    """Return what a feature lacks, in words."""
    name, service, worker = row.name, served(row.name), working(row.name)
    kinds = [kind for kind in service.kinds if kind.name == name] if service else []
    core, others = (CONTRACTS[each] for each in _CONTRACTS)
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
        "its package in the wheel": name
        in PROJECT["hatch"]["build"]["targets"]["wheel"]["packages"],
        "its package in the images": f"!{name}" in TEXTS[".dockerignore"].splitlines(),
        "its package among those without the core's imports": name in core["forbidden_modules"],
        "its package among independent ones": name in others["modules"],
        f"tests/{name} and a suite of them": f"FOLDERS_{name} := tests/{name}" in TEXTS["Makefile"],
        "its lane among those of CPU workers": not row.has_one_lane or f"|{name}" in LANES,
        f"docs/reference/{name}.md": f"reference/{name}.md" in TEXTS["mkdocs.yml"],
    }
    return [what for what, is_there in needed.items() if not is_there]


_CONTRACTS = (
    "the core imports no feature and no adapter: only the composition roots do",
    "features do not import each other",
)


@pytest.mark.parametrize("row", FEATURES, ids=lambda row: row.name)
def test_a_feature_is_complete(row: FeatureRow) -> None:
    assert missing(row) == []


def test_a_new_feature_is_reported_with_its_gaps() -> None:
    assert missing(FeatureRow("audits", has_one_lane=True)) == [
        "audits/service/feature.py with its kind",
        "audits/worker/feature.py with its kind",
        "routes",
        "a section of the OpenAPI document",
        "a body of the OpenAPI document",
        "a list in the client",
        "its package in the worker's digests",
        "its package in the wheel",
        "its package in the images",
        "its package among those without the core's imports",
        "its package among independent ones",
        "tests/audits and a suite of them",
        "its lane among those of CPU workers",
        "docs/reference/audits.md",
    ]
