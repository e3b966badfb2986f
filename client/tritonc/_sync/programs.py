# Generated from tritonc/_async/programs.py by `make client`; change that file instead.
"""Programs by id: what `Client.programs` offers, and how one is posted."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from tritonc._sync.compilations import poll_answer
from tritonc._sync.http_connection import Connection
from tritonc.event import Event
from tritonc.exchange import Request, is_accepted, read
from tritonc.programs.program import Program, ProgramFailed
from tritonc.programs.program_body import ProgramRequest
from tritonc.service_errors import WaitExpired

PROGRAMS = "/v1/programs"

_read_program = partial(read, Program.from_json)


class Programs:
    """The caller's programs; those of others answer 404, as ones that are not there do."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, program_id: str, *, wait_s: float = 0) -> Program:
        """Return a program in its present state, or once it is over within `wait_s`."""
        return _poll_program(self._connection, _get(program_id), wait_s)

    def cancel(self, program_id: str) -> Program:
        """End a program that is not over."""
        return _read_program(self._connection.send(Request("DELETE", _path(program_id))))

    def events(self, program_id: str, *, after: str | None = None) -> Iterator[Event]:
        """Yield what happens to a program until it is over, as `launches.events` does."""
        return self._connection.events(f"{_path(program_id)}/events", after)

    def tape(self, program_id: str, *, of_reference: bool = False) -> dict[str, Any]:
        """Return what was recorded of a program, or of its reference: its ops and launches.

        Raises ProblemError with the slug `not_finished` while it is not recorded yet, `not_found`
        where it could not be.
        """
        request = _tape(program_id, "application/json", of_reference=of_reference)
        return read(dict[str, Any], self._connection.send(request))

    def tape_text(self, program_id: str, *, of_reference: bool = False) -> str:
        """Return the tape as people read it. Raises ProblemError as `tape` does."""
        request = _tape(program_id, "text/plain", of_reference=of_reference)
        return (self._connection.send(request)).text

    def bundle(self, program_id: str, *, wait_s: float = 60) -> bytes:
        """Return a tar of what a program launches, for Triton's cache: its `install.py` fills it.

        Of a program with `stop_after="kernels"` it is for the `target` that it names. Raises
        ProblemError with the slug `not_derivable` where nothing can be bundled, and WaitExpired.
        """
        request = Request("GET", f"{_path(program_id)}/bundle", repeatable=True)
        answer = poll_answer(self._connection, request, wait_s)
        if is_accepted(answer):
            raise WaitExpired(program_id, "its bundle is not made yet", wait_s)
        return answer.content


def program_and_wait(
    connection: Connection,
    request: ProgramRequest,
    wait_s: float,
    check: bool,
    idempotency_key: str | None,
) -> Program:
    """Post the program, poll it until it is over or `wait_s` is.

    A post without an answer is repeated under one idempotency key, so it never runs twice. Raises
    WaitExpired, or ProgramFailed when there is no verdict, if `check`.
    """
    headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
    post = Request("POST", PROGRAMS, request.body, headers=headers, repeatable=True)
    program = _poll_program(connection, post, wait_s)
    program = replace(program, sources=request.sources)
    if check and not program.finished:
        raise WaitExpired(program.id, f"it is {program.state}", wait_s)
    if check and program.state != "completed":
        raise ProgramFailed(program)
    return program


def _poll_program(connection: Connection, request: Request, wait_s: float) -> Program:
    def following(program: Program) -> Request | None:
        return None if program.finished else _get(program.id)

    return connection.poll(request, wait_s, _read_program, following)


def _tape(program_id: str, media_type: str, *, of_reference: bool) -> Request:
    query = {"program": "reference"} if of_reference else {}
    headers = {"Accept": media_type}
    path = f"{_path(program_id)}/tape"
    return Request("GET", path, query=query, headers=headers, repeatable=True)


def _get(program_id: str) -> Request:
    return Request("GET", _path(program_id), repeatable=True)


def _path(program_id: str) -> str:
    return f"{PROGRAMS}/{quote(program_id, safe='')}"
