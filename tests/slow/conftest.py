from tests.integration.compiler.conftest import children
from tests.integration.conftest import redis, valkey
from tests.integration.service.launches.conftest import launch

__all__ = ["children", "launch", "redis", "valkey"]
