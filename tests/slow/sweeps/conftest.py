"""The deployment of all searches, whose worker these tests kill and start again."""

from tests.integration.service.sweeps.conftest import deployment, gpu

__all__ = ["deployment", "gpu"]
