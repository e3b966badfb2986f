"""One warmed process for the compilations of these tests."""

from tests.integration.compiler.conftest import children

__all__ = ["children"]
