"""Fixtures of other folders."""

from tests.integration.service.launches.conftest import launch

__all__ = ["launch"]
