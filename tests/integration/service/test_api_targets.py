"""Every target of this Triton is offered."""

from __future__ import annotations

import httpx
import pytest

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
