"""`POST /evaluate` and `/health` at the root, for clients that change only the URL.

Two evaluators have both paths; the fields of a body decide which one it belongs to.
"""

from fastapi import APIRouter, Request

from adapters.evaluators.evaluator_health import EvaluatorHealth, health_of
from adapters.evaluators.flashinfer_bench_routes import FlashInferSubmitted, evaluate_solution
from adapters.evaluators.flashinfer_solution import FlashInferTask
from adapters.evaluators.kernelgym_result import KernelGymResult
from adapters.evaluators.kernelgym_routes import evaluate_task
from adapters.evaluators.kernelgym_task import KernelGymTask
from service.adapter_host import host_of
from service.http.body import parse_json, parse_value, read_body
from service.http.problems import ProblemRaised

router = APIRouter(tags=["evaluators"])
_SCHEMAS = [
    {"$ref": f"#/components/schemas/{model.__name__}"} for model in (KernelGymTask, FlashInferTask)
]


@router.post(
    "/evaluate",
    summary="Evaluate a task of KernelGYM or a solution of flashinfer-bench",
    response_model=KernelGymResult | FlashInferSubmitted,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": {"anyOf": _SCHEMAS}}},
        }
    },
)
async def post_evaluate(request: Request) -> KernelGymResult | FlashInferSubmitted:
    """Answer as KernelGYM for `kernel_code`, or as flashinfer-bench for `solution`."""
    host = host_of(request)
    caller = await host.identify(request, "launch")
    body = await read_body(request, host.max_body_bytes)
    data = parse_json(body)
    fields = data.keys() if isinstance(data, dict) else frozenset()
    if "solution" in fields and "kernel_code" not in fields:
        return await evaluate_solution(request, caller.id, parse_value(data, FlashInferTask))
    if "kernel_code" in fields and "solution" not in fields:
        return await evaluate_task(request, caller.id, parse_value(data, KernelGymTask))
    detail = (
        "The body must have either `kernel_code`, for a task of KernelGYM, or `solution`, for "
        "flashinfer-bench; other programs go to POST /v1/programs"
    )
    raise ProblemRaised("invalid_request", detail)


@router.get("/health", summary="Check that the service can evaluate tasks")
async def get_health(request: Request) -> EvaluatorHealth:
    """Answer the fields that clients of both evaluators read."""
    return await health_of(request)
