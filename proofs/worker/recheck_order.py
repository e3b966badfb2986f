"""The order to re-check a proof, and the record of a proof that a re-check contradicts."""

import json
import logging
from dataclasses import asdict, fields

from launch.proof.proof_messages import ProveOrder
from launch.recheck.recheck_messages import BitsOrder, RecheckedKernel, RecheckOrder
from proofs.proof_job import ProofJob
from proofs.worker.rechecked_report import Contradiction
from worker.launch.kernel_ir import fuses

logger = logging.getLogger(__name__)


def recheck_order(order: ProveOrder, body: bytes, job: ProofJob) -> RecheckOrder:
    """Return the order to run what `order` of a job has proved; `body` has its kernels' TTIR."""
    other, first_bytes = None, len(body)
    if order.other is not None and job.other is not None:
        first_bytes = order.other.first_bytes
        other = RecheckedKernel(
            ttir_bytes=len(body) - first_bytes,
            contract=order.other.contract,
            constants=order.other.constants,
            parameters=order.other.parameters,
            fp_fusion=fuses(job.other.compile_job),
        )
    kernel = RecheckedKernel(
        ttir_bytes=first_bytes,
        contract=order.contract,
        constants=order.constants,
        parameters=order.parameters,
        files=order.files,
        fp_fusion=fuses(job.compile_job),
    )
    return RecheckOrder(
        target=order.target,
        kernel=kernel,
        other=other,
        checks=order.checks,
        most_size=order.most_size,
        most_elements=order.most_elements,
        ir_bounds=order.ir_bounds,
    )


def bits_order(order: RecheckOrder) -> BitsOrder:
    """Return the order to re-check the same by bit-vectors."""
    return BitsOrder(**{item.name: getattr(order, item.name) for item in fields(order)})


def log_contradiction(broken: Contradiction, job: ProofJob, order: ProveOrder) -> None:
    """Log a fault with all that reproduces it: the kernel's key, the contract and the sizes."""
    access = broken.access
    place = None if access is None else [access.file, access.line, access.column, access.argument]
    fault = {
        "compilation_key": job.compile_job.key,
        "other_compilation_key": None if job.other is None else job.other.compile_job.key,
        "contract": order.contract,
        "other_contract": None if order.other is None else order.other.contract,
        "constants": dict(order.constants),
        "limits": job.limits.model_dump(),
        "checks": list(order.checks),
        "check": broken.check,
        "access": place,
        "seen": asdict(broken.seen),
    }
    logger.error(
        "the re-check %s contradicts a proof, so the prover or the re-check is wrong: %s",
        broken.recheck,
        json.dumps(fault),
    )
