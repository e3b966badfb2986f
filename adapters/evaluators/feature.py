"""KernelGYM's and flashinfer-bench's APIs, as a part of the service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from adapters.evaluators import evaluate_routes, flashinfer_bench_routes, kernelgym_routes
from adapters.evaluators.evaluation_tasks import Evaluations
from adapters.evaluators.flashinfer_solution import FlashInferTask
from adapters.evaluators.flashinfer_trace_set import FlashInferSettings, read_trace_set
from adapters.evaluators.kernelgym_task import KernelGymBatch, KernelGymTask
from service.feature import Feature


@asynccontextmanager
async def _with_trace_set(app: FastAPI) -> AsyncIterator[None]:
    app.state.trace_set = read_trace_set(FlashInferSettings().flashinfer_trace)
    yield


def _check_trace_set(_: object) -> None:
    """Raise ValueError if the operator's trace set cannot be read."""
    try:
        read_trace_set(FlashInferSettings().flashinfer_trace)
    except (OSError, ValueError) as error:
        raise ValueError(f"TRITOND_FLASHINFER_TRACE: {error}") from None


def _with_prefix(tasks: APIRouter, prefix: str) -> APIRouter:
    """Accept paths with and without the evaluator's prefix."""
    router = APIRouter()
    router.include_router(tasks, prefix=prefix)
    return router


EVALUATORS = Feature(
    is_adapter=True,
    stores=(Evaluations,),
    tag={
        "name": "evaluators",
        "description": "APIs of KernelGYM and flashinfer-bench, for their clients.",
    },
    routers=(
        *(
            router
            for routes in (kernelgym_routes, flashinfer_bench_routes)
            for router in (
                routes.router,
                *(_with_prefix(routes.tasks, prefix) for prefix in ("", routes.PREFIX)),
            )
        ),
        evaluate_routes.router,
    ),
    bodies=(
        KernelGymTask,
        KernelGymBatch,
        FlashInferTask,
        flashinfer_bench_routes.FlashInferQuery,
    ),
    check=_check_trace_set,
    serving=_with_trace_set,
)
