"""The OpenAPI document: bodies that routes read by themselves get their schemas here."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

_COMPONENTS = "#/components/schemas/"


def body_of(model: type[BaseModel], examples: dict[str, Any]) -> dict[str, Any]:
    """Return the requestBody of a route that reads `model`; `examples` are bodies by title."""
    content = {
        "schema": {"$ref": _COMPONENTS + model.__name__},
        "examples": {title: {"value": value} for title, value in examples.items()},
    }
    return {"required": True, "content": {"application/json": content}}


def describe_bodies(app: FastAPI, models: Iterable[type[BaseModel]]) -> None:
    """Add the schemas of `models` to the OpenAPI document of `app`."""
    bodies = tuple(models)
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for model in bodies:
            schema = model.model_json_schema(ref_template=_COMPONENTS + "{model}")
            schemas.update(schema.pop("$defs", {}))
            schemas[model.__name__] = schema
        return document

    app.openapi = openapi  # type: ignore[method-assign]
