"""Routes of proofs: POST, GET, DELETE and events. A proof belongs to its caller."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from proofs.proof_record import Proof
from proofs.proof_request import CASES_EXAMPLE, EXAMPLE, ProofRequest
from proofs.service.proof_examples import ANSWERS, CANCELLED, UNDER_WAY
from proofs.service.proof_list import LISTED
from proofs.service.proof_submission import PROOFS
from service.http.event_data import FinishedEvent, QueuedEvent, StartedEvent
from service.http.openapi import answer_of, body_of, events_of, wait_parameter
from service.idempotency import HEADER
from service.lists.own_list import list_route
from service.routes.events import RESUMED
from service.routes.owned_job_routes import delete_owned, get_owned, post_owned, stream_owned


class KernelCompiledEvent(BaseModel):
    """The kernel is compiled."""

    compilation_key: str


EXAMPLES = {"a contract": EXAMPLE, "launches to infer it from": CASES_EXAMPLE}

router = APIRouter(prefix="/v1/proofs", tags=["proofs"])


@router.post(
    "",
    summary="Prove a kernel's accesses for all sizes",
    responses=answer_of(Proof, ANSWERS) | answer_of(Proof, UNDER_WAY, status=202),
    openapi_extra={
        "requestBody": body_of(ProofRequest, EXAMPLES),
        "parameters": [
            wait_parameter(),
            HEADER,
        ],
    },
)
async def post_proof(request: Request) -> Response:
    """Answer 200 with a proof that is over, 202 with one that is queued or running.

    A sandboxed process reads the kernel's TTIR. What it calls refuted, the CPU device has
    confirmed at the sizes of the witness.
    """
    return await post_owned(request, PROOFS)


list_route(router, LISTED, (PROOFS.scope,), "Answer the proofs that you posted.")


@router.get(
    "/{proof_id}",
    summary="A proof, by id",
    responses=answer_of(Proof, ANSWERS | UNDER_WAY),
    openapi_extra={"parameters": [wait_parameter()]},
)
async def get_proof(request: Request, proof_id: str) -> Response:
    """Answer 200 whatever the state."""
    return await get_owned(request, PROOFS, proof_id)


@router.delete(
    "/{proof_id}",
    summary="Cancel a proof",
    responses=answer_of(Proof, ANSWERS) | answer_of(Proof, CANCELLED, status=202),
)
async def delete_proof(request: Request, proof_id: str) -> Response:
    """Answer 202, or 200 if it was over."""
    return await delete_owned(request, PROOFS, proof_id)


@router.get(
    "/{proof_id}/events",
    summary="queued, started, compiled and finished, as they happen",
    response_class=Response,
    responses=events_of(
        "ProofEvent",
        queued=QueuedEvent,
        started=StartedEvent,
        compiled=KernelCompiledEvent,
        finished=FinishedEvent,
    ),
    openapi_extra=RESUMED,
)
async def get_proof_events(request: Request, proof_id: str) -> StreamingResponse:
    """Stream the events after `Last-Event-ID`, until the proof is over."""
    return await stream_owned(request, PROOFS, proof_id)
