"""The composition root of the service: the core, its features, and the APIs of other projects.

Only this module imports features, by the names in `jobs.features`, and adapters.
"""

from importlib import import_module

from fastapi import FastAPI

from adapters.compiler_explorer.feature import COMPILER_EXPLORER
from adapters.evaluators.feature import EVALUATORS
from adapters.mcp.feature import MCP
from jobs.features import NAMES
from service.application import create_app
from service.feature import Feature
from service.settings import ServiceSettings


def _feature(name: str) -> Feature:
    feature = import_module(f"{name}.service.feature").FEATURE
    assert isinstance(feature, Feature)
    return feature


FEATURES = (*map(_feature, NAMES), COMPILER_EXPLORER, EVALUATORS, MCP)


def composed_app(settings: ServiceSettings | None = None) -> FastAPI:
    """Return the application with all features; settings default to the environment."""
    return create_app(settings or ServiceSettings(), FEATURES)
