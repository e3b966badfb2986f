"""A proof job: a kernel, its contract and limits, as service and worker exchange it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from compiler.job import CompileJob
from compiler.problem import Problem
from compiler.request.compile_request import Name
from launch.contract.text import MAX_CHARACTERS
from launch.request.launch_request import MAX_DEADLINE_S
from proofs.proof_record import Proof, proof_url
from proofs.proof_request import ProofCheck, ProofLimits


class OtherKernelJob(BaseModel):
    """The kernel that the first is compared with."""

    model_config = ConfigDict(frozen=True)

    compile_job: CompileJob
    contract: Annotated[str, Field(max_length=MAX_CHARACTERS)]


class ProofJob(BaseModel):
    """Everything that a proof depends on."""

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = 1
    """The version of these fields."""
    id: Annotated[str, Field(max_length=64)]
    caller: Name
    compile_job: CompileJob
    contract: Annotated[str, Field(max_length=MAX_CHARACTERS)]
    is_inferred: bool
    checks: list[ProofCheck]
    limits: ProofLimits
    launch: dict[str, Any] = {}
    """The start of a witness, for workers of earlier versions. Later ones do not read it."""
    other: OtherKernelJob | None = None
    priority: Literal["interactive", "batch"]
    deadline_s: Annotated[float, Field(gt=0, le=MAX_DEADLINE_S)]


def new_proof(job: ProofJob, state: Any, **members: Any) -> Proof:
    """Return the record of `job` in `state`."""
    return Proof(
        id=job.id,
        url=proof_url(job.id),
        state=state,
        contract=job.contract,
        is_inferred=job.is_inferred,
        compilation_key=job.compile_job.key,
        target=job.compile_job.target_name,
        **{"kernel": job.compile_job.kernel, **members},
    )


def failed_proof(job: ProofJob, problem: Problem) -> Proof:
    """Return the record of a proof that found nothing out, and why."""
    return new_proof(job, "failed", problem=problem)
