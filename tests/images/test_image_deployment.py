"""The images run as docker-compose.yml runs them: read-only, without capabilities, unprivileged."""

from __future__ import annotations

import json
from typing import Any

from tests.images.conftest import is_healthy
from tests.images.podman import podman
from tests.waiting import wait_until

KERNEL = """import triton
import triton.language as tl

@triton.jit
def double(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets))
"""
WRITE = """
import os
for folder in ("/", "/opt/tritond", "/var/tmp", "/tmp"):
    writable = os.access(folder, os.W_OK)
    assert writable == (folder == "/tmp"), folder
"""
REQUEST = """
import sys, urllib.request
path, key, body = sys.argv[1:]
headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + key} if key else {})
request = urllib.request.Request(
    "http://127.0.0.1:8000" + path, data=body.encode() or None, headers=headers)
sys.stdout.write(urllib.request.urlopen(request, timeout=90).read().decode())
"""


def ask(deployment: dict[str, str], key: str, path: str, body: Any = None) -> Any:
    """Make a request from inside the service's container."""
    text = "" if body is None else json.dumps(body)
    command = ("python", "-c", REQUEST, path, key, text)
    return json.loads(podman("exec", deployment["service"], *command).stdout)


def test_both_workers_compile(deployment: dict[str, str], admin_key: str) -> None:
    for name in ("worker", "worker-gpu"):
        other = {"worker": "worker-gpu", "worker-gpu": "worker"}[name]
        podman("pause", deployment[other])
        request = {
            "source": KERNEL,
            "signature": {"x_ptr": "*fp32:16"},
            "constexprs": {"N": {"worker": 256, "worker-gpu": 512}[name]},
            "target": "cuda:90",
            "include": ["ptx"],
        }
        answer = ask(deployment, admin_key, "/v1/compilations?wait=60", request)
        podman("unpause", deployment[other])

        assert answer["state"] == "succeeded"
        assert ".visible .entry double" in answer["included"]["ptx"]
        assert answer["artifacts"]["cubin"]["size_bytes"] > 0


def test_the_sandbox_holds_without_privileges(deployment: dict[str, str], admin_key: str) -> None:
    found = ask(deployment, admin_key, "/v1/workers")["workers"]

    assert found
    assert {worker["sandbox"] for worker in found} <= {"standard", "strict"}


def test_a_worker_without_gpus_has_what_drives_them(deployment: dict[str, str]) -> None:
    drives = "from cuda.bindings import driver; print(driver.CUDA_VERSION)"
    assert int(podman("exec", deployment["worker-gpu"], "python", "-c", drives).stdout) >= 13000


def test_nothing_but_tmp_can_be_written(deployment: dict[str, str]) -> None:
    for name in ("service", "worker"):
        podman("exec", deployment[name], "python", "-c", WRITE)


def test_a_container_is_unhealthy_while_its_store_does_not_answer(
    deployment: dict[str, str],
) -> None:
    podman("pause", deployment["valkey"])
    healthy = [is_healthy(deployment[name]) for name in ("service", "worker", "worker-gpu")]
    podman("unpause", deployment["valkey"])

    assert healthy == [False, False, False]
    for name in ("service", "worker", "worker-gpu"):
        wait_until(lambda name=name: is_healthy(deployment[name]), f"{name} is healthy again")


def test_a_container_that_is_stopped_ends_well(deployment: dict[str, str]) -> None:
    podman("stop", "--time", "60", deployment["worker-gpu"])

    [container] = json.loads(podman("container", "inspect", deployment["worker-gpu"]).stdout)
    assert container["State"]["ExitCode"] == 0
