"""Requests of the adapters to our own API: post a program or a batch, and wait for it."""

import asyncio
import time
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from adapters.evaluators.program_words import FINISHED
from service.adapter_host import host_of
from service.http.inner_request import InnerAnswer, ask_itself
from service.http.problems import ProblemRaised


async def posted(
    request: Request,
    path: str,
    body: Any,
    pointers: dict[str, str],
    *,
    idempotency_key: str | None = None,
) -> Any:
    """Return the answer to `body` posted to `path`; a refusal there is raised here.

    `pointers` maps fields of `body` to the caller's names for them.
    """
    answer = await ask_itself(request, "POST", path, body, idempotency_key=idempotency_key)
    if answer.is_problem:
        raise _relayed(answer, pointers)
    return answer.json


async def awaited(request: Request, url: str, wait_s: float) -> Any:
    """Return the program or batch at `url` once it is over, or after `wait_s`.

    Raises ClientDisconnect when the client hangs up; the posted work continues.
    """
    if not wait_s:
        return await _awaited(request, url, 0)
    waiting = asyncio.create_task(_awaited(request, url, wait_s))
    hanging_up = asyncio.create_task(_hung_up(request))
    try:
        await asyncio.wait({waiting, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            raise ClientDisconnect
        return waiting.result()
    finally:
        for task in (waiting, hanging_up):
            task.cancel()
        await asyncio.gather(waiting, hanging_up, return_exceptions=True)


async def _awaited(request: Request, url: str, wait_s: float) -> Any:
    deadline = time.monotonic() + wait_s
    longest_s = host_of(request).max_wait_s
    while True:
        left_s = max(0.0, deadline - time.monotonic())
        answer = await ask_itself(request, "GET", url, query={"wait": min(left_s, longest_s)})
        if answer.is_problem:
            raise answer.raised
        program = answer.json
        if program["state"] in FINISHED or left_s <= longest_s or not longest_s:
            return program


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass  # skip the end of the body, which a GET also has


async def is_there(request: Request, url: str) -> bool:
    """Return True if the program at `url` still exists."""
    answer = await ask_itself(request, "GET", url)
    return not answer.is_problem


def _relayed(answer: InnerAnswer, pointers: dict[str, str]) -> ProblemRaised:
    """Return the problem that `answer` is, with the caller's names for its fields."""
    problem = answer.raised
    detail = str(problem)
    for error in problem.members.get("errors", []):
        known = pointers.get(error["pointer"], error["pointer"])
        detail = detail.replace(f"{error['pointer']}: ", f"{known}: ", 1)
        error["pointer"] = known
    return ProblemRaised(problem.slug, detail, headers=problem.headers, **problem.members)
