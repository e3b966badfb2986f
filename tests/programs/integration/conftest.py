"""The embedded Valkey of the integration tests, for programs."""

from tests.integration.conftest import blocking, redis, valkey

__all__ = ["blocking", "redis", "valkey"]
