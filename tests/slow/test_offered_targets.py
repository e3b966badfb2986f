"""Every target that is offered compiles."""

from __future__ import annotations

from typing import Any

import httpx

from tests.integration.service import bodies
from tests.waiting import wait_until


def test_a_kernel_compiles_for_every_target_that_is_offered(
    http: httpx.Client,
) -> None:
    targets = http.get("/v1/targets").json()["toolchains"][0]["targets"]
    body = bodies.good("vector_add")
    requests = [body | {"target": target} for target in targets]
    posted = http.post("/v1/batches?wait=60", json={"kind": "compilations", "requests": requests})

    url = posted.json()["url"]
    wait_until(lambda: http.get(url).json()["state"] == "completed", "all are compiled")
    items: list[dict[str, Any]] = http.get(url).json()["items"]
    made = [item["result"]["state"] for item in items]
    assert dict(zip(targets, made, strict=True)) == dict.fromkeys(targets, "succeeded")
