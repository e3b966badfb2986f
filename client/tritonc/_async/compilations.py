"""Compilations by key, for asyncio: posting, polling, and fetching derived results."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any
from urllib.parse import quote

import httpx

from tritonc._async.http_connection import AsyncConnection
from tritonc.compilation import Compilation
from tritonc.compile_body import check_source
from tritonc.diagnostic import Problem
from tritonc.diff import Diff
from tritonc.exchange import Request, is_accepted, read
from tritonc.packages.package import Package, needs_of, with_modules
from tritonc.service_errors import WaitExpired

COMPILATIONS = "/v1/compilations"

Side = str | Compilation
"""A side of a comparison: a compilation, or its key."""

_read_compilation = partial(read, Compilation.from_json)


async def compile_and_wait(
    connection: AsyncConnection,
    body: Mapping[str, Any],
    wait_s: float,
    check: bool,
    package: Package | None = None,
) -> Compilation:
    """Post a compilation and poll it until it is finished or `wait_s` is over.

    It is posted again with the modules of the `package` that it asks for. With `check`, raises
    CompileFailed and WaitExpired.
    """
    deadline = monotonic() + wait_s
    while True:
        left_s = max(0.0, deadline - monotonic())
        compilation = await _compile(connection, with_modules(body, package), left_s)
        if package is None or not package.supply(needs_of(compilation.problem)):
            break
    if check and not compilation.finished:
        raise WaitExpired(compilation.key, f"it is {compilation.state}", wait_s)
    return compilation.raise_unless_succeeded() if check else compilation


async def _compile(
    connection: AsyncConnection, body: Mapping[str, Any], wait_s: float
) -> Compilation:
    # a refresh posted twice would compile twice; other requests find the same compilation
    is_refresh = bool(body.get("refresh"))
    post = Request("POST", COMPILATIONS, body, repeatable=not is_refresh)
    include = tuple(body.get("include") or ())
    again = None if is_refresh else post
    return await _poll(connection, post, include, wait_s, again)


async def get_compilation(
    connection: AsyncConnection, key: str, include: tuple[str, ...], wait_s: float
) -> Compilation:
    """Return the current state of a compilation, waiting up to `wait_s` for its end."""
    return await _poll(connection, _get(key, include), include, wait_s, None)


async def derived(
    connection: AsyncConnection,
    key: str,
    what: str,
    wait_s: float,
    query: Mapping[str, str] | None = None,
) -> httpx.Response:
    """Return the answer to a GET of `what`, such as `artifacts/sass`, once it is ready.

    Raises WaitExpired if it is not ready within `wait_s`.
    """
    path = f"{compilation_path(key)}/{what}"
    get = Request(
        "GET", path, query=query or {}, repeatable=True, may_redirect=True, is_for_file=True
    )
    answer = await poll_answer(connection, get, wait_s)
    if is_accepted(answer):
        raise WaitExpired(key, f"{what.rpartition('/')[2]} is not ready", wait_s)
    return answer


async def compared(
    connection: AsyncConnection, a: Side, b: Side, stages: Sequence[str], wait_s: float
) -> Diff:
    """Return the differences between two compilations. Raises WaitExpired."""
    first, second = (each if isinstance(each, str) else each.key for each in (a, b))
    query = {"stages": ",".join(stages)} if stages else {}
    path = f"diff/{quote(second, safe='')}"
    return read(Diff.from_json, await derived(connection, first, path, wait_s, query))


async def poll_answer(
    connection: AsyncConnection, request: Request, wait_s: float
) -> httpx.Response:
    """Repeat `request` while the answer is 202 and `wait_s` is not over."""

    def following(answer: httpx.Response) -> Request | None:
        return request if is_accepted(answer) else None

    return await connection.poll(request, wait_s, lambda answer: answer, following)


def compilation_path(key: str) -> str:
    """Return the URL path of a compilation."""
    return f"{COMPILATIONS}/{quote(key, safe='')}"


async def _poll(
    connection: AsyncConnection,
    request: Request,
    include: tuple[str, ...],
    wait_s: float,
    if_not_found: Request | None,
) -> Compilation:
    """Poll a compilation with GET; if the service lost it, `if_not_found` posts it again."""
    seen: list[Compilation] = []

    def following(compilation: Compilation) -> Request | None:
        seen.append(compilation)
        get = _get(compilation.key, include)
        return None if compilation.finished else replace(get, if_not_found=if_not_found)

    last = await connection.poll(request, wait_s, _read_compilation, following)
    # only the first answer has hit, miss or join; polling is always a hit
    return replace(last, cache=seen[0].cache)


def _get(key: str, include: tuple[str, ...]) -> Request:
    query = {"include": ",".join(include)} if include else {}
    return Request("GET", compilation_path(key), query=query, repeatable=True)


async def inspected(
    connection: AsyncConnection,
    source: str,
    asked: Mapping[str, Any],
    wait_s: float,
    package: Package | None = None,
) -> dict[str, Any]:
    """Return an inspection; `asked` has its further members, None for omitted ones.

    It is posted again with the modules of the `package` that it asks for. Raises WaitExpired.
    """
    members = {name: value for name, value in asked.items() if value is not None}
    members |= {"files": dict(members["files"])} if "files" in members else {}
    deadline = monotonic() + wait_s
    while True:
        left_s = max(0.0, deadline - monotonic())
        inspection = await _inspect(connection, source, with_modules(members, package), left_s)
        needs = needs_of(Problem.of(inspection)) or inspection.get("needs") or ()
        if package is None or not package.supply(needs):
            return inspection


async def _inspect(
    connection: AsyncConnection, source: str, members: Mapping[str, Any], wait_s: float
) -> dict[str, Any]:
    check_source(source)
    post = Request("POST", "/v1/inspect", {"source": source, **members}, repeatable=True)
    answer = await poll_answer(connection, post, wait_s)
    inspection = read(dict[str, Any], answer)
    if is_accepted(answer):
        raise WaitExpired(None, f"the inspection is {inspection.get('state')}", wait_s)
    return inspection
