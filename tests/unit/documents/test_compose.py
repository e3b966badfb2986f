"""docker-compose.yml isolates workers, which run untrusted kernels: they reach only the store."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
IMAGES = (ROOT / "Dockerfile").read_text()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def neighbours(name: str) -> set[str]:
    """Return the services that share a network with `name`."""
    networks = set(SERVICES[name]["networks"])
    return {
        other
        for other, one in SERVICES.items()
        if other != name and networks & set(one["networks"])
    }


def stage_of_image(name: str) -> str:
    """Return the lines of one stage of the Dockerfile."""
    [stage] = re.findall(rf"^FROM .* AS {name}\n(?:.+\n)+", IMAGES, re.MULTILINE)
    return stage


@pytest.mark.parametrize("worker", ["worker", "worker-gpu"])
def test_a_worker_reaches_the_store_and_nothing_else(worker: str):
    assert neighbours(worker) == {"valkey"}
    assert all(COMPOSE["networks"][network]["internal"] for network in SERVICES[worker]["networks"])
    assert "ports" not in SERVICES[worker]


def test_a_worker_for_gpus_has_gpus_and_what_launches_on_them():
    worker = SERVICES["worker-gpu"]
    [device] = worker["deploy"]["resources"]["reservations"]["devices"]
    [source] = re.findall(r"--from=(\S+)", stage_of_image(worker["build"]["target"]))

    assert device["capabilities"] == ["gpu"]
    assert "-r requirements/gpu.txt" in stage_of_image(source)


def test_the_worker_for_gpus_differs_in_nothing_else():
    differing = {"build", "deploy", "networks", "profiles"}
    with_gpus, without = SERVICES["worker-gpu"], SERVICES["worker"]

    assert {name for name in with_gpus if with_gpus[name] != without.get(name)} == differing


def test_the_store_is_not_published():
    assert "ports" not in SERVICES["valkey"]
    assert all(
        COMPOSE["networks"][network]["internal"] for network in SERVICES["valkey"]["networks"]
    )


def test_no_service_may_gain_privileges():
    for one in SERVICES.values():
        assert "no-new-privileges:true" in one["security_opt"]
        assert "privileged" not in one
