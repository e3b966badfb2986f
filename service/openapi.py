"""The OpenAPI document: bodies that routes read by themselves get their schemas here."""

from collections.abc import Iterable
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

_COMPONENTS = "#/components/schemas/"
_PROBLEMS = {
    400: "The body is not JSON",
    401: "No valid API key, where API keys exist",
    403: "The API key lacks the scope",
    404: "There is nothing here, or it is somebody else's",
    413: "The body is too large",
    415: "The body is something else than JSON",
    422: "What is wrong, field by field",
    429: "Too many jobs of this caller are queued; Retry-After says when to come again",
    503: "The queue is full or the store cannot be reached; Retry-After says when to come again",
}
_OF_BODIES = {400, 413, 415, 429}


def body_of(model: type[BaseModel], examples: dict[str, Any]) -> dict[str, Any]:
    """Return the requestBody of a route that reads `model`; `examples` are bodies by title."""
    content = {
        "schema": {"$ref": _COMPONENTS + model.__name__},
        "examples": {title: {"value": value} for title, value in examples.items()},
    }
    return {"required": True, "content": {"application/json": content}}


def bytes_as(*media_types: str, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that answers bytes; its `response_class` is Response."""
    schema = {"type": "string", "format": "binary"}
    return {status: {"content": {media_type: {"schema": schema} for media_type in media_types}}}


def header(name: str, description: str) -> dict[str, Any]:
    """Return the parameter of a route that reads a header by itself."""
    schema = {"type": "string"}
    return {"name": name, "in": "header", "description": description, "schema": schema}


def describe_bodies(app: FastAPI, models: Iterable[type[BaseModel]]) -> None:
    """Add the schemas of `models` to the OpenAPI document of `app`."""
    bodies = tuple(models)
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        if "securitySchemes" in document.get("components", {}):
            return document  # made before
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for model in bodies:
            schema = model.model_json_schema(ref_template=_COMPONENTS + "{model}")
            schemas.update(schema.pop("$defs", {}))
            schemas[model.__name__] = schema
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _add_problems(path, method, operation)
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{}, {"key": []}]
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _add_problems(path: str, method: str, operation: dict[str, Any]) -> None:
    """Say which problems an operation may answer."""
    responses = operation["responses"]
    if path == "/healthz":
        responses.pop("422")
        return
    content = {"application/problem+json": {"schema": {"$ref": _COMPONENTS + "Problem"}}}
    for status, description in _PROBLEMS.items():
        needs_body, needs_path = status in _OF_BODIES, status == 404
        if (needs_body and method not in {"post", "put"}) or (needs_path and "{" not in path):
            continue
        responses[str(status)] = {"description": description, "content": content}
