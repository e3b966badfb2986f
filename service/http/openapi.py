"""Parts of the OpenAPI document that routes write themselves: bodies, answers, headers, events."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

COMPONENTS = "#/components/schemas/"


def body_of(model: type[BaseModel], examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requestBody of a route that reads `model`; `examples` are bodies by title."""
    content = {
        "schema": {"$ref": COMPONENTS + model.__name__},
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
    """Return the `responses` of a route that answers bytes; its `response_class` is Response.

    Generated clients know `application/octet-stream` for the media types of files.
    """
    schema = {"type": "string", "format": "binary"}
    files = [name for name in media_types if name.startswith("application/")]
    named = dict.fromkeys([*media_types, *(["application/octet-stream"] if files else [])])
    return {status: {"content": {media_type: {"schema": schema} for media_type in named}}}


def events_of(title: str, **kinds: Any) -> dict[int | str, dict[str, Any]]:
    """Return the `responses` of a route that streams events: the types of their data by kind.

    The document has a schema of each event, and `title` for any of them.
    """
    events = [_event(kind, data) for kind, data in kinds.items()]
    stream = {
        "type": "string",
        "description": "server-sent events, each with the lines `id`, `event` and `data`",
        "contentMediaType": "text/event-stream",
        "contentSchema": {"type": "array", "items": {"title": title, "oneOf": events}},
    }
    return {200: {"content": {"text/event-stream": {"schema": stream}}}}


def _event(kind: str, data: Any) -> dict[str, Any]:
    schema = TypeAdapter(data).json_schema(ref_template=COMPONENTS + "{model}")
    return {
        "title": schema["title"].removesuffix("Event") + "Event",
        "type": "object",
        "required": ["id", "event", "data"],
        "properties": {
            "id": {"type": "string", "description": "send it as Last-Event-ID to resume"},
            "event": {"type": "string", "const": kind},
            "data": schema,
        },
    }


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
