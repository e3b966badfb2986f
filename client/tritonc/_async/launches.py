"""Launches by id, for asyncio: the methods of `AsyncClient.launches`, and posting one."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any
from urllib.parse import quote

import httpx

from tritonc._async.http_connection import AsyncConnection
from tritonc._async.tensors import upload_missing
from tritonc.event import Event
from tritonc.exchange import Request, key_of_round, read
from tritonc.launch import Launch, LaunchFailed
from tritonc.launch_body import LaunchRequest
from tritonc.packages.package import needs_of, with_modules
from tritonc.service_errors import WaitExpired

LAUNCHES = "/v1/launches"

_read_launch = partial(read, Launch.from_json)


class AsyncLaunches:
    """The caller's launches; those of other callers answer 404, like unknown ids."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, launch_id: str, *, wait_s: float = 0) -> Launch:
        """Return the current state of a launch, waiting up to `wait_s` for its end."""
        return await _poll_launch(self._connection, _get(launch_id), wait_s)

    async def query(self, ids: Sequence[str], *, wait_s: float = 0) -> list[Launch]:
        """Return several launches in the order of `ids`, waiting up to `wait_s` for all to end."""
        body = {"ids": list(ids)}
        query = Request("POST", f"{LAUNCHES}/query", body, waits_in_body=True, repeatable=True)

        def following(launches: list[Launch]) -> Request | None:
            return None if all(launch.finished for launch in launches) else query

        return await self._connection.poll(query, wait_s, _read_launches, following)

    async def cancel(self, launch_id: str) -> Launch:
        """Cancel an unfinished launch."""
        return _read_launch(await self._connection.send(Request("DELETE", _path(launch_id))))

    def events(self, launch_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield the events of a launch until it is over, reconnecting after lost connections.

        `after` is the id of the last known event. Raises ServerUnavailable after several failed
        connections in a row.
        """
        return self._connection.events(f"{_path(launch_id)}/events", after)

    async def output(self, launch_id: str, argument: str, *, case: int = 0) -> bytes:
        """Return the .npy file of an output that was requested as `tensor`; bf16 and fp8 as bits.

        Read it with `numpy.load(io.BytesIO(...))`.
        """
        path = f"{_path(launch_id)}/outputs/{quote(argument, safe='')}"
        request = Request(
            "GET", path, query=_case(case), repeatable=True, may_redirect=True, is_for_file=True
        )
        return (await self._connection.send(request)).content

    async def trace(self, launch_id: str, *, case: int = 0) -> dict[str, Any]:
        """Return the memory accesses of the traced programs, as `accesses`.

        If the launch's `trace` has `values`, also the results of each operation, as `steps`.
        """
        path = f"{_path(launch_id)}/trace"
        request = Request("GET", path, query=_case(case), repeatable=True, is_for_file=True)
        return read(dict[str, Any], await self._connection.send(request))


async def launch_and_wait(
    connection: AsyncConnection,
    request: LaunchRequest,
    wait_s: float,
    check: bool,
    idempotency_key: str | None,
) -> Launch:
    """Upload missing tensors, post the launch, and poll it until it or `wait_s` is over.

    A post without an answer is repeated under one idempotency key, so it never launches twice. It
    is posted again with the modules of the request's package that it asks for, under further keys.
    With `check`, raises WaitExpired, or LaunchFailed if there is no verdict.
    """
    await upload_missing(connection, request.uploads.values())
    deadline = monotonic() + wait_s
    package, sources, asked = request.package, request.sources, 0
    while True:
        body = with_modules(request.body, package)
        post = Request.making(LAUNCHES, body, key_of_round(idempotency_key, asked))
        launch = await _poll_launch(connection, post, max(0.0, deadline - monotonic()))
        if package is None or not package.supply(needs_of(launch.problem)):
            break
        asked += 1
    launch = replace(launch, sources={**sources, **(package.files if package else {})})
    if check and not launch.finished:
        raise WaitExpired(launch.id, f"it is {launch.state}", wait_s)
    if check and launch.state != "completed":
        raise LaunchFailed(launch)
    return launch


async def _poll_launch(connection: AsyncConnection, request: Request, wait_s: float) -> Launch:
    def following(launch: Launch) -> Request | None:
        return None if launch.finished else _get(launch.id)

    return await connection.poll(request, wait_s, _read_launch, following)


def _read_launches(answer: httpx.Response) -> list[Launch]:
    return read(lambda body: [Launch.from_json(item) for item in body["launches"]], answer)


def _get(launch_id: str) -> Request:
    return Request("GET", _path(launch_id), repeatable=True)


def _path(launch_id: str) -> str:
    return f"{LAUNCHES}/{quote(launch_id, safe='')}"


def _case(case: int) -> Mapping[str, str]:
    return {"case": str(case)} if case else {}
