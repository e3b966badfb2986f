"""A new kind of job on one page, in a whole service with an embedded Valkey and a consumer."""

import asyncio
import contextlib

import httpx
import pytest
from fastapi import APIRouter, Request
from pydantic import BaseModel

from compiler.problem import Problem, failure_problem
from jobs.kind import JobKind
from jobs.submission import JobOrder
from service.application import create_app
from service.feature import Feature
from service.http.openapi import wait_parameter
from service.owned_jobs import OwnedJobs
from service.routes.events import event_stream
from service.routes.owned_job_routes import delete_owned, get_owned, post_owned
from service.settings import ServiceSettings
from service.state import state_of
from store.jobs.types import Priority
from worker.consumer import Consumer, Handler, Queue


class EchoRequest(BaseModel):
    text: str
    priority: Priority = Priority.INTERACTIVE
    deadline_s: float = 60


class EchoJob(BaseModel):
    id: str
    text: str


class Echo(BaseModel):
    id: str
    state: str
    text: str = ""
    problem: Problem | None = None


def record(one):
    text = one.job.text if one.job else ""
    return Echo(id=one.id, state=one.state, text=text, problem=one.problem)


ECHO = JobKind(
    name="echo", noun="echo", request=EchoRequest, job=EchoJob, record=record,
    id_of=lambda job: job.id, is_owned=True,
    overdue=failure_problem("deadline_exceeded", "No worker took this echo in time."),
)  # fmt: skip


async def submit(state, request, caller, job_id, *, waiting=None, membership=None):
    order = JobOrder(
        ECHO, EchoJob(id=job_id, text=request.text), caller.id, request.priority,
        queued_ms=int(request.deadline_s * 1000), membership=membership,
    )  # fmt: skip
    submitted = await state.client.submit(order, waiting=waiting)
    await state.launches.create(job_id, caller.id)  # its owner
    return submitted


ECHOES = OwnedJobs(ECHO, "echoes", submit, lambda state, *whose: state.launches.find(*whose))
router = APIRouter(prefix="/v1/echoes")


@router.post("", openapi_extra={"parameters": [wait_parameter()]})
async def post_echo(request: Request):
    return await post_owned(request, ECHOES)


@router.get("/{job_id}")
async def get_echo(request: Request, job_id: str):
    return await get_owned(request, ECHOES, job_id)


@router.delete("/{job_id}")
async def delete_echo(request: Request, job_id: str):
    return await delete_owned(request, ECHOES, job_id)


@router.get("/{job_id}/events")
async def get_echo_events(request: Request, job_id: str):
    return await event_stream(request, state_of(request), job_id)


async def do_echo(attempt):
    echo = Echo(id=attempt.claim.id, state="completed", text=attempt.job.text)
    await attempt.finish(echo, reusable=True, keep_s=60)


@pytest.fixture
async def http(valkey, redis):
    feature = Feature(routers=[router], kinds=[ECHO], owned=[ECHOES])
    app = create_app(ServiceSettings(redis_url=valkey.url), [feature])
    transport, base = httpx.ASGITransport(app), "http://127.0.0.1:8000/v1"
    client = httpx.AsyncClient(transport=transport, base_url=base)
    async with app.router.lifespan_context(app), client:
        yield client


@contextlib.asynccontextmanager
async def working(redis, blocking):
    queue, handlers = Queue(redis, blocking, 5.0), [Handler(ECHO, do_echo)]
    running = asyncio.create_task(Consumer(queue, "echoer", ["echo"], handlers, 4).run())
    yield
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_post_waits_for_its_record_and_its_events_tell_the_same(http, redis, blocking):
    async with working(redis, blocking):
        answer = await http.post("/echoes?wait=30", json={"text": "hello"})
    events = await http.get(f"/echoes/{answer.json()['id']}/events")

    assert (answer.status_code, answer.json()["text"]) == (200, "hello")
    reported = [line for line in events.text.splitlines() if line.startswith("event")]
    assert reported == ["event: queued", "event: started", "event: finished"]


async def test_one_that_is_cancelled_says_so(http):
    url = "/echoes/" + (await http.post("/echoes", json={"text": "never"})).json()["id"]

    assert (await http.delete(url)).json()["state"] == "cancelled"
    assert (await http.get(url)).json()["problem"]["slug"] == "cancelled"


async def test_items_of_a_batch_are_done(http, redis, blocking):
    batch = {"kind": "echoes", "requests": [{"text": "a"}, {"text": "b"}, {"word": "c"}]}
    async with working(redis, blocking):
        answer = (await http.post("/batches?wait=30", json=batch)).json()

    assert [item["state"] for item in answer["items"]] == ["completed", "completed", "refused"]


async def test_a_post_with_the_same_key_is_the_same_job(http):
    sent = {"url": "/echoes", "json": {"text": "once"}, "headers": {"Idempotency-Key": "k"}}
    twice = [await http.post(**sent) for _ in range(2)]

    assert twice[0].json()["id"] == twice[1].json()["id"]


async def test_one_that_no_worker_takes_in_time_expires(http):
    answer = await http.post("/echoes?wait=30", json={"text": "late", "deadline_s": 0.1})

    assert answer.json()["problem"]["slug"] == "deadline_exceeded"
