"""Events of a compilation, as server-sent events that a client can resume."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import httpx

from store.connection import connect
from store.keys import EVENTS
from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import Deployment


@dataclass(frozen=True)
class Event:
    id: str
    kind: str
    data: dict[str, Any]


def events_of(http: httpx.Client, url: str, after: str | None = None) -> list[Event]:
    headers = {"Last-Event-ID": after} if after else {}
    answer = http.get(f"{url}/events", headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = []
    for block in answer.text.strip().split("\n\n") if answer.text else []:
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append(Event(lines["id"], lines["event"], json.loads(lines["data"])))
    return events


def test_the_events_of_a_compilation(post: Post, http: httpx.Client) -> None:
    made = post(bodies.vector_add("events")).json()

    events = events_of(http, made["url"])

    assert [event.kind for event in events] == ["queued", "started", *["stage"] * 6, "finished"]
    stages = [event.data["stage"] for event in events if event.kind == "stage"]
    assert stages == list(made["artifacts"])


def test_events_are_followed_while_they_happen(post: Post, http: httpx.Client) -> None:
    posted = post(bodies.vector_add("followed", refresh=True), wait=0).json()

    events = events_of(http, posted["url"])  # it ends by itself after `finished`

    assert events[-1].kind == "finished"
    assert http.get(posted["url"]).json()["state"] == "succeeded"


def test_events_are_taken_up_behind_the_last_one_seen(post: Post, http: httpx.Client) -> None:
    made = post(bodies.vector_add("events in two parts")).json()
    events = events_of(http, made["url"])

    rest = events_of(http, made["url"], after=events[3].id)

    assert rest == events[4:]


def test_events_that_are_no_longer_kept_are_reported_by_their_end(
    system: Deployment, post: Post, http: httpx.Client
) -> None:
    made = post(bodies.vector_add("forgotten events")).json()
    last = events_of(http, made["url"])[-1]
    asyncio.run(forget_events(system.redis_url, made["key"]))

    reported = events_of(http, made["url"])

    assert [(event.kind, event.data) for event in reported] == [("finished", last.data)]
    assert events_of(http, made["url"], after=last.id) == reported  # it did not see the end
    assert events_of(http, made["url"], after=reported[0].id) == []


async def forget_events(redis_url: str, key: str) -> None:
    async with connect(redis_url) as redis:
        assert await redis.delete(EVENTS + key) == 1


def test_an_invalid_event_id_is_refused(post: Post, http: httpx.Client) -> None:
    made = post(bodies.vector_add("events")).json()

    answer = http.get(f"{made['url']}/events", headers={"Last-Event-ID": "yesterday"})

    assert answer.status_code == 422
    assert answer.json()["parameter"] == "Last-Event-ID"


def test_there_are_no_events_of_what_was_never_posted(http: httpx.Client) -> None:
    assert http.get(f"/v1/compilations/{'0' * 64}/events").status_code == 404
