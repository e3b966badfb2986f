"""Changing toolchains: cached facts do not outlive the toolchain that they came from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from compiler.compilation import Compilation
from compiler.derivation import DeriveJob, key_of
from compiler.inspection import InspectJob
from compiler.request.compile_request import CompileRequest
from compiler.request.resolution import resolve
from compiler.toolchain import Toolchain
from launch.request.launch_job import LaunchJob
from launch.request.launch_record import Device
from store.connection import connect
from store.jobs.producer import JobProducer
from store.jobs.types import Priority, cpu_lane, derive_lane, inspect_lane
from store.workers import Toolchains, Worker, Workers
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import Deployment
from tests.unit.launch.request.queued_launches import queued
from tests.waiting import wait_until

VERSION = "3.9.1"
Queued = DeriveJob | InspectJob | LaunchJob


async def offer(url: str, toolchain: Toolchain) -> None:
    async with connect(url) as redis:
        await Toolchains(redis).register(toolchain.id, toolchain.model_dump_json().encode())


async def serve(url: str, name: str) -> None:
    """Register a worker with the toolchain, for one heartbeat."""
    async with connect(url) as redis:
        await Workers(redis).beat(Worker("its worker", "compile", name, None, "standard", 1, 0))


async def become_default(url: str, name: str) -> None:
    async with connect(url) as redis:
        assert await Toolchains(redis).set_default(name)


async def forget(url: str, name: str) -> None:
    async with connect(url) as redis:
        await Toolchains(redis).forget(name)


def ids(http: httpx.Client) -> list[str]:
    return [toolchain["id"] for toolchain in http.get("/v1/targets").json()["toolchains"]]


@pytest.fixture
def other(system: Deployment, http: httpx.Client) -> Iterator[Toolchain]:
    """Yield a newer toolchain that no worker serves; then remove it."""
    described = http.get("/v1/targets").json()["toolchains"][0]
    before = http.get("/v1/system").json()["default_toolchain"]
    toolchain = Toolchain.model_validate({**described, "id": "f" * 16, "triton": VERSION})
    yield toolchain
    asyncio.run(become_default(system.redis_url, before))
    asyncio.run(forget(system.redis_url, toolchain.id))
    wait_until(lambda: ids(http) == [before], "the service offers what it did before")


def test_another_default_answers_nothing_of_the_one_before(
    system: Deployment, http: httpx.Client, post: Post, other: Toolchain
) -> None:
    body = bodies.vector_add("before the upgrade")
    post(body)
    assert post(body).json()["cache"] == "hit"

    asyncio.run(offer(system.redis_url, other))
    asyncio.run(become_default(system.redis_url, other.id))
    wait_until(lambda: http.get("/v1/system").json()["default_toolchain"] == other.id, "upgraded")

    answer = post(body, wait=0)
    assert (answer.status_code, answer.json()["toolchain"]["id"]) == (202, other.id)
    http.delete(answer.headers["location"])


def test_a_version_that_comes_to_mean_another_toolchain_answers_nothing_of_the_one_before(
    system: Deployment, http: httpx.Client, post: Post, other: Toolchain
) -> None:
    """The request's version is not the default's, which stays unchanged."""
    served = http.get("/v1/system").json()["default_toolchain"]
    version = http.get("/v1/targets").json()["toolchains"][0]["triton"]
    asyncio.run(offer(system.redis_url, other))
    asyncio.run(become_default(system.redis_url, other.id))
    wait_until(lambda: http.get("/v1/system").json()["default_toolchain"] == other.id, "upgraded")
    body = bodies.vector_add("an older Triton") | {"triton": version}
    post(body)
    assert post(body).json()["cache"] == "hit"
    assert post(body).json()["toolchain"]["id"] == served

    newer = other.model_copy(update={"id": "e" * 16, "triton": version})
    asyncio.run(offer(system.redis_url, newer))
    asyncio.run(serve(system.redis_url, newer.id))
    wait_until(lambda: ids(http)[-1] == newer.id, "the newer one is known and served")
    answer = post(body, wait=0)
    asyncio.run(forget(system.redis_url, newer.id))

    assert (answer.status_code, answer.json()["toolchain"]["id"]) == (202, newer.id)
    http.delete(answer.headers["location"])


@pytest.fixture
def replaced(system: Deployment, http: httpx.Client) -> Iterator[Toolchain]:
    """Yield a toolchain with the Triton of the served one; then remove it."""
    described = http.get("/v1/targets").json()["toolchains"][0]
    toolchain = Toolchain.model_validate({**described, "id": "d" * 16})
    asyncio.run(offer(system.redis_url, toolchain))
    yield toolchain
    asyncio.run(forget(system.redis_url, toolchain.id))
    wait_until(lambda: toolchain.id not in ids(http), "the service offers what it did before")


def queued_for(toolchain: Toolchain, made: Compilation) -> dict[str, Queued]:
    """Return a job of every kind except compilations, by the toolchain lane that it waits in."""
    old = made.toolchain.model_copy(update={"id": toolchain.id})
    compilation = made.model_copy(update={"toolchain": old})
    source = bodies.vector_add("launched by a replaced toolchain")["source"]
    request = CompileRequest(source=source, constexprs={"BLOCK_SIZE": 64}, target="cuda:90")
    buffer = {"shape": [64], "dtype": "fp32"}
    ones, written = buffer | {"init": {"kind": "ones"}}, buffer | {"output": True}
    launch = {
        "compilation": {"source": source, "constexprs": {"BLOCK_SIZE": 64}},
        "grid": [1],
        "arguments": {"x_ptr": ones, "y_ptr": ones, "output_ptr": written, "n_elements": 64},
    }
    return {
        derive_lane(toolchain.id): DeriveJob(
            key=key_of(compilation, "sass"), what="sass", compilation=compilation, compile_job=None
        ),
        inspect_lane(toolchain.id): InspectJob(
            key="1" * 64, source=source, files={}, toolchain_id=toolchain.id
        ),
        cpu_lane(toolchain.id): queued(
            launch,
            launch_id="1" * 32,
            caller="somebody",
            compile_job=resolve(request, toolchain, "public"),
            device=Device(target=None, interpreter=True),
            lane=cpu_lane(toolchain.id),
        ),
    }


async def done(url: str, jobs: dict[str, Queued]) -> list[dict[str, Any]]:
    """Return the results of jobs submitted together."""
    async with connect(url) as redis:
        producer, names = JobProducer(redis), []
        for lane, job in jobs.items():
            names.append(job.id if isinstance(job, LaunchJob) else job.key)
            await producer.submit(
                names[-1], lane=lane, priority=Priority.INTERACTIVE, caller="somebody",
                payload=job.model_dump_json().encode(), deadline_ms=60_000,
            )  # fmt: skip
        async with asyncio.timeout(60):
            while not all(results := [await producer.result(name) for name in names]):
                await asyncio.sleep(0.1)
        return [json.loads(result.record) for result in results if result is not None]


def test_what_waits_for_a_replaced_toolchain_is_done_by_one_with_the_same_triton(
    system: Deployment, post: Post, replaced: Toolchain
) -> None:
    made = Compilation.model_validate(post(bodies.vector_add("of a replaced toolchain")).json())

    derived, inspected, launched = asyncio.run(done(system.redis_url, queued_for(replaced, made)))

    assert (derived["state"], derived["what"]) == ("succeeded", "sass")
    assert [kernel["name"] for kernel in inspected["kernels"]] == ["add_kernel"]
    assert (launched["state"], launched["verdict"]) == ("completed", "not_checked")
