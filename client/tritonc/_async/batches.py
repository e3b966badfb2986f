"""Batches, for asyncio: the methods of `AsyncClient.batches`."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from tritonc._async.http_connection import AsyncConnection
from tritonc._async.tensors import upload_missing
from tritonc.batch import Batch
from tritonc.event import Event
from tritonc.exchange import Request, read
from tritonc.launch import Launch
from tritonc.launch_body import LaunchRequest
from tritonc.programs.program import Program
from tritonc.programs.program_body import ProgramRequest
from tritonc.service_errors import WaitExpired

BATCHES = "/v1/batches"
STATES_ONLY = {"results": "none"}  # polls fetch no results; they come once, at the end

_read_batch = partial(read, Batch.from_json)


class AsyncBatches:
    """Up to 1,000 requests posted together; an invalid one becomes a problem of its item.

    A post without an answer is repeated under one idempotency key, so it makes one batch.
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def compile(
        self,
        requests: Sequence[Mapping[str, Any]],
        *,
        wait_s: float = 300,
        check: bool = True,
        idempotency_key: str | None = None,
    ) -> Batch:
        """Compile requests of `compile_request`. Raises WaitExpired unless all end in time.

        With `check=False` an unfinished batch is returned as it is.
        """
        bodies = _listed(requests, "compile_request")
        return await self._post("compilations", bodies, wait_s, check, idempotency_key)

    async def launch(
        self,
        requests: Sequence[LaunchRequest | Mapping[str, Any]],
        *,
        wait_s: float = 300,
        check: bool = True,
        idempotency_key: str | None = None,
    ) -> Batch:
        """Run requests of `launch_request`. Raises WaitExpired unless all end in time.

        With `check=False` an unfinished batch is returned as it is.
        """
        listed = _listed(requests, "launch_request")
        launches = [r if isinstance(r, LaunchRequest) else LaunchRequest(r) for r in listed]
        uploads = {digest: u for launch in launches for digest, u in launch.uploads.items()}
        await upload_missing(self._connection, uploads.values())
        bodies = [launch.body for launch in launches]
        batch = await self._post("launches", bodies, wait_s, check, idempotency_key)
        return _with_sources(batch, [launch.sources for launch in launches])

    async def program(
        self,
        requests: Sequence[ProgramRequest | Mapping[str, Any]],
        *,
        wait_s: float = 300,
        check: bool = True,
        idempotency_key: str | None = None,
    ) -> Batch:
        """Run requests of `program_request`. Raises WaitExpired unless all end in time.

        With `check=False` an unfinished batch is returned as it is.
        """
        listed = _listed(requests, "program_request")
        programs = [r if isinstance(r, ProgramRequest) else ProgramRequest(r) for r in listed]
        bodies = [program.body for program in programs]
        batch = await self._post("programs", bodies, wait_s, check, idempotency_key)
        return _with_sources(batch, [program.sources for program in programs])

    async def submit(
        self,
        requests: Sequence[LaunchRequest | ProgramRequest | Mapping[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> Batch:
        """Post requests without waiting for their end, and return the batch's current state.

        All come from `compile_request`, or all from `launch_request`, or from `program_request`.
        Ask again with `get(batch.id, wait_s=60)`. Raises TypeError if they are of several kinds.
        """
        posts: dict[type, Any] = {LaunchRequest: self.launch, ProgramRequest: self.program}
        requests = _listed(requests, "compile_request")
        kinds = {type(r) if type(r) in posts else Mapping for r in requests}
        if len(kinds) > 1:
            raise TypeError("a batch has requests of one kind; post others in another batch")
        post = posts.get(kinds.pop() if kinds else Mapping, self.compile)
        batch: Batch = await post(requests, wait_s=0, check=False, idempotency_key=idempotency_key)
        return batch

    async def get(self, batch_id: str, *, wait_s: float = 0) -> Batch:
        """Return the current state of a batch, waiting up to `wait_s` for its end."""
        whole = Request("GET", _path(batch_id), repeatable=True)
        if wait_s > 0:
            states = replace(whole, query=STATES_ONLY)

            def following(batch: Batch) -> Request | None:
                return None if batch.finished else states

            await self._connection.poll(states, wait_s, _read_batch, following)
        return _read_batch(await self._connection.send(whole))

    async def cancel(self, batch_id: str) -> Batch:
        """Cancel the unfinished items of a batch."""
        return _read_batch(await self._connection.send(Request("DELETE", _path(batch_id))))

    def events(self, batch_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield an event for each item that ends, as `launches.events` does for a launch."""
        return self._connection.events(f"{_path(batch_id)}/events", after)

    async def _post(
        self,
        kind: str,
        requests: list[Mapping[str, Any]],
        wait_s: float,
        check: bool,
        idempotency_key: str | None,
    ) -> Batch:
        body = {"kind": kind, "requests": requests}
        post = Request.making(BATCHES, body, idempotency_key, **STATES_ONLY)
        posted = _read_batch(await self._connection.send(post))
        batch = await self.get(posted.id, wait_s=0 if posted.finished else wait_s)
        if check and not batch.finished:
            finished = sum(item.finished for item in batch.items)
            state = f"{finished} of {len(batch.items)} items are finished"
            raise WaitExpired(batch.id, state, wait_s)
        return batch


def _path(batch_id: str) -> str:
    return f"{BATCHES}/{quote(batch_id, safe='')}"


def _listed(requests: Any, function: str) -> list[Any]:
    """Return `requests` as a list. Raises TypeError for a text, or for one request without a list.

    `function` makes a request of a text.
    """
    alone = (str, Mapping, LaunchRequest, ProgramRequest)
    if isinstance(requests, alone) or any(isinstance(item, str) for item in requests):
        raise TypeError(f"a batch is a list of requests: [{function}(text, ...), ...]")
    return list(requests)


def _with_sources(batch: Batch, sources: Sequence[Mapping[str, str]]) -> Batch:
    """Return the batch with posted texts attached to its launches and programs, for excerpts."""
    texts = dict(enumerate(sources))
    items = [
        replace(item, result=replace(item.result, sources=texts.get(item.index, {})))
        if isinstance(item.result, Launch | Program)
        else item
        for item in batch.items
    ]
    return replace(batch, items=tuple(items))
