"""docker-compose.yml keeps a worker, which runs strangers' kernels, away from all but the store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def neighbours(name: str) -> set[str]:
    """Return the services that share a network with `name`."""
    networks = set(SERVICES[name]["networks"])
    return {
        other
        for other, one in SERVICES.items()
        if other != name and networks & set(one["networks"])
    }


def test_a_worker_reaches_the_store_and_nothing_else():
    assert neighbours("worker") == {"valkey"}
    assert all(
        COMPOSE["networks"][network]["internal"] for network in SERVICES["worker"]["networks"]
    )
    assert "ports" not in SERVICES["worker"]


def test_the_store_is_not_published():
    assert "ports" not in SERVICES["valkey"]
    assert all(
        COMPOSE["networks"][network]["internal"] for network in SERVICES["valkey"]["networks"]
    )


def test_no_service_may_gain_privileges():
    for one in SERVICES.values():
        assert "no-new-privileges:true" in one["security_opt"]
        assert "privileged" not in one
