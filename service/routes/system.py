"""The deployment: targets, devices, workers, queues, health and metrics."""

import asyncio
from collections import Counter
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from compiler.stages import pipeline
from jobs.features import SHARED_LANES
from service import VERSION
from service.http.openapi import bytes_as
from service.http.problems import ProblemRaised
from service.launches.launch_device import WITHOUT_TOOLS
from service.state import ServiceState, state_of
from store.connection import probe
from store.errors import StoreUnavailable
from store.jobs.types import LaneLoad, lanes_of, lanes_of_all

WITHIN_S = 3.0
router = APIRouter(tags=["system"])


@router.get("/v1/targets", summary="List targets and options of each toolchain")
async def get_targets(request: Request) -> dict[str, Any]:
    """Answer every toolchain with its targets, and options with types, defaults and ranges."""
    state = state_of(request)
    await state.callers.identify(request, "compile")
    default = await state.toolchains.default()
    references = await state.workers.known_references()
    programs = await state.workers.known_programs()
    toolchains = [
        {
            **toolchain.model_dump(mode="json", exclude={"language"}),
            "references": references.get(toolchain.id, []),
            "programs": toolchain.id in programs,
            "default": default is not None and toolchain.id == default.id,
            "stages": {backend: pipeline(backend) for backend in toolchain.options},
        }
        for toolchain in await state.toolchains.all()
    ]
    return {"targets": default.targets if default else [], "toolchains": toolchains}


@router.get("/v1/language", summary="List the names of triton.language, with signatures")
async def get_language(request: Request, triton: str | None = None) -> dict[str, Any]:
    """Answer the names after `tl.` in one version of Triton; by default the deployment's.

    A worker reports them, so the answer is empty until the first worker has registered.
    """
    state = state_of(request)
    await state.callers.identify(request, "compile")
    toolchain = await state.toolchains.choose(triton)
    return {
        "triton": toolchain.triton,
        "names": [asdict(name) for name in toolchain.language],
    }


@router.get("/v1/devices", summary="List classes of GPUs")
async def get_devices(request: Request) -> dict[str, Any]:
    """Answer each class with the number of its GPUs now, and its peak performance."""
    state = state_of(request)
    await state.callers.identify(request, "compile", "launch")
    workers = [worker for worker in await state.workers.list() if worker.device]
    counts = Counter(str(worker.device) for worker in workers)
    ceilings = {worker.device: worker.ceilings for worker in workers if worker.ceilings}
    references = await state.workers.known_references()
    devices = [name.partition(" ") for name in counts]
    tools = {name: await state.workers.known_tools(name) for name in counts}
    programs = {worker.device for worker in workers if worker.programs}
    return {
        "devices": [
            {
                "target": target,
                "model": model,
                "count": counts[f"{target} {model}"],
                "references": references.get(f"{target} {model}", []),
                "programs": f"{target} {model}" in programs,
                "checks": [*WITHOUT_TOOLS, *sorted(tools[f"{target} {model}"] - {"profile"})],
                "profile": "profile" in tools[f"{target} {model}"],
                "ceilings": ceilings.get(f"{target} {model}"),
            }
            for target, _, model in devices
        ]
    }


@router.get("/v1/workers", summary="List live workers")
async def get_workers(request: Request) -> dict[str, Any]:
    """Answer each worker with its toolchain, device, sandbox level and load."""
    state = state_of(request)
    await state.callers.identify(request, "admin")
    return {"workers": [asdict(worker) for worker in await state.workers.list()]}


