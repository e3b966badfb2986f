"""Clients of a fleet: each posts one compilation after the other, and none is forgotten."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx

from tests.fleet.fleet import SERVICES, Fleet
from tests.integration.service import bodies
from tests.waiting import wait_until

CLIENTS = 6
WAIT_S = 10
OVERDUE_S = 10.0
"""Time that an answer may take beyond the wait that was asked for."""
END_S = 60.0
"""Time for what was posted to end."""
_PAUSE_S = 0.2


@dataclass(slots=True)
class Posted:
    """One compilation; `accepted` is the first answer that acknowledged it."""

    client: int
    posted_at: float
    accepted: dict[str, Any] | None = None
    ended: dict[str, Any] | None = None
    ended_at: float = 0.0


class Load:
    """Posts until it is stopped. `wrong` lists everything that no client may see."""

    def __init__(self, fleet: Fleet, name: str) -> None:
        self.wrong: list[str] = []
        self.posted: list[Posted] = []
        self._fleet = fleet
        self._name = name
        self._stopping, self._ending = threading.Event(), threading.Event()
        self._clients = [
            threading.Thread(target=self._run, args=(number,), daemon=True)
            for number in range(CLIENTS)
        ]

    def start(self) -> None:
        """Return when every client has had an answer."""
        began_at = time.monotonic()
        for client in self._clients:
            client.start()
        self.recovery_s(began_at)

    def recovery_s(self, since: float) -> float:
        """Return how long after `since` each client's first later job took to end.

        A client posts a job when its last one has ended, so all that were accepted before have
        ended, too.
        """

        def ends() -> list[float]:
            found = {}
            for each in self.posted:
                if each.posted_at > since and each.ended is not None:
                    found.setdefault(each.client, each.ended_at)
            return list(found.values()) if len(found) == CLIENTS else []

        return max(wait_until(ends, "every client is answered again", self._explain)) - since

    def stop(self) -> None:
        """Return when all that was posted has ended, and note what is wrong with it.

        Both services must know every result, those that a test killed, too.
        """
        self._stopping.set()
        for client in self._clients:
            client.join(END_S)
        self._ending.set()
        self.wrong += [f"{name} ended by itself" for name in self._fleet.died()]
        self._fleet.revive(*SERVICES)
        self.wrong += [f"no end: {each}" for each in self.posted if each.ended is None]
        accepted = [each.accepted for each in self.posted if each.accepted is not None]
        for http in self._services():
            self.wrong += [fault for each in accepted for fault in _kept(http, each)]
        counts = self._fleet.finishes([each["key"] for each in accepted])
        for each, count in zip(accepted, counts, strict=True):
            if count not in {None, 1}:
                self.wrong.append(f"{each['key']} has {count} accepted results")

    def _services(self) -> Iterator[httpx.Client]:
        for name in SERVICES:
            with self._fleet.client(name, WAIT_S + OVERDUE_S) as http:
                yield http

    def _run(self, client: int) -> None:
        with ExitStack() as closing:
            services = itertools.cycle(
                closing.enter_context(self._fleet.client(name, WAIT_S + OVERDUE_S))
                for name in (*SERVICES[client % 2 :], *SERVICES[: client % 2])
            )
            http = next(services)
            for number in itertools.takewhile(self._goes_on, itertools.count()):
                posted = Posted(client, time.monotonic())
                self.posted.append(posted)
                body = _body(f"{self._name} {client} {number}")
                while posted.ended is None and not self._ending.is_set():
                    answer = self._ask(http, posted, body)
                    if answer is not None:
                        self._read(posted, answer)
                    else:
                        http = next(services)
                        time.sleep(_PAUSE_S)

    def _goes_on(self, _: int) -> bool:
        return not self._stopping.is_set()

    def _ask(
        self, http: httpx.Client, posted: Posted, body: dict[str, Any]
    ) -> httpx.Response | None:
        """Return an answer; None: another service may have one, later."""
        began_at = time.monotonic()
        try:
            if posted.accepted is None:
                answer = http.post("/v1/compilations", json=body, params={"wait": WAIT_S})
            else:
                answer = http.get(posted.accepted["url"], params={"wait": WAIT_S})
        except httpx.ReadTimeout:
            waited_s = time.monotonic() - began_at
            self.wrong.append(f"{http.base_url} did not answer within {waited_s:.1f} s")
            return None
        except httpx.TransportError:
            return None
        return None if answer.status_code == 503 else answer

    def _read(self, posted: Posted, answer: httpx.Response) -> None:
        found = answer.json()
        if answer.status_code not in {200, 202}:
            self.wrong.append(f"{answer.request.method} was answered {found}")
            posted.ended = found
            return
        posted.accepted = posted.accepted or found
        if found["state"] not in {"queued", "running"}:
            posted.ended, posted.ended_at = found, time.monotonic()
            if found["state"] != "succeeded":
                self.wrong.append(f"a job ended as {found['state']}: {found.get('problem')}")

    def _explain(self) -> str:
        open_jobs = [each for each in self.posted if each.ended is None]
        return f"{open_jobs}\n{self.wrong}\n{self._fleet.said()}"


def _body(name: str) -> dict[str, Any]:
    """Return a unique compilation; every second one takes time, but no CPU time."""
    if int(name.rpartition(" ")[2]) % 2:
        return bodies.slow(0.5, name)
    return bodies.vector_add(name, stop_after="ttir")


def _kept(http: httpx.Client, accepted: dict[str, Any]) -> Iterator[str]:
    answer = http.get(accepted["url"])
    if not answer.is_success or answer.json()["state"] != "succeeded":
        yield f"{http.base_url} has lost {accepted['url']}: {answer.text}"
