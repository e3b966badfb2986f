"""Searches on a fake GPU whose invented times have a known best.

Service, store, driver, compilations, references and comparisons are real. Only a launch and its
time are invented, from its number of programs and of threads (benchmarks/gpu/stand_in_gpu.py).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.gpu.launch_bodies import ADD, add
from tests.integration.service.running import Deployment
from tests.waiting import wait_until

SIZE = 1000
BLOCKS = {"constexprs.BLOCK_SIZE": [64, 128, 256, 512, 1024], "options.num_warps": [2, 4]}
BEHAVIOURS = {
    "16x64": {"us": 1.0, "wrong": True},
    "16x128": {"us": 2.0, "fault": "illegal_access"},
    "8x64": {"us": 3.0, "spread": 0.5},
    "8x128": {"us": 40.0},
    "4x64": {"us": 50.0},
    "4x128": {"us": 20.0},
    "2x64": {"us": 30.0},
    "2x128": {"us": 60.0},
    "1x64": {"us": 70.0},
    "1x128": {"us": 80.0},
    "32x128": {"us": 15.0},
    "7x128": {"us": 90.0, "ends": 2},
    "9x128": {"ends": 0},
}
PROGRAMS_ALONE = ADD.replace(
    "BLOCK_SIZE: tl.constexpr", "BLOCK_SIZE: tl.constexpr, PROGRAMS: tl.constexpr"
)
TWICE_AS_LARGE = {"n_elements": 2 * SIZE} | {
    name: {"shape": [2 * SIZE]} for name in ("x_ptr", "y_ptr", "output_ptr")
}
SHORT = {"repeats": 20, "finalists": 3, "passes": 3}


def started(folder: Path, **settings: str) -> Deployment:
    """Return a deployment whose only worker claims to have a GPU."""
    deployment = Deployment(
        folder, TRITOND_STAND_IN_BEHAVIOURS=json.dumps(BEHAVIOURS), TRITOND_DRAIN_S="0", **settings
    )
    deployment.start_store()
    deployment.start_service()
    start_worker(deployment)
    return deployment


def start_worker(deployment: Deployment) -> None:
    deployment.start_worker("benchmarks.gpu.stand_in_gpu")
    with deployment.client() as http:
        wait_until(lambda: http.get("/v1/devices").json()["devices"], "a GPU", deployment.said)


def base(source: str = ADD, **changes: Any) -> dict[str, Any]:
    body = add(source, SIZE) | changes
    body["compilation"].pop("constexprs")
    return body
