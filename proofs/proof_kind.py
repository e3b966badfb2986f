"""Proofs as a kind of job."""

from typing import Final

from compiler.problem import failure_problem
from jobs.kind import JobKind, Unhandled
from proofs.proof_job import ProofJob, new_proof
from proofs.proof_record import Proof, proof_url
from proofs.proof_request import ProofRequest


def _proof(unhandled: Unhandled[ProofJob]) -> Proof:
    if unhandled.job is not None:
        position = unhandled.queue_position
        return new_proof(
            unhandled.job, unhandled.state, queue_position=position, problem=unhandled.problem
        )
    return Proof(
        id=unhandled.id,
        url=proof_url(unhandled.id),
        state=unhandled.state,
        problem=unhandled.problem,
    )


PROOF: Final = JobKind(
    name="proofs",
    noun="proof",
    request=ProofRequest,
    job=ProofJob,
    record=_proof,
    id_of=lambda job: job.id,
    is_owned=True,
    cancelled="Its caller cancelled the proof.",
    overdue=failure_problem(
        "deadline_exceeded", "No worker took this proof within its deadline_s."
    ),
    exhausted_detail="Three workers in a row died or gave up on this proof. Post it again.",
)
