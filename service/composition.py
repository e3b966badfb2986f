"""The composition root of the service: the core, its features, and the APIs of other projects.

Only this module imports features and adapters.
"""

from fastapi import FastAPI

from adapters.compiler_explorer.feature import COMPILER_EXPLORER
from adapters.evaluators.feature import EVALUATORS
from adapters.mcp.feature import MCP
from programs.service.feature import PROGRAMS
from proofs.service.feature import PROOFS
from service.application import create_app
from service.feature import Feature
from service.settings import ServiceSettings
from sweeps.service.feature import SWEEPS

FEATURES: tuple[Feature, ...] = (PROGRAMS, SWEEPS, PROOFS, COMPILER_EXPLORER, EVALUATORS, MCP)


def composed_app(settings: ServiceSettings | None = None) -> FastAPI:
    """Return the application with all features; settings default to the environment."""
    return create_app(settings or ServiceSettings(), FEATURES)
