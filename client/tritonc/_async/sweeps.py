"""Sweeps, for asyncio: the methods of `AsyncClient.sweeps`, and posting one."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from urllib.parse import quote

from tritonc._async.compilations import poll_answer
from tritonc._async.http_connection import AsyncConnection
from tritonc._async.tensors import upload_missing
from tritonc.event import Event
from tritonc.exchange import Request, is_accepted, key_of_round, read
from tritonc.packages.package import needs_of, with_modules
from tritonc.service_errors import ProblemError, WaitExpired
from tritonc.sweeps.sweep import Sweep
from tritonc.sweeps.sweep_body import SweepRequest

SWEEPS = "/v1/sweeps"
NO_ROWS = {"limit": "0"}  # polls fetch no rows; they come once, at the end

_read_sweep = partial(read, Sweep.from_json)


class AsyncSweeps:
    """The caller's sweeps; those of other callers answer 404, like unknown ids."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(
        self,
        sweep_id: str,
        *,
        wait_s: float = 0,
        sort: str = "",
        limit: int | None = None,
        offset: int = 0,
        only: Mapping[str, str] | None = None,
    ) -> Sweep:
        """Return the current state of a sweep, waiting up to `wait_s` for its end.

        `sort` names columns, with `-` for the largest first (`"registers,-occupancy"`), and `only`
        filters rows: `{"state": "failed"}`, `{"constexprs.BLOCK_SIZE": "64"}`.
        """
        query = {**(only or {})} | ({"sort": sort} if sort else {})
        query |= {"limit": str(limit)} if limit is not None else {}
        query |= {"offset": str(offset)} if offset else {}
        rows = Request("GET", _path(sweep_id), query=query, repeatable=True)
        if wait_s > 0:
            without = replace(rows, query=NO_ROWS)

            def following(sweep: Sweep) -> Request | None:
                return None if sweep.finished else without

            await self._connection.poll(without, wait_s, _read_sweep, following)
        sweep = _read_sweep(await self._connection.send(rows))
        while sweep.next_offset is not None:  # the bytes of one answer are bounded
            left = {} if limit is None else {"limit": str(limit - len(sweep.rows))}
            further = replace(rows, query=query | left | {"offset": str(sweep.next_offset)})
            more = _read_sweep(await self._connection.send(further))
            if not more.rows:
                break
            sweep = replace(sweep, rows=sweep.rows + more.rows, next_offset=more.next_offset)
        return sweep

    async def csv(
        self, sweep_id: str, *, sort: str = "", only: Mapping[str, str] | None = None
    ) -> str:
        """Return the table as CSV; spreadsheets interpret no cell as a formula."""
        query = {**(only or {}), "format": "csv"} | ({"sort": sort} if sort else {})
        request = Request("GET", _path(sweep_id), query=query, repeatable=True, is_for_file=True)
        return (await self._connection.send(request)).text

    async def winners(
        self, sweep_id: str, kind: str = "json", *, of: str = "", wait_s: float = 60
    ) -> bytes:
        """Return the winners as `json`, `triton-config`, `autotune-cache` or `bundle`.

        `of="all"` puts every variant that compiled into a bundle. Raises ProblemError with the slug
        `no_winner` if there is none, and WaitExpired if the files are not ready in time.
        """
        path = f"{_path(sweep_id)}/winners/{quote(kind, safe='')}"
        request = Request(
            "GET", path, query={"of": of} if of else {}, repeatable=True, is_for_file=True
        )
        answer = await poll_answer(self._connection, request, wait_s)
        if is_accepted(answer):
            raise WaitExpired(sweep_id, f"{kind} of the winners is not ready", wait_s)
        return answer.content

    async def cancel(self, sweep_id: str) -> Sweep:
        """Cancel the unfinished rows of a sweep; finished rows stay."""
        return _read_sweep(await self._connection.send(Request("DELETE", _path(sweep_id))))

    def events(self, sweep_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield a `row` event for each finished row, as `launches.events` does for a launch."""
        return self._connection.events(f"{_path(sweep_id)}/events", after)


async def sweep_and_wait(
    connection: AsyncConnection,
    request: SweepRequest,
    sort: str,
    wait_s: float,
    check: bool,
    idempotency_key: str | None,
) -> Sweep:
    """Upload missing tensors, post the sweep, and poll it until it or `wait_s` is over.

    A post without an answer is repeated under one idempotency key, so it makes one sweep. It is
    posted again with the modules of the request's package that its rows ask for, under further
    keys. With `check`, raises WaitExpired.
    """
    await upload_missing(connection, request.uploads.values())
    deadline, asked, package = monotonic() + wait_s, 0, request.package
    while True:
        key = key_of_round(idempotency_key, asked)
        left_s = max(0.0, deadline - monotonic())
        try:
            sweep = await _sweep(connection, request, sort, left_s, key)
            needs = sweep.needs
        except ProblemError as error:  # the modules of its autotuner are needed to plan it
            needs = needs_of(error.problem)
            if package is None or not package.supply(needs):
                raise
        else:
            if package is None or not package.supply(needs):
                break
        asked += 1
    if check and not sweep.finished:
        raise WaitExpired(sweep.id, f"{sweep.over} of {sweep.total} rows are done", wait_s)
    return sweep


async def _sweep(
    connection: AsyncConnection, request: SweepRequest, sort: str, wait_s: float, key: str | None
) -> Sweep:
    query = {"sort": sort} if sort else {}  # an unknown column is refused before the sweep starts
    post = Request.making(SWEEPS, with_modules(request.body, request.package), key, **query)
    posted = _read_sweep(await connection.send(post))
    if posted.finished or wait_s <= 0:
        return posted
    return await AsyncSweeps(connection).get(posted.id, wait_s=wait_s, sort=sort)


def _path(sweep_id: str) -> str:
    return f"{SWEEPS}/{quote(sweep_id, safe='')}"
