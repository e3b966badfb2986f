"""Sweeps that end before their rows: cancelled, or over budget."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from store.connection import connect
from store.keys import JOB, RESULT, SWEEP_JOBS
from tests.integration.service import bodies
from tests.integration.service.running import Deployment
from tests.sweeps.service.test_sweeps import post_sweep
from tests.waiting import wait_until


def slow(comment: str, duration_s: float = 0.4) -> dict[str, Any]:
    """A kernel that takes this long to compile, with any block size."""
    body = bodies.slow(duration_s, comment)
    return body | {"source": body["source"].replace("= SIZE", "")}


def blocks(count: int) -> dict[str, Any]:
    return {"constexprs.BLOCK": [2**n for n in range(count)]}


async def jobs_of(system: Deployment, sweep_id: str) -> list[str]:
    """Return the jobs that rows of the sweep wait for."""
    async with connect(system.redis_url) as redis:
        return [job.decode() for job in await redis.hvals(SWEEP_JOBS + sweep_id)]


async def living(system: Deployment, jobs: list[str]) -> int:
    async with connect(system.redis_url) as redis:
        return await redis.exists(*(JOB + job for job in jobs))


def test_a_cancelled_sweep_leaves_no_job_behind(system: Deployment, http: httpx.Client) -> None:
    posted = post_sweep(http, wait=0, base=slow("cancelled", 2), space=blocks(8)).json()
    url = posted["url"]
    wait_until(lambda: http.get(url).json()["counts"].get("running") == 8, "jobs under way")
    jobs = asyncio.run(jobs_of(system, posted["id"]))
    assert asyncio.run(living(system, jobs)) == len(jobs) == 8

    answer = http.delete(url)

    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    assert answer.json()["counts"] == {"cancelled": 8}
    assert asyncio.run(living(system, jobs)) == 0
    assert http.delete(url).status_code == 200
    assert http.get(f"{url}/events").text.rstrip().endswith('data: {"ending":"cancelled"}')


def test_a_compilation_of_others_outlives_a_cancelled_sweep(http: httpx.Client) -> None:
    body = slow("of others", 2)
    url = post_sweep(http, wait=0, base=body, space=blocks(1)).json()["url"]
    wait_until(lambda: http.get(url).json()["counts"].get("running"), "the row runs")
    own = http.post("/v1/compilations", json=body | {"constexprs": {"BLOCK": 1}}).json()

    http.delete(url)

    assert http.get(own["url"], params={"wait": 60}).json()["state"] == "succeeded"


def test_a_caller_has_only_so_many_sweeps_that_are_not_over(http: httpx.Client) -> None:
    urls = [
        post_sweep(http, wait=0, base=slow(f"many {n}", 5), space=blocks(8)).json()["url"]
        for n in range(16)
    ]
    answer = post_sweep(http, wait=0, base=slow("many"), space=blocks(1))

    assert (answer.status_code, answer.json()["slug"]) == (429, "too_many_requests")
    assert answer.json()["limit"] == 16
    for url in urls:
        http.delete(url)
    assert post_sweep(http, base=slow("room again", 0), space=blocks(1)).status_code == 200


def test_variants_not_started_within_the_budget_are_pruned(http: httpx.Client) -> None:
    # a hit, however slow the machine is
    post_sweep(http, base=slow("budget", 0.5), space=blocks(1))

    answer = post_sweep(http, base=slow("budget", 0.5), space=blocks(20), budget_s=3).json()

    begun = answer["counts"]["succeeded"]
    assert 0 < begun < 20
    assert answer["counts"] == {"succeeded": begun, "pruned": 20 - begun}
    assert answer["pruned"] == {"budget": 20 - begun}


def test_a_sweep_that_is_cancelled_while_instructions_are_counted(
    system: Deployment, http: httpx.Client
) -> None:
    body = bodies.vector_add("cancelled while counting")
    posted = post_sweep(
        http, wait=0, base=body, space={"constexprs.BLOCK_SIZE": [2**n for n in range(5, 11)]},
        include=["instruction_mix"],
    ).json()  # fmt: skip
    wait_until(lambda: http.get(posted["url"]).json()["counts"].get("succeeded"), "a row")
    jobs = asyncio.run(jobs_of(system, posted["id"]))

    assert http.delete(posted["url"]).status_code in {200, 202}

    assert not jobs or asyncio.run(living(system, jobs)) == 0


def test_a_sweep_that_cannot_be_read_is_refused_in_a_sentence(
    system: Deployment, http: httpx.Client
) -> None:
    url = post_sweep(http, base=slow("unreadable", 0), space=blocks(1)).json()["url"]

    async def damage() -> None:
        async with connect(system.redis_url) as redis:
            await redis.hset(RESULT + url.rpartition("/")[2], "payload", b'{"version": 9}')

    asyncio.run(damage())
    answer = http.get(url)

    assert (answer.status_code, answer.json()["slug"]) == (410, "evicted")
    assert answer.json()["detail"].endswith("Post it again.")
