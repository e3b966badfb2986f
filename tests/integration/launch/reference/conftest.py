"""The children that call references and compare outputs."""

from tests.integration.launch.launch_pool import pool

__all__ = ["pool"]