@router.get("/v1/system", summary="Get versions, queues and workers")
async def get_system(request: Request) -> dict[str, Any]:
    """Answer versions, queue lengths, worker counts and results of sandbox self-tests.

    `blobs` is the state of the bucket of large blobs in this process: the scheme of its URL, its
    circuit ("open" while requests pause, since the last ones failed, else "closed"), and how many
    requests failed. It is null without `TRITOND_BLOBS_URL`. `queues` is null for a key without the
    scope `admin`: lanes hold jobs of all namespaces. `receipt_key` is the public half of the key
    that signs receipts of programs, null without one.
    """
    state = state_of(request)
    caller = await state.callers.identify(request, "compile")
    default = await state.toolchains.default()
    workers = await state.workers.list()
    return {
        "version": VERSION,
        "default_toolchain": default.id if default else None,
        "store": {"reachable": True, "separate_cache": state.settings.cache_url is not None},
        "blobs": state.blobs.bucket.state() if state.blobs.bucket else None,
        "receipt_key": state.receipt_key.described() if state.receipt_key else None,
        "queues": {lane: load.queued for lane, load in (await _loads(state)).items()}
        if "admin" in caller.scopes
        else None,
        "workers": {
            kind: sum(worker.kind == kind for worker in workers) for kind in ("compile", "launch")
        },
        "sandbox": {worker.id: worker.sandbox_report for worker in workers},
    }


async def _loads(state: ServiceState) -> dict[str, LaneLoad]:
    """Return what waits in every lane that a worker ever served, of toolchains still offered."""
    on_gpus = await state.workers.known_program_devices()
    lanes = [
        lane
        for toolchain in await state.toolchains.all()
        for lane in lanes_of(toolchain.id, on_gpus.get(toolchain.id, ()))
    ]
    lanes += lanes_of_all(await state.workers.known_devices(), SHARED_LANES)
    return await state.jobs.load(lanes)


@router.get("/healthz", summary="Check that this process is alive")
async def get_liveness() -> dict[str, str]:
    """Answer immediately, without asking the store."""
    return {"status": "alive"}


@router.get("/readyz", summary="Check that this process can serve requests")
async def get_readiness(request: Request) -> dict[str, Any]:
    """Answer 503 if the store is unreachable or refuses writes, or a subscription is down.

    `workers` counts those that serve the default toolchain. The service is ready with none.
    """
    return await readiness(state_of(request))


async def readiness(state: ServiceState) -> dict[str, Any]:
    """Return what `GET /readyz` answers.

    Raises ProblemRaised (503): the store of jobs refuses writes, the cache refuses reads, or a
    subscription is down.
    """
    listeners = {name: is_connected() for name, is_connected in state.listeners.items()}
    problems = [
        f"the subscription to {name} is down" for name, hears in listeners.items() if not hears
    ]
    for redis in {state.redis, state.cache}:
        try:
            await probe(redis, WITHIN_S, writes=redis is state.redis)
        except StoreUnavailable as error:
            problems.insert(0, str(error) if redis is state.redis else f"The cache: {error}")
    if problems:
        raise ProblemRaised("store_unavailable", "; ".join(problems))
    return {"status": "ready", "listeners": listeners, "workers": await _workers(state)}


async def _workers(state: ServiceState) -> int | None:
    """Return how many workers serve the default toolchain, None if there never was one."""
    try:
        async with asyncio.timeout(WITHIN_S):
            default = await state.toolchains.default()
            workers = await state.workers.list()
    except TimeoutError as error:
        raise StoreUnavailable(f"The store did not answer within {WITHIN_S:g} s.") from error
    return None if default is None else sum(default.id in worker.served for worker in workers)


@router.get(
    "/metrics",
    summary="Get metrics in Prometheus format",
    response_class=Response,
    responses=bytes_as("text/plain"),
)
async def get_metrics(request: Request) -> Response:
    """Answer counters of this process, and counters and gauges of the deployment."""
    state = state_of(request)
    await state.callers.identify(request, "admin")
    loads, devices = await _loads(state), await state.workers.known_devices()
    state.metrics.show_memory_hits()
    state.metrics.show_lanes(loads)
    state.metrics.show_workers(await state.workers.list(), devices)
    state.metrics.show_totals(await state.counters.read_all(), loads, devices)
    for kind, size_bytes in (await state.counters.stored_bytes(state.cache)).items():
        state.metrics.stored.labels(kind).set(size_bytes)
    return Response(generate_latest(state.metrics.registry), media_type=CONTENT_TYPE_LATEST)
