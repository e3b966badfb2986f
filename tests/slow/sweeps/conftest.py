"""The deployment of all searches; tests kill and restart its worker."""

from tests.sweeps.service.conftest import deployment, gpu

__all__ = ["deployment", "gpu"]
