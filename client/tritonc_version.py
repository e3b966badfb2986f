"""The version of tritonc, where `tritonc --version` reads it without importing the package."""

__version__ = "0.1.0"  # the build reads it, too: see client/pyproject.toml
