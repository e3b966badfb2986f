"""A part that stops leaves no client without an answer, and no job undone."""

import asyncio
import signal

import httpx

from store import keys
from tests.integration.faults.conftest import DRAIN_S, is_registered
from tests.integration.service import bodies
from tests.waiting import comes_true


async def started(http, body):
    url = (await http.post("/v1/compilations", json=body)).json()["url"]

    async def runs():
        return (await http.get(url)).json()["state"] == "running"

    await comes_true(runs)
    return url


async def stopped(process):
    return await asyncio.to_thread(process.wait)


async def test_waiters_of_a_stopping_service_learn_that_the_job_continues(
    machine, worker, service, http, operator
):
    body = bodies.slow(4, "the service stops")
    waiting = asyncio.create_task(http.post("/v1/compilations?wait=60", json=body))
    url = await started(http, body)
    looking = asyncio.create_task(http.get(url, params={"wait": 60}))

    async def both_wait():
        interests = await operator.hlen(keys.INTERESTS + url.rpartition("/")[2])
        return interests == 3  # theirs, and the one that holds

    await comes_true(both_wait)
    async with http.stream("GET", f"{url}/events") as following:
        chunks = following.aiter_text()
        followed = await anext(chunks)

        service.send(signal.SIGTERM)

        followed += "".join([chunk async for chunk in chunks])
    posted, looked = await asyncio.gather(waiting, looking)
    assert (posted.status_code, posted.json()["state"]) == (202, "running")
    assert int(posted.headers["retry-after"]) > 0
    assert (looked.status_code, looked.json()["state"]) == (200, "running")
    assert "event: started" in followed, "the stream ended as streams do"
    await stopped(service)
    machine.start_service()
    async with httpx.AsyncClient(base_url=machine.url, timeout=90) as again:
        assert (await again.get(url, params={"wait": 60})).json()["state"] == "succeeded"


async def test_a_request_that_is_still_being_sent_when_the_service_stops_is_answered(
    service, connect_to_service
):
    reader, writer = await connect_to_service()
    writer.write(b"POST /v1/compilations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n")
    writer.write(b"Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n{")
    assert b" 100 " in await reader.readuntil(b"\r\n\r\n"), "the service reads the body"

    service.send(signal.SIGTERM)

    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0].split()[1] in (b"408", b"503")
    assert b"application/problem+json" in head
    assert b'"slug"' in body
    await stopped(service)


async def test_a_stopping_worker_finishes_what_it_can(machine, worker, http):
    url = await started(http, bodies.slow(1.5, "its worker stops later"))

    worker.send(signal.SIGTERM)

    assert (await http.get(url, params={"wait": 60})).json()["state"] == "succeeded"
    assert await stopped(worker) == 0
    events = (await http.get(f"{url}/events")).text
    assert events.count("event: started") == 1


async def test_a_stopping_worker_returns_jobs_that_take_longer(machine, worker, http):
    url = await started(http, bodies.slow(60, "its worker stops"))
    began = asyncio.get_running_loop().time()

    worker.send(signal.SIGTERM)

    assert await stopped(worker) == 0
    assert asyncio.get_running_loop().time() - began >= DRAIN_S
    assert (await http.get(url)).json()["state"] == "queued"
    assert not is_registered(machine, worker)
    assert (await http.delete(url)).json()["state"] == "cancelled"


async def test_a_worker_that_stops_takes_no_further_job(machine, worker, http, operator):
    running = await started(http, bodies.slow(1.5, "while it stops"))

    async def who_wait_for_jobs():
        return (await operator.info("clients"))["blocked_clients"]

    async def nobody_waits_for_jobs():
        return await who_wait_for_jobs() == 0

    await comes_true(who_wait_for_jobs)
    worker.send(signal.SIGTERM)
    await comes_true(nobody_waits_for_jobs)

    url = (await http.post("/v1/compilations", json=bodies.vector_add("too late"))).json()["url"]

    assert await stopped(worker) == 0
    assert (await http.get(running)).json()["state"] == "succeeded"
    assert (await http.get(url)).json()["state"] == "queued"
    await http.delete(url)
