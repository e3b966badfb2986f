"""Applications as `composed_app` makes them, each once: FastAPI builds routes when it is asked."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI

from service.composition import composed_app
from service.settings import ServiceSettings

_APPLICATIONS: dict[str, FastAPI] = {}


def application() -> FastAPI:
    """Return the one of these settings, which the environment may change."""
    settings = ServiceSettings()
    name = settings.model_dump_json()
    if name not in _APPLICATIONS:
        _APPLICATIONS[name] = composed_app(settings)
    return _APPLICATIONS[name]


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document, which must not be modified."""
    return application().openapi()
