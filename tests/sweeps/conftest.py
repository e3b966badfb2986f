"""What tests of sweeps ask: the deployment of all, and one with API keys."""

from tests.integration.service.conftest import teams

__all__ = ["teams"]
