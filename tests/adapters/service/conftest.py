"""A deployment without a worker, with API keys, for tests of other projects' APIs."""

from tests.integration.service.conftest import callers, idle, keys

__all__ = ["callers", "idle", "keys"]
