"""Answers whether the service evaluates programs now, in the forms of evaluators' clients."""

from typing import Literal

from fastapi import Request
from pydantic import BaseModel, Field

from service.adapter_host import host_of


class EvaluatorWorker(BaseModel):
    """A kind of worker that evaluates programs."""

    device: str = Field(description="`cpu` and a toolchain, or a class of GPUs")
    healthy: bool


class EvaluatorHealth(BaseModel):
    """The answer of `/health`: KernelGYM's clients read `status`, flashinfer-bench's the rest."""

    status: Literal["healthy", "unhealthy", "ok"] = Field(
        description="healthy, unhealthy: for KernelGYM; ok: for flashinfer-bench"
    )
    workers: list[EvaluatorWorker] = Field(description="empty: no worker evaluates programs")
    queue_size: int


async def health_of(request: Request) -> EvaluatorHealth:
    """Return whether programs can be evaluated, in KernelGYM's terms."""
    host = host_of(request)
    await host.identify(request, "launch")
    runners = await host.program_runners()
    devices = dict.fromkeys(
        runner.device_class or f"cpu {runner.toolchain_id}" for runner in runners
    )
    queued = [await host.queued_programs(runner) for runner in runners]
    return EvaluatorHealth(
        status="healthy" if runners else "unhealthy",
        workers=[EvaluatorWorker(device=device, healthy=True) for device in devices],
        queue_size=sum(queued),
    )
