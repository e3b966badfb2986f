"""Many callers at once: equal requests share a compilation, others do not affect each other."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import httpx

from store import keys
from store.connection import connect
from tests.integration.service import bodies
from tests.integration.service.running import Deployment
from tests.waiting import comes_true

CALLERS = 200


async def post_all(url: str, requests: list[dict[str, object]]) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=CALLERS)
    async with httpx.AsyncClient(base_url=url, timeout=90, limits=limits) as http:
        posts = [http.post("/v1/compilations?wait=60", json=body) for body in requests]
        return await asyncio.gather(*posts)


async def test_equal_requests_are_compiled_once(system: Deployment) -> None:
    body = bodies.vector_add("by 200 callers", include=["ptx"])

    answers = await post_all(system.url, [body] * CALLERS)

    assert {answer.status_code for answer in answers} == {200}
    assert Counter(answer.json()["cache"] for answer in answers)["miss"] == 1
    reported = {json.dumps(answer.json() | {"cache": None}) for answer in answers}
    assert len(reported) == 1
    async with httpx.AsyncClient(base_url=system.url) as http:
        events = await http.get(f"{answers[0].json()['url']}/events")
    assert events.text.count("event: started") == 1


async def test_different_requests_each_get_their_own(system: Deployment) -> None:
    sizes = [2**power for power in range(4, 12)] * 3

    answers = await post_all(
        system.url,
        [
            bodies.good("vector_add", constexprs={"BLOCK_SIZE": size}, stop_after="ttir")
            for size in sizes
        ],
    )

    for size, answer in zip(sizes, answers, strict=True):
        assert answer.json()["state"] == "succeeded"
        assert answer.json()["parameters"][-1]["value"] == size


async def test_good_ones_are_served_among_hostile_ones(system: Deployment) -> None:
    harm = ["import os\nos._exit(1)", "import ctypes\nctypes.string_at(0)", "while True: pass"]
    hostile = [bodies.running(code + f"  # {n}", timeout_s=0.5) for n in range(3) for code in harm]
    fine = [
        bodies.vector_add(f"among hostile ones {number}", stop_after="ttir") for number in range(9)
    ]

    answers = await post_all(
        system.url, [body for pair in zip(hostile, fine, strict=True) for body in pair]
    )

    states = [answer.json()["state"] for answer in answers]
    assert states == ["failed", "succeeded"] * 9


async def living_jobs(system: Deployment) -> set[bytes]:
    async with connect(system.redis_url) as redis:
        return set(await redis.keys(keys.JOB + "*"))


async def test_a_caller_who_hangs_up_takes_nothing_away_from_others(system: Deployment) -> None:
    body = bodies.running("for i in range(10**7): pass  # hung up on")
    before = await living_jobs(system)
    async with httpx.AsyncClient(base_url=system.url) as http:
        impatient = asyncio.create_task(http.post("/v1/compilations?wait=60", json=body))

        async def is_submitted() -> bool:
            return impatient.done() or await living_jobs(system) > before

        await comes_true(is_submitted)
        impatient.cancel()
        await asyncio.wait([impatient])

    (answer,) = await post_all(system.url, [body])

    assert answer.json()["state"] == "succeeded"
