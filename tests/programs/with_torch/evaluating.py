"""Posts programs to a service and waits for them."""

from __future__ import annotations

import time
from typing import Any

import httpx

WITHIN_S = 120
Answer = dict[str, Any]


def until_programs_are_offered(client: httpx.Client) -> None:
    """Wait until a worker has tested that it can record; fail with its reason."""
    end = time.monotonic() + WITHIN_S
    while time.monotonic() < end:
        toolchains = client.get("/v1/targets").json()["toolchains"]
        if any(toolchain["programs"] for toolchain in toolchains):
            return
        time.sleep(0.2)
    reports = client.get("/v1/system").json()["sandbox"].values()
    raise AssertionError([report.get("recording") for report in reports])


def evaluate(
    client: httpx.Client, source: str, reference: str | None = None, **more: Any
) -> Answer:
    """Return a finished program; `more` adds members to the request."""
    body: dict[str, Any] = {"source": source, **more}
    if reference is not None:
        body["reference"] = {"source": reference}
    answer = client.post("/v1/programs", params={"wait": 30}, json=body, timeout=60)
    assert answer.status_code in (200, 202), answer.text
    program: Answer = answer.json()
    while program["state"] in ("queued", "running"):
        program = client.get(program["url"], params={"wait": 30}, timeout=60).json()
    return program
