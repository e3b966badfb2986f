"""The deployment whose parts these tests stop, kill and restart."""

from tests.integration.faults.conftest import (
    connect_to_service,
    http,
    machine,
    operator,
    service,
    worker,
)

__all__ = ["connect_to_service", "http", "machine", "operator", "service", "worker"]
