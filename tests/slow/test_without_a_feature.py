"""Service and worker start, compile and launch without any one of their features."""

from __future__ import annotations

import asyncio
import contextlib

import httpx
import pytest

from jobs.features import NAMES
from launch.request.launch_request import EXAMPLE as LAUNCH
from service.application import create_app
from service.composition import FEATURES
from service.settings import ServiceSettings
from tests.integration.service import bodies
from worker.__main__ import serve
from worker.composition import FEATURES as WORKER_FEATURES
from worker.settings import WorkerSettings

URLS = {name: f"/v1/{name}" for name in NAMES}


@contextlib.asynccontextmanager
async def deployed_without(name, valkey):
    features = [one for one in FEATURES if name not in {kind.name for kind in one.kinds}]
    others = [one for one in WORKER_FEATURES if name not in {kind.name for kind in one.kinds}]
    assert (len(features), len(others)) == (len(FEATURES) - 1, len(WORKER_FEATURES) - 1)
    app = create_app(ServiceSettings(redis_url=valkey.url), features)
    client = httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8000", timeout=120
    )
    settings = WorkerSettings(redis_url=valkey.url, slots=1, drain_s=1)
    working = asyncio.create_task(serve(settings, others))
    try:
        async with app.router.lifespan_context(app), client:
            yield client
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def has_a_worker(http):
    while not (await http.get("/v1/targets")).json()["toolchains"]:
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("name", URLS)
async def test_without_a_feature_kernels_are_compiled_and_launched(valkey, redis, name):
    async with deployed_without(name, valkey) as http:
        await has_a_worker(http)
        compiled = await http.post("/v1/compilations?wait=60", json=bodies.vector_add())
        launched = await http.post("/v1/launches?wait=60", json=LAUNCH)
        posted = await http.post(URLS[name], json={})
        other = await http.post(next(url for url in URLS.values() if url != URLS[name]), json={})

    assert compiled.json()["state"] == "succeeded"
    assert launched.json()["verdict"] == "passed"
    assert (posted.status_code, other.status_code) == (404, 422)
