"""Deployments and terminals for tests of sweeps: a shared one, and one with API keys."""

from tests.integration.service.conftest import on_terminal, teams

__all__ = ["on_terminal", "teams"]
