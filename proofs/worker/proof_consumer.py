"""The consumer of proofs, whatever Triton compiles their kernels."""

from functools import partial

from proofs.proof_kind import PROOF
from proofs.stored_proofs import Proofs
from proofs.worker.do_proof import ProofContext, do_proof
from store.compilations import Derived
from store.events import Events
from worker.consumer import Consumer, Handler
from worker.pool.pool import LazyPool
from worker.worker_context import WorkerContext


def proof_consumer(context: WorkerContext, children: LazyPool, code: str) -> Consumer:
    """Return the consumer, which does as many proofs at once as the worker has slots."""
    compiling = context.compiling
    proving = ProofContext(
        client=context.client,
        compilations=context.compilations,
        blobs=compiling.blobs,
        kept=Derived(compiling.blobs, "proof"),
        events=Events(context.queue.redis),
        proofs=Proofs(context.queue.redis),
        children=children,
        ir_bounds=compiling.ir_bounds,
        code=code,
    )
    return Consumer(
        context.queue,
        f"{context.name}-proofs",
        [PROOF.name],
        [Handler(PROOF, partial(do_proof, context=proving))],
        context.slots,
    )
