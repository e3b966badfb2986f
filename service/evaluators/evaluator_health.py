"""Whether programs are evaluated here now, in the shapes in which evaluators' clients ask it."""

from typing import Literal

from fastapi import Request
from pydantic import BaseModel, Field

from service.state import state_of
from store.jobs.types import programs_lane


class EvaluatorWorker(BaseModel):
    """A kind of worker that evaluates programs."""

    device: str
    healthy: bool


class EvaluatorHealth(BaseModel):
    """The answer of `/health`: KernelGYM's clients read `status`, flashinfer-bench's the rest."""

    status: Literal["healthy", "unhealthy", "ok"] = Field(
        description="healthy, unhealthy: where KernelGYM is asked; ok: where flashinfer-bench is"
    )
    workers: list[EvaluatorWorker] = Field(description="empty: no worker evaluates programs")
    queue_size: int


async def health_of(request: Request) -> EvaluatorHealth:
    """Return how the evaluation of programs is, in KernelGYM's words."""
    state = state_of(request)
    await state.callers.identify(request, "launch")
    toolchains = sorted(await state.workers.known_programs())
    queued = [await state.jobs.queued(programs_lane(toolchain)) for toolchain in toolchains]
    return EvaluatorHealth(
        status="healthy" if toolchains else "unhealthy",
        workers=[EvaluatorWorker(device=f"cpu {name}", healthy=True) for name in toolchains],
        queue_size=sum(queued),
    )
