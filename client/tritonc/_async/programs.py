"""Programs by id, for asyncio: the methods of `AsyncClient.programs`, and posting one."""

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from tritonc._async.compilations import poll_answer
from tritonc._async.http_connection import AsyncConnection
from tritonc.event import Event
from tritonc.exchange import Request, is_accepted, read
from tritonc.programs.program import Program, ProgramFailed
from tritonc.programs.program_body import ProgramRequest
from tritonc.service_errors import WaitExpired

PROGRAMS = "/v1/programs"

_read_program = partial(read, Program.from_json)


class AsyncPrograms:
    """The caller's programs; those of other callers answer 404, like unknown ids."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, program_id: str, *, wait_s: float = 0) -> Program:
        """Return the current state of a program, waiting up to `wait_s` for its end."""
        return await _poll_program(self._connection, _get(program_id), wait_s)

    async def cancel(self, program_id: str) -> Program:
        """Cancel an unfinished program."""
        return _read_program(await self._connection.send(Request("DELETE", _path(program_id))))

    def events(self, program_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield the events of a program until it is over, as `launches.events` does."""
        return self._connection.events(f"{_path(program_id)}/events", after)

    async def tape(self, program_id: str, *, of_reference: bool = False) -> dict[str, Any]:
        """Return the recording of a program, or of its reference: its ops and launches.

        Raises ProblemError with the slug `not_finished` before it is recorded, and `not_found` if
        it could not be recorded.
        """
        request = _tape(program_id, "application/json", of_reference=of_reference)
        return read(dict[str, Any], await self._connection.send(request))

    async def tape_text(self, program_id: str, *, of_reference: bool = False) -> str:
        """Return the tape as readable text. Raises ProblemError as `tape` does."""
        request = _tape(program_id, "text/plain", of_reference=of_reference)
        return (await self._connection.send(request)).text

    async def receipt(self, program_id: str) -> bytes:
        """Return the signed receipt of a judged program, for `examples/rejudge.py`.

        Raises ProblemError with the slug `not_finished` before the end, and `not_found` if it was
        not judged or the service signs no receipts.
        """
        request = Request("GET", f"{_path(program_id)}/receipt", repeatable=True, is_for_file=True)
        return (await self._connection.send(request)).content

    async def bundle(self, program_id: str, *, wait_s: float = 60) -> bytes:
        """Return a tar with a program's kernels; its `install.py` fills Triton's cache.

        For a program with `stop_after="kernels"` they are for its `target`. Raises ProblemError
        with the slug `not_derivable` if there is nothing to bundle, and WaitExpired.
        """
        request = Request("GET", f"{_path(program_id)}/bundle", repeatable=True, is_for_file=True)
        answer = await poll_answer(self._connection, request, wait_s)
        if is_accepted(answer):
            raise WaitExpired(program_id, "its bundle is not ready", wait_s)
        return answer.content


async def program_and_wait(
    connection: AsyncConnection,
    request: ProgramRequest,
    wait_s: float,
    check: bool,
    idempotency_key: str | None,
) -> Program:
    """Post the program and poll it until it or `wait_s` is over.

    A post without an answer is repeated under one idempotency key, so it never runs twice. With
    `check`, raises WaitExpired, or ProgramFailed if there is no verdict.
    """
    post = Request.making(PROGRAMS, request.body, idempotency_key)
    program = await _poll_program(connection, post, wait_s)
    program = replace(program, sources=request.sources)
    if check and not program.finished:
        raise WaitExpired(program.id, f"it is {program.state}", wait_s)
    if check and program.state != "completed":
        raise ProgramFailed(program)
    return program


async def _poll_program(connection: AsyncConnection, request: Request, wait_s: float) -> Program:
    def following(program: Program) -> Request | None:
        return None if program.finished else _get(program.id)

    return await connection.poll(request, wait_s, _read_program, following)


def _tape(program_id: str, media_type: str, *, of_reference: bool) -> Request:
    query = {"program": "reference"} if of_reference else {}
    headers = {"Accept": media_type}
    path = f"{_path(program_id)}/tape"
    return Request("GET", path, query=query, headers=headers, repeatable=True)


def _get(program_id: str) -> Request:
    return Request("GET", _path(program_id), repeatable=True)


def _path(program_id: str) -> str:
    return f"{PROGRAMS}/{quote(program_id, safe='')}"
