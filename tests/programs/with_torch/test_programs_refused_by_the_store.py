"""A store that refuses writes delays a running program, but does not change its verdict."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from programs.program_request import EXAMPLE
from store.connection import connect
from tests.integration.service.running import Deployment
from tests.waiting import wait_until

STEPS = "        for _ in range(3000):\n            y = y + 0\n"
SLOW_TO_RECORD = EXAMPLE["source"].replace("        output =", STEPS + "        output =")
REFERENCE = EXAMPLE["reference"]
REFUSED = re.compile(r"cannot store the result of job (\S+): The store refuses to work")
OVER = {"completed", "failed", "cancelled"}


@contextmanager
def full_store(deployment: Deployment) -> Iterator[None]:
    """Use a server without memory: it answers reads, and refuses writes that need memory."""

    async def allow(maxmemory: str) -> None:
        async with connect(deployment.redis_url) as redis:
            await redis.config_set("maxmemory", maxmemory)

    asyncio.run(allow("1mb"))
    try:
        yield
    finally:
        asyncio.run(allow("0"))


def posted(client: httpx.Client, **more: Any) -> str:
    """Return the URL of a program that takes seconds, with a kernel that no other test has."""
    number = time.monotonic_ns()
    source = SLOW_TO_RECORD.replace("x + y, mask", f"x + y * ({number} - {number - 1}), mask")
    body = {"source": source, "reference": REFERENCE, **more}
    answer = client.post("/v1/programs", json=body)
    assert answer.status_code == 202, answer.text
    url: str = answer.json()["url"]
    return url


def over(client: httpx.Client, url: str) -> dict[str, Any]:
    """Return a program once it is finished."""

    def ended() -> dict[str, Any] | None:
        program: dict[str, Any] = client.get(url, params={"wait": 5}).json()
        return program if program["state"] in OVER else None

    found = wait_until(ended, "the program ends")
    assert found is not None
    return found


def test_a_program_is_done_once_the_store_takes_data_again(
    programs: httpx.Client, recording_deployment: Deployment
) -> None:
    url = posted(programs)
    job_id = url.rpartition("/")[2]
    wait_until(lambda: programs.get(url).json()["state"] == "running", "it is being recorded")
    with full_store(recording_deployment):
        said = recording_deployment.said
        wait_until(lambda: job_id in REFUSED.findall(said()), "it cannot be handed in", said)

    program = over(programs, url)
    assert (program["state"], program["verdict"]) == ("completed", "passed"), program
    assert programs.get(program["tape"]["url"]).status_code == 200


def test_a_program_whose_deadline_passes_while_the_store_refuses_says_so(
    programs: httpx.Client, recording_deployment: Deployment
) -> None:
    url = posted(programs, deadline_s=6)
    with full_store(recording_deployment):
        program = over(programs, url)

    assert (program["state"], program["verdict"]) == ("failed", None), program
    assert program["problem"]["slug"] == "deadline_exceeded"
