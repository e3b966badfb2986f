"""The deployment of all searches, whose worker these tests kill and start again."""

from tests.sweeps.service.conftest import deployment, gpu

__all__ = ["deployment", "gpu"]
