"""The job that proves a kernel with a contract, for jobs that need one."""

from compiler.compilation import amended
from compiler.job import CompileJob
from compiler.request.resolution import specialized_job
from compiler.specialization import Specialization, SpecializedParameter
from jobs.submission import JobOrder
from launch.request.bound_arguments import Buffer, Scalar
from launch.request.launch_job import LaunchJob
from proofs.proof_job import ProofJob
from proofs.proof_kind import PROOF
from proofs.proof_request import CHECKS, DEADLINE_S, ProofLimits
from store.jobs.types import Priority
from worker.worker_context import WantedProof

_TTIR = "ttir"


def kernel_proof(
    kernel: CompileJob | LaunchJob, contract: str, caller: str, *, is_inferred: bool = False
) -> WantedProof:
    """Return what proves a kernel, with the types of a launch's first case."""
    if isinstance(kernel, LaunchJob):
        compiled = launched_kernel(kernel)
        priority, deadline_s = Priority(kernel.priority), kernel.deadline_s
    else:
        compiled, priority, deadline_s = kernel, Priority.BATCH, DEADLINE_S

    def order(proof_id: str) -> JobOrder[ProofJob]:
        job = ProofJob(
            id=proof_id,
            caller=caller,
            compile_job=compiled,
            contract=contract,
            is_inferred=is_inferred,
            checks=list(CHECKS),
            limits=ProofLimits(),
            launch={"compilation_key": compiled.key},
            priority=priority.value,
            deadline_s=deadline_s,
        )
        return JobOrder(PROOF, job, caller, priority)

    return WantedProof(compiled, order)


def launched_kernel(job: LaunchJob) -> CompileJob:
    """Return the kernel's job, up to TTIR, with the types of the first case's arguments."""
    compiled = amended(job.compile_job, stop_after=_TTIR)
    known = compiled.specialization
    named = dict(known.named)
    if job.infers:
        for name, argument in job.cases[0].bound.arguments.items():
            if name not in named and isinstance(argument, Buffer | Scalar):
                mark = "*" if isinstance(argument, Buffer) else ""
                named[name] = SpecializedParameter(type=f"{mark}{argument.dtype}")
    return specialized_job(compiled, Specialization(named, known.positional))
