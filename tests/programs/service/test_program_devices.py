"""The device of a program and the worker that gets it.

The worker with a GPU is a script; nothing runs on a GPU here.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from adapters.evaluators.kernelgym_task import EXAMPLE as TASK
from programs.program_job import new_program
from programs.program_request import EXAMPLE, TIMED_EXAMPLE, WARMING_EXAMPLE
from store import keys
from store.connection import connect
from store.workers import Worker, Workers
from tests.integration.service.running import Deployment
from tests.programs.service.conftest import GPU, PROGRAMS, TIMED, ScriptedRecorder

MODEL = GPU.partition(" ")[2]
ON_THE_GPU = {"target": "cuda:90", "model": MODEL, "driver": None, "interpreter": False}
ON_THE_CPU = {"target": None, "model": None, "driver": None, "interpreter": True}
SMALL = {"source": "pass"}


@pytest.mark.parametrize(
    "device",
    ["auto", None, "gpu", {"target": "cuda:90"}, {"target": "cuda:90", "model": MODEL}],
    ids=["auto", "nothing said", "any GPU", "target", "target and model"],
)
def test_a_program_goes_to_a_worker_with_such_a_gpu(
    alice: httpx.Client, gpu_recorder: ScriptedRecorder, device: Any
) -> None:
    posted = alice.post(PROGRAMS, json=EXAMPLE | {"device": device}).json()
    _, job = gpu_recorder.claim()

    assert posted["device"] == ON_THE_GPU
    assert (job.id, job.device and job.device.model) == (posted["id"], MODEL)


@pytest.mark.parametrize(
    "body",
    [
        EXAMPLE | {"device": "cpu"},
        EXAMPLE | {"device": "interpreter"},
        WARMING_EXAMPLE,
        EXAMPLE | {"stop_after": "tape"},
    ],
    ids=["asked for", "asked for by its old name", "compiled only", "recorded only"],
)
def test_what_needs_no_gpu_goes_to_the_cpu_device(
    alice: httpx.Client,
    recorder: ScriptedRecorder,
    gpu_recorder: ScriptedRecorder,
    body: dict[str, Any],
) -> None:
    posted = alice.post(PROGRAMS, json=body).json()
    _, job = recorder.claim()

    assert (job.id, job.device) == (posted["id"], None)
    assert posted["device"] == ON_THE_CPU


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "another target": (
        SMALL | {"device": {"target": "cuda:100"}},
        "/device",
        f"no worker runs programs on this device. Available: {GPU}",
    ),
    "another model": (
        SMALL | {"device": {"target": "cuda:90", "model": "NVIDIA H100"}},
        "/device",
        "on this device",
    ),
    "a check of the CPU device": (
        SMALL | {"checks": ["determinism", "racecheck"]},
        "/checks/1",
        f"racecheck needs the CPU device, and this program runs on the GPU {MODEL} (cuda:90)",
    ),
    "a time on the CPU device": (
        SMALL | {"device": "cpu", "timing": {}},
        "/timing",
        "this is the CPU device",
    ),
}


@pytest.mark.usefixtures("gpu_recorder")
@pytest.mark.parametrize(("body", "pointer", "message"), REFUSED.values(), ids=REFUSED)
def test_what_its_device_cannot_do_is_refused(
    alice: httpx.Client, body: dict[str, Any], pointer: str, message: str
) -> None:
    answer = alice.post(PROGRAMS, json=body)

    assert (answer.status_code, answer.json()["slug"]) == (422, "invalid_request")
    reported = {error["pointer"]: error["message"] for error in answer.json()["errors"]}
    assert message in reported[pointer]


def beside_a_worker_that_is(
    trying: str, alice: httpx.Client, recording: Deployment, body: dict[str, Any]
) -> httpx.Response:
    """Post while a worker only claims to be testing something."""
    report = {"recording": {"offered": False, "reason": "being tried", trying: True}}
    worker = Worker("trying", "compile", None, None, "none", 1, 0, sandbox_report=report)

    async def post() -> httpx.Response:
        async with connect(recording.redis_url) as redis:
            await Workers(redis).beat(worker)
            try:
                return await asyncio.to_thread(alice.post, PROGRAMS, json=body)
            finally:
                await Workers(redis).unregister(worker.id)

    return asyncio.run(post())


@pytest.mark.parametrize("trying", ["is_being_tried", "tries_gpus"])
def test_a_gpu_is_waited_for_while_its_worker_finds_out_whether_programs_run_there(
    alice: httpx.Client, recording: Deployment, trying: str
) -> None:
    answer = beside_a_worker_that_is(trying, alice, recording, TIMED_EXAMPLE)

    assert (answer.status_code, answer.json()["slug"]) == (503, "no_toolchain")
    assert int(answer.headers["Retry-After"]) > 0


def test_the_cpu_is_not_taken_while_it_is_not_known_whether_there_is_a_gpu(
    alice: httpx.Client, recording: Deployment
) -> None:
    answer = beside_a_worker_that_is("tries_gpus", alice, recording, EXAMPLE)

    assert (answer.status_code, answer.json()["slug"]) == (503, "no_toolchain")
    assert "testing if programs run on its GPU" in answer.json()["detail"]


def test_a_program_for_the_cpu_does_not_wait_for_gpus(
    alice: httpx.Client, recording: Deployment
) -> None:
    body = EXAMPLE | {"device": "cpu"}

    assert beside_a_worker_that_is("tries_gpus", alice, recording, body).is_success


def test_a_program_is_answered_with_its_times(
    alice: httpx.Client, gpu_recorder: ScriptedRecorder
) -> None:
    posted = alice.post(PROGRAMS, json=TIMED_EXAMPLE).json()
    gpu_recorder.do(**TIMED)

    program = alice.get(posted["url"], params={"wait": 30}).json()
    assert (program["timing"]["median_us"], program["timing"]["method"]) == (12.5, "graph")
    assert program["reference"]["timing"]["median_us"] == 25
    assert (program["speedup"], program["speedup_interval"]) == (2.0, [1.9, 2.1])
    assert program["entries"] == [entry.model_dump() for entry in TIMED["entries"]]
    assert program["reward"]["speedup"] == 2.0


def test_an_evaluators_client_gets_runtimes_of_a_gpu(
    alice: httpx.Client, gpu_recorder: ScriptedRecorder
) -> None:
    task = TASK | {"num_perf_trials": 30, "measure_performance": True}

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(alice.post, "/kernelgym/evaluate", json=task)
        claim, job = gpu_recorder.claim()
        gpu_recorder.finish(claim, new_program(job, "completed").model_copy(update=TIMED))
        result = asking.result(timeout=60).json()

    timing = job.timing
    assert timing is not None
    assert (timing.min_repeats, timing.max_repeats) == (30, 30)
    assert (result["kernel_runtime"], result["reference_runtime"]) == (0.0125, 0.025)
    assert (result["correctness"], result["speedup"]) == (True, 2.0)
    assert result["metadata"]["device"] == MODEL
    assert result["metadata"]["not_applied"] == {}


def test_a_deployment_says_on_which_gpus_programs_run_now(
    asking, recording: Deployment, gpu_recorder: ScriptedRecorder
) -> None:
    """The other worker ran programs a moment ago, and no longer does."""
    other = "cuda:90 NVIDIA H100 of a test"
    offers = [(GPU, [gpu_recorder.toolchain_id]), (other, [gpu_recorder.toolchain_id]), (other, [])]

    async def look() -> tuple[httpx.Response, httpx.Response]:
        async with connect(recording.redis_url) as redis:
            registry, operator = Workers(redis), asking("operator")
            for name, programs in offers:
                worker = Worker(name, "launch", None, name, "none", 1, 0, programs=programs)
                await registry.beat(worker)
            try:
                return (
                    await asyncio.to_thread(operator.get, "/v1/devices"),
                    await asyncio.to_thread(operator.get, "/v1/system"),
                )
            finally:
                await registry.unregister(GPU)
                await registry.unregister(other)
                await redis.srem(keys.DEVICES, other)

    devices, system = asyncio.run(look())

    reported = {device["model"]: device["programs"] for device in devices.json()["devices"]}
    assert reported == {MODEL: True, other.partition(" ")[2]: False}
    assert system.json()["queues"][gpu_recorder.lane] == 0
