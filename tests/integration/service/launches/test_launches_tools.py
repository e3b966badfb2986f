"""Checks and profiles need tools: without a worker that has them, a launch is refused."""

import asyncio

import pytest

from store import keys
from store.connection import connect
from store.workers import Worker, Workers
from tests.integration.service.launches.bodies import launch, output, source, uniform

DEVICE = "cuda:75 A GPU with racecheck alone"
ARGUMENTS = {"x_ptr": uniform(8), "y_ptr": uniform(8), "output_ptr": output(8), "n_elements": 8}


def body(**changes):
    asked = launch(source("vector_add"), "add_kernel", ARGUMENTS, {"BLOCK_SIZE": 8}, **changes)
    if changes.get("device") != "cpu":
        asked["compilation"]["target"] = "cuda:75"
    return asked


@pytest.fixture
def device(system):
    """Register a GPU without a worker; its launches stay queued."""

    async def register():
        async with connect(system.redis_url) as redis:
            worker = Worker("absent", "launch", None, DEVICE, "launcher", 1, 0, tools=["racecheck"])
            await Workers(redis).beat(worker)

    async def forget():
        async with connect(system.redis_url) as redis:
            await Workers(redis).unregister("absent")
            await redis.srem(keys.DEVICES, DEVICE)
            await redis.srem(keys.TOOLS, f"racecheck {DEVICE}")

    asyncio.run(register())
    yield {"target": "cuda:75"}
    asyncio.run(forget())


def refusals(http, **changes):
    answer = http.post("/v1/launches", json=body(**changes))
    assert answer.status_code == 422, answer.text
    return {error["pointer"]: error["message"] for error in answer.json()["errors"]}


@pytest.mark.parametrize("device_asked", ["cpu", "auto"])
def test_the_cpu_device_cannot_be_profiled(http, device_asked):
    assert "/profile" in refusals(http, device=device_asked, profile=True)


def test_lines_need_a_profiler_like_a_profile(http, device):
    assert "ncu" in refusals(http, device=device, profile="lines")["/profile"]


def test_what_no_worker_with_such_a_gpu_has_is_refused_by_name(http, device):
    refused = refusals(http, device=device, checks=["racecheck", "memcheck"], profile=True)

    assert set(refused) == {"/checks/1", "/profile"}
    assert "memcheck needs compute-sanitizer" in refused["/checks/1"]
    assert "ncu" in refused["/profile"]


def test_devices_say_what_can_be_asked_of_them(http, device):
    (known,) = [
        one for one in http.get("/v1/devices").json()["devices"] if one["target"] == "cuda:75"
    ]

    assert known["checks"] == ["determinism", "fuzz", "proof", "racecheck"]
    assert known["profile"] is False
