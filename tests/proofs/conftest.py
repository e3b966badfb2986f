"""Deployments and terminals for tests of proofs."""

from tests.integration.service.conftest import bucket, on_terminal, teams, with_keys

__all__ = ["bucket", "on_terminal", "teams", "with_keys"]
