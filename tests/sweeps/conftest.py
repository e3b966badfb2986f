"""Deployments and terminals for tests of sweeps: a shared one, and one with API keys."""

from tests.integration.service.conftest import bucket, on_terminal, teams, with_keys

__all__ = ["bucket", "on_terminal", "teams", "with_keys"]
