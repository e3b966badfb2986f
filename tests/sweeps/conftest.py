"""Deployments for tests of sweeps: the shared one, and one with API keys."""

from tests.integration.service.conftest import teams

__all__ = ["teams"]
