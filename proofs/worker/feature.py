"""Proofs as a feature of the worker. Without z3 it proves nothing, and offers no proofs."""

import importlib.util
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from proofs.proof_kind import PROOF
from proofs.worker.kernel_proof import kernel_proof
from proofs.worker.launch_proof import prove_launch
from proofs.worker.proof_children import proof_children, proof_digest
from proofs.worker.proof_consumer import proof_consumer
from worker.feature import ChildSettings, RunningFeature, WorkerFeature
from worker.worker_context import WorkerContext

_SOLVER = "z3"
logger = logging.getLogger(__name__)


@asynccontextmanager
async def _started(
    context: WorkerContext, settings: ChildSettings
) -> AsyncIterator[RunningFeature]:
    proves = importlib.util.find_spec(_SOLVER) is not None
    describe = partial(replace, proves=proves)
    if not proves:
        logger.warning(
            "kernels are not proved here: %s has no z3. Install z3-solver and restart the worker",
            settings.toolchain.python,
        )
        yield RunningFeature(None, describe)
        return
    code = proof_digest()
    children = proof_children(settings, code)
    try:
        yield RunningFeature(proof_consumer(context, children, code), describe)
    finally:
        await children.close()


FEATURE = WorkerFeature(
    kinds=(PROOF,), start=_started, prove_launch=prove_launch, prove_kernel=kernel_proof
)
