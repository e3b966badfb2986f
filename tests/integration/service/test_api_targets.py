"""Every target that is offered compiles, and none that this Triton has is missing."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.waiting import wait_until

OFFERED = {
    *(f"cuda:{capability}" for capability in (75, 80, 86, 87, 89, 90, 100, 103, 120, 121)),
    *(f"hip:{gfx}" for gfx in ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")),
}
"""Some that Triton compiles for since long, of each family."""


@pytest.fixture(scope="module")
def targets(http: httpx.Client) -> list[str]:
    listed: list[str] = http.get("/v1/targets").json()["toolchains"][0]["targets"]
    return listed


def test_the_targets_of_every_family_are_offered(targets: list[str]) -> None:
    assert OFFERED - set(targets) == set()


def test_a_kernel_compiles_for_every_target_that_is_offered(
    http: httpx.Client, targets: list[str]
) -> None:
    body = bodies.good("vector_add")
    requests = [body | {"target": target} for target in targets]
    posted = http.post("/v1/batches?wait=60", json={"kind": "compilations", "requests": requests})

    url = posted.json()["url"]
    wait_until(lambda: http.get(url).json()["state"] == "completed", "all are compiled")
    items: list[dict[str, Any]] = http.get(url).json()["items"]
    made = [item["result"]["state"] for item in items]
    assert dict(zip(targets, made, strict=True)) == dict.fromkeys(targets, "succeeded")
