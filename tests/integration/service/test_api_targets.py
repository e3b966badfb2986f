"""Every target of this Triton is offered."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.service.bodies import good
from tests.integration.service.conftest import Post

OFFERED = {
    *(f"cuda:{capability}" for capability in (75, 80, 86, 87, 89, 90, 100, 103, 120, 121)),
    *(f"hip:{gfx}" for gfx in ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")),
}
"""Some long-supported targets of each family."""


@pytest.fixture(scope="module")
def targets(http: httpx.Client) -> list[str]:
    listed: list[str] = http.get("/v1/targets").json()["toolchains"][0]["targets"]
    return listed


def test_the_targets_of_every_family_are_offered(targets: list[str]) -> None:
    assert OFFERED - set(targets) == set()


@pytest.mark.parametrize("written", ["sm_90", "90", "h100"])
def test_another_name_of_a_target_is_the_same_compilation(post: Post, written: str) -> None:
    own = post(good("vector_add", stop_after="ttir")).json()

    answer = post(good("vector_add", target=written, stop_after="ttir")).json()

    assert (answer["target"], answer["key"]) == ("cuda:90", own["key"])


def test_a_device_may_be_a_target(http: httpx.Client) -> None:
    body = {"compilation": good("vector_add"), "device": "h100", "grid": [1], "arguments": {}}

    refused = http.post("/v1/launches", json=body).json()

    assert refused["errors"][0]["pointer"] == "/device"
    assert "no worker has ever had such a device" in refused["detail"]
