"""Proofs by id, for asyncio: the methods of `AsyncClient.proofs`, and posting one."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any
from urllib.parse import quote

from tritonc._async.http_connection import AsyncConnection
from tritonc.diagnostic import POSTED_SOURCE
from tritonc.event import Event
from tritonc.exchange import Request, key_of_round, read
from tritonc.packages.package import Package, needs_of, with_modules
from tritonc.proof import Proof, ProofFailed
from tritonc.service_errors import WaitExpired

PROOFS = "/v1/proofs"

_read_proof = partial(read, Proof.from_json)


class AsyncProofs:
    """The caller's proofs; those of other callers answer 404, like unknown ids."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, proof_id: str, *, wait_s: float = 0) -> Proof:
        """Return the current state of a proof, waiting up to `wait_s` for its end."""
        return await _poll_proof(self._connection, _get(proof_id), wait_s)

    async def cancel(self, proof_id: str) -> Proof:
        """Cancel an unfinished proof."""
        return _read_proof(await self._connection.send(Request("DELETE", _path(proof_id))))

    def events(self, proof_id: str, *, after: str | None = None) -> AsyncIterator[Event]:
        """Yield the events of a proof until it is over, as `launches.events` does."""
        return self._connection.events(f"{_path(proof_id)}/events", after)


async def prove_and_wait(
    connection: AsyncConnection,
    body: Mapping[str, Any],
    wait_s: float,
    check: bool,
    idempotency_key: str | None,
    package: Package | None = None,
) -> Proof:
    """Post the proof and poll it until it or `wait_s` is over.

    It is posted again with the modules of the `package` that it asks for.

    With `check`, raises WaitExpired, or ProofFailed if it found nothing out.
    """
    deadline, asked = monotonic() + wait_s, 0
    while True:
        body = with_modules(body, package)
        post = Request.making(PROOFS, dict(body), key_of_round(idempotency_key, asked))
        proof = await _poll_proof(connection, post, max(0.0, deadline - monotonic()))
        if package is None or not package.supply(needs_of(proof.problem)):
            break
        asked += 1
    sources = {POSTED_SOURCE: body.get("source") or "", **(body.get("files") or {})}
    proof = replace(proof, sources=sources)
    if check and not proof.finished:
        raise WaitExpired(proof.id, f"it is {proof.state}", wait_s)
    if check and proof.state != "completed":
        raise ProofFailed(proof)
    return proof


async def _poll_proof(connection: AsyncConnection, request: Request, wait_s: float) -> Proof:
    def following(proof: Proof) -> Request | None:
        return None if proof.finished else _get(proof.id)

    return await connection.poll(request, wait_s, _read_proof, following)


def _get(proof_id: str) -> Request:
    return Request("GET", _path(proof_id), repeatable=True)


def _path(proof_id: str) -> str:
    return f"{PROOFS}/{quote(proof_id, safe='')}"
