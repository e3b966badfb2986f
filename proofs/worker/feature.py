"""Proofs as a feature of the worker."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from proofs.proof_kind import PROOF
from proofs.worker.kernel_proof import kernel_proof
from proofs.worker.launch_proof import prove_launch
from proofs.worker.proof_children import proof_children
from proofs.worker.proof_consumer import proof_consumer
from worker.feature import ChildSettings, RunningFeature, WorkerFeature
from worker.worker_context import WorkerContext


@asynccontextmanager
async def _started(
    context: WorkerContext, settings: ChildSettings
) -> AsyncIterator[RunningFeature]:
    children = proof_children(settings)
    try:
        yield RunningFeature(proof_consumer(context, children))
    finally:
        await children.close()


PROOFS = WorkerFeature(
    kinds=(PROOF,), start=_started, prove_launch=prove_launch, prove_kernel=kernel_proof
)
