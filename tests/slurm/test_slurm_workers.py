"""deploy/slurm/workers.sbatch on a real Slurm: workers come, work, drain, and lose nothing."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.running import Deployment, ended
from tests.slurm.conftest import SCRIPT, Cluster
from tests.waiting import wait_until

KERNEL = """import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    for i in tl.static_range({depth}):
        x = tl.exp(x) + i
    tl.store(y_ptr + offsets, x)
"""


def compilation(depth: int) -> dict[str, Any]:
    """Return a request. The deeper it is, the longer it takes; each depth is another kernel."""
    return {
        "source": KERNEL.format(depth=depth),
        "signature": {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16"},
        "constexprs": {"N": 256},
        "target": "cuda:90",
    }


def post(http: httpx.Client, depth: int, wait: int = 0) -> httpx.Response:
    answer = http.post("/v1/compilations", params={"wait": wait}, json=compilation(depth))
    assert answer.is_success, answer.text
    return answer


def submitted(http: httpx.Client, depths: range) -> list[str]:
    return [post(http, depth).headers["location"] for depth in depths]


@pytest.mark.timeout(600)
def test_workers_of_an_array_compile_drain_and_lose_nothing(
    cluster: Cluster, deployment: Deployment, store_url: str, worker_command: list[str]
) -> None:
    def submit(*arguments: str) -> str:
        arguments = (*arguments, str(SCRIPT), *worker_command)
        return cluster.submit(*arguments, TRITOND_REDIS_URL=store_url)

    with deployment.client() as http:
        # come: a worker for each task
        array = submit("--array=0-1")
        wait_until(lambda: workers(http) == 2, "two workers", cluster.said)
        assert post(http, depth=1, wait=60).json()["state"] == "succeeded", cluster.said()

        # a worker that is asked to leave finishes what it has, and ends well
        urls = submitted(http, range(40, 52))
        wait_until(lambda: running(http, urls) >= 4, "both workers have jobs", cluster.said)
        cluster.cancel("--signal=TERM", "--batch", f"{array}_0")
        assert cluster.wait_until_over(f"{array}_0") == ("COMPLETED", "0:0"), cluster.said()
        assert {ended(http, url)["state"] for url in urls} == {"succeeded"}

        # a plain cancel signals its children as well, and may fail what they were at: not for good
        urls = submitted(http, range(60, 72))
        wait_until(lambda: running(http, urls) >= 2, "the other has jobs", cluster.said)
        cluster.cancel(f"{array}_1")
        assert cluster.wait_until_over(f"{array}_1")[0] == "CANCELLED"
        submit("--array=0")
        states = {url: ended(http, url) for url in urls}
        failed = [one for one in states.values() if one["state"] != "succeeded"]
        assert [one for one in failed if not one["error"]["retryable"]] == []
        again = [post(http, depth, wait=60).json()["state"] for depth in range(60, 72)]
        assert set(again) == {"succeeded"}, cluster.said()


def workers(http: httpx.Client) -> int:
    count: int = http.get("/v1/system").json()["workers"]["compile"]
    return count


def running(http: httpx.Client, urls: list[str]) -> int:
    return [http.get(url).json()["state"] for url in urls].count("running")
