"""Refused programs: each error has a location and a remedy."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from programs.program_request import EXAMPLE, WARMING_EXAMPLE
from store.connection import connect
from store.workers import Worker, Workers
from tests.integration.service.running import Deployment
from tests.programs.service.conftest import PROGRAMS

SMALL = {"source": "pass"}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "a GPU": (
        SMALL | {"device": {"target": "cuda:90"}},
        "/device",
        "no worker runs programs on this device. Available: only the CPU device.",
    ),
    "a time": (
        SMALL | {"timing": {}},
        "/timing",
        "only GPUs time programs, and no worker here runs programs on a GPU",
    ),
    "a time on the CPU": (
        SMALL | {"timing": {}, "device": "cpu"},
        "/timing",
        "only GPUs time programs, and this is the CPU device",
    ),
    "a Triton": (SMALL | {"triton": "1.0"}, "/triton", "Triton 1.0 is not offered here"),
    "a target": (WARMING_EXAMPLE | {"target": "cuda:10"}, "/target", "cannot compile for cuda:10"),
    "a slip": (SMALL | {"sorce": "x"}, "/sorce", "Did you mean `source`?"),
    "a slip within": (SMALL | {"reference": {"sorce": "x"}}, "/reference/sorce", "source"),
    "a file's path": (SMALL | {"files": {"a b.py": ""}}, "/files/a b.py", "is not a module path"),
}


@pytest.mark.parametrize(("body", "pointer", "message"), REFUSED.values(), ids=REFUSED)
def test_a_refusal_points_at_its_field(
    alice: httpx.Client, body: dict[str, Any], pointer: str, message: str
) -> None:
    answer = alice.post(PROGRAMS, json=body)

    assert (answer.status_code, answer.json()["slug"]) == (422, "invalid_request")
    reported = {error["pointer"]: error["message"] for error in answer.json()["errors"]}
    assert message in reported[pointer]


def test_a_deployment_that_records_no_programs_says_where_they_are(http: httpx.Client) -> None:
    """The worker of `http` has no torch."""
    offered = [toolchain["programs"] for toolchain in http.get("/v1/targets").json()["toolchains"]]
    answer = http.post(PROGRAMS, json=EXAMPLE)

    assert offered == [False] * len(offered)
    assert answer.status_code == 422
    assert "no worker of this deployment records programs" in answer.json()["detail"]
    assert "Install torch next to a worker's Triton" in answer.json()["detail"]


def test_a_worker_that_has_just_started_is_to_be_asked_again(
    http: httpx.Client, system: Deployment
) -> None:
    """The worker that is testing its recorder is a script."""
    report = {"recording": {"offered": False, "reason": "being tried", "is_being_tried": True}}
    trying = Worker("trying", "compile", None, None, "none", 1, 0, sandbox_report=report)

    async def post() -> httpx.Response:
        async with connect(system.redis_url) as redis:
            await Workers(redis).beat(trying)
            try:
                return await asyncio.to_thread(http.post, PROGRAMS, json=EXAMPLE)
            finally:
                await Workers(redis).unregister(trying.id)

    answer = asyncio.run(post())

    assert (answer.status_code, answer.json()["slug"]) == (503, "no_toolchain")
    assert "testing if it can record" in answer.json()["detail"]
    assert int(answer.headers["Retry-After"]) > 0


def test_a_deployment_says_that_it_records_programs(alice: httpx.Client, asking) -> None:
    toolchains = asking("compiler").get("/v1/targets").json()["toolchains"]

    assert True in [toolchain["programs"] for toolchain in toolchains]


def test_a_body_is_bounded(alice: httpx.Client) -> None:
    answer = alice.post(PROGRAMS, json={"source": "#" * 30_000})

    assert (answer.status_code, answer.json()["slug"]) == (413, "too_large")
    assert answer.json()["limit"] == 20_000


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'"a"', b"null", b'{"source": NaN}'])
def test_a_value_that_is_not_an_object_is_refused(alice: httpx.Client, content: bytes) -> None:
    answer = alice.post(PROGRAMS, content=content, headers={"content-type": "application/json"})

    assert answer.status_code in {400, 422}
    assert answer.json()["slug"] in {"invalid_json", "invalid_request"}


def test_parameters_are_checked(alice: httpx.Client) -> None:
    answer = alice.post(PROGRAMS, params={"wiat": 1}, json=SMALL)

    assert (answer.status_code, answer.json()["parameter"]) == (422, "wiat")
    assert "Did you mean `wait`?" in answer.json()["detail"]
