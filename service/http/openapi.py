"""The OpenAPI document, with schemas of the bodies that routes read themselves."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.routing import BaseRoute

_COMPONENTS = "#/components/schemas/"
_PROBLEMS = {
    400: "The body is not JSON",
    401: "No valid API key, where API keys exist",
    403: "The API key lacks the scope",
    404: "Not found, or it belongs to another caller",
    408: "The body arrived too slowly",
    409: "Not finished; Retry-After says when to retry",
    410: "Evicted from the cache; post again",
    413: "The body is too large",
    415: "The body is not declared as JSON",
    421: "Unknown Host (checked where no API key is needed)",
    422: "What is wrong, field by field",
    429: "Too many queued jobs or wrong API keys; Retry-After says when to retry",
    503: "Queue full or store unreachable; Retry-After says when to retry",
}
_EXAMPLES = {"example", "examples"}
_FILES = ("/outputs/", "/trace", "/tape")
_OF_FINISHED = ("/tape", "/artifacts/", "/lines", "/instructions", "/diff/", "/passes", "/exports/")


def body_of(model: type[BaseModel], examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requestBody of a route that reads `model`; `examples` are bodies by title."""
    content = {
        "schema": {"$ref": _COMPONENTS + model.__name__},
        "examples": {title: {"value": value} for title, value in examples.items()},
    }
    return {"required": True, "content": {"application/json": content}}


def answer_of(
    model: type[BaseModel], examples: dict[str, Any], status: int = 200
) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that answers a `model`; `examples` are such by title."""
    return {status: {"model": model, "content": examples_of(examples)}}


def examples_of(examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a JSON body, or of an answer, whose schema is known: such by title."""
    shown = {title: {"value": value} for title, value in examples.items()}
    return {"application/json": {"examples": shown}}


def bytes_as(*media_types: str, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that answers bytes; its `response_class` is Response."""
    schema = {"type": "string", "format": "binary"}
    return {status: {"content": {media_type: {"schema": schema} for media_type in media_types}}}


def events_of(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that streams events, among them these `kinds`."""
    text = {"type": "string"}
    event = {
        "type": "object",
        "description": "one event of the stream",
        "required": ["id", "event", "data"],
        "properties": {
            "id": text | {"description": "send it as Last-Event-ID to resume"},
            "event": text | {"examples": list(kinds)},
            "data": text | {"contentMediaType": "application/json"},
        },
    }
    return {200: {"content": {"text/event-stream": {"schema": event}}}}


def wait_parameter(default_s: float = 0) -> dict[str, Any]:
    """Return the parameter `wait` of a route that calls `requested_wait`."""
    return {
        "name": "wait",
        "in": "query",
        "description": "seconds to wait for the result (also `Prefer: wait=S`)",
        "schema": {"type": "number", "minimum": 0, "default": default_s},
    }


def header(name: str, description: str, pattern: str | None = None) -> dict[str, Any]:
    """Return the parameter of a route that reads a header by itself."""
    schema = {"type": "string"} | ({"pattern": pattern} if pattern else {})
    return {"name": name, "in": "header", "description": description, "schema": schema}


def describe(
    app: FastAPI,
    models: Iterable[type[BaseModel]],
    routes: Iterable[BaseRoute],
    complete: Callable[[dict[str, Any]], None],
) -> None:
    """Add schemas of `models` and the examples of `routes` to the OpenAPI document of `app`.

    `complete` adds to the document what depends on features.
    """
    bodies, routes = tuple(models), tuple(routes)
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        if "securitySchemes" in document.get("components", {}):
            return document  # cached
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        for model in bodies:
            schema = model.model_json_schema(ref_template=_COMPONENTS + "{model}")
            schemas.update(schema.pop("$defs", {}))
            schemas[model.__name__] = schema
        _show_nulls(routes, document)
        complete(document)
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _add_problems(path, method, operation)
            if "get" in operations:
                operations["head"] = _head_of(operations["get"])
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{}, {"key": []}]
        return document

    app.openapi = openapi  # type: ignore[method-assign]


class OpenApiDocument:
    """The document of `app` as JSON, made once, when it is first asked for.

    Making it takes most of a second, so a thread does it and the event loop goes on.
    """

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._making: asyncio.Task[bytes] | None = None

    async def read(self) -> bytes:
        """Return the document."""
        if self._making is None:
            self._making = asyncio.create_task(asyncio.to_thread(self._make))
        return await asyncio.shield(self._making)

    def _make(self) -> bytes:
        return json.dumps(self._app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()


def _show_nulls(routes: Iterable[BaseRoute], document: dict[str, Any]) -> None:
    """Restore nulls in examples of answers: FastAPI drops them, and our answers have them."""
    for route in routes:
        if not isinstance(route, APIRoute):
            continue
        for method in route.methods or ():
            answers = document["paths"][route.path_format][method.lower()]["responses"]
            for status, response in route.responses.items():
                for media_type, content in response.get("content", {}).items():
                    named = {name: content[name] for name in content.keys() & _EXAMPLES}
                    answers[str(status)]["content"][media_type] |= named


def _add_problems(path: str, method: str, operation: dict[str, Any]) -> None:
    """Add the problems that an operation may answer."""
    content = {"application/problem+json": {"schema": {"$ref": _COMPONENTS + "Problem"}}}
    for status, description in _PROBLEMS.items():
        if _may_answer(status, path, method):
            problem = {"description": description, "content": content}
            operation["responses"][str(status)] = problem


def _head_of(get: dict[str, Any]) -> dict[str, Any]:
    """Return the HEAD operation of `get`."""
    responses = {
        status: {"description": response["description"]}
        for status, response in get["responses"].items()
    }
    return get | {
        "summary": f"{get['summary']} (no body)",
        "operationId": f"head_{get['operationId']}",
        "responses": responses,
    }


def _may_answer(status: int, path: str, method: str) -> bool:
    match status:
        case 400 | 408 | 413 | 415:
            return method in {"post", "put"}
        case 404:
            return "{" in path or path.endswith(("/query", "/tasks/batch"))
        case 409:
            return any(part in path for part in _OF_FINISHED)
        case 410:
            return method == "get" and any(part in path for part in ("{key}", *_FILES))
        case 401 | 429 | 503:
            return path not in {"/healthz", "/readyz"} or (status, path) == (503, "/readyz")
    return True
