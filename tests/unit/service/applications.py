"""Applications from `composed_app`, each built once: building one takes FastAPI long."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import FastAPI

from service.composition import composed_app
from service.settings import ServiceSettings

_APPLICATIONS: dict[str, FastAPI] = {}


def application() -> FastAPI:
    """Return the application of these settings; the environment may change them."""
    settings = ServiceSettings()
    name = settings.model_dump_json()
    if name not in _APPLICATIONS:
        _APPLICATIONS[name] = composed_app(settings)
    return _APPLICATIONS[name]


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document; do not modify it."""
    return application().openapi()
