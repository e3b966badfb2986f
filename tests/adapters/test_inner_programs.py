"""Adapters poll the service for programs as long as their client waits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from fastapi import FastAPI, Request
from starlette.requests import ClientDisconnect
from starlette.types import Message

from adapters.evaluators.inner_programs import awaited
from service.http.problems import ProblemRaised, install_handlers

URL = "/v1/programs/p1"
MAX_WAIT_S = 60.0


@dataclass
class EvaluatingApplication:
    """An application with one program, and a client that waits for it and may hang up."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    def request(self) -> Request:
        app = FastAPI()
        install_handlers(app)
        settings = SimpleNamespace(max_wait_s=MAX_WAIT_S)
        app.state.service = SimpleNamespace(settings=settings)
        app.add_api_route(URL, self._program)
        scope = {"type": "http", "method": "GET", "path": "/results/mine", "headers": []}
        return Request(scope | {"app": app}, self._receive)

    async def _program(self, wait: float) -> dict[str, str]:
        self.asked.set()
        try:
            if wait:
                await self.over.wait()
        finally:
            self.left.set()
        return {"state": "completed" if self.over.is_set() else "running"}

    async def _receive(self) -> Message:
        await self.hung_up.wait()
        return {"type": "http.disconnect"}


async def test_a_program_is_answered_once_it_is_over():
    evaluating = EvaluatingApplication()
    answer = asyncio.create_task(awaited(evaluating.request(), URL, 300))
    await evaluating.asked.wait()
    evaluating.over.set()

    assert await answer == {"state": "completed"}


async def test_a_client_that_hangs_up_leaves_no_waiter():
    evaluating = EvaluatingApplication()
    answer = asyncio.create_task(awaited(evaluating.request(), URL, 300))
    await evaluating.asked.wait()
    evaluating.hung_up.set()

    with pytest.raises(ClientDisconnect):
        await asyncio.wait_for(answer, 10)
    assert evaluating.left.is_set()


async def test_a_client_that_does_not_wait_gets_the_state():
    assert await awaited(EvaluatingApplication().request(), URL, 0) == {"state": "running"}


async def test_a_program_that_is_not_kept_is_a_problem_while_one_waits_as_well():
    with pytest.raises(ProblemRaised) as raised:
        await awaited(EvaluatingApplication().request(), "/v1/programs/none", 300)
    assert raised.value.slug == "not_found"
