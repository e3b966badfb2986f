"""Routes of proofs: POST, GET, DELETE and events. A proof belongs to its caller."""

from fastapi import APIRouter
from pydantic import BaseModel

from proofs.proof_record import Proof
from proofs.proof_request import CASES_EXAMPLE, EXAMPLE
from proofs.service.proof_examples import ANSWERS, CANCELLED, UNDER_WAY
from proofs.service.proof_list import LISTED
from proofs.service.proof_submission import PROOFS
from service.http.event_data import FinishedEvent, QueuedEvent, StartedEvent
from service.routes.owned_job_routes import OwnedRoutes, RouteText, add_owned_routes


class KernelCompiledEvent(BaseModel):
    """The kernel is compiled."""

    compilation_key: str


router = APIRouter(prefix="/v1/proofs", tags=["proofs"])
add_owned_routes(
    router,
    PROOFS,
    OwnedRoutes(
        record=Proof,
        requests={"a contract": EXAMPLE, "launches to infer it from": CASES_EXAMPLE},
        over=ANSWERS,
        unfinished=UNDER_WAY,
        cancelled=CANCELLED,
        events={
            "queued": QueuedEvent,
            "started": StartedEvent,
            "compiled": KernelCompiledEvent,
            "finished": FinishedEvent,
        },
        listed=LISTED,
        post=RouteText(
            "Prove a kernel's accesses for all sizes",
            "Answer 200 with a proof that is over, 202 with one that is queued or running.\n\n"
            "A sandboxed process reads the kernel's TTIR. What it calls refuted, the CPU device "
            "has\nconfirmed at the sizes of the witness.",
        ),
        list_description="Answer the proofs that you posted.",
        get=RouteText("A proof, by id", "Answer 200 whatever the state."),
        delete=RouteText("Cancel a proof", "Answer 202, or 200 if it was over."),
        follow=RouteText(
            "queued, started, compiled and finished, as they happen",
            "Stream the events after `Last-Event-ID`, until the proof is over.",
        ),
    ),
)
