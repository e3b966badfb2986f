"""The operations of the HTTP API, from the application itself: no route can be left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Route

from adapters.mcp.protocol import TOOL_ARGUMENTS
from service.composition import composed_app

Schema = Mapping[str, Any]
_COMPONENTS = "#/components/schemas/"


@dataclass(frozen=True)
class Operation:
    """A method and path, with the fields that its requests may contain."""

    method: str
    path: str
    body: Schema | None
    """The JSON schema of its body; None: it reads none, or raw bytes."""
    examples: tuple[Any, ...]
    query: Mapping[str, Schema]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def path_names(self) -> list[str]:
        """Return the names of its path's parameters."""
        return re.findall(r"{(\w+)", self.path)


@cache
def operations() -> tuple[Operation, ...]:
    """Return each operation of the composed application once. HEAD is left out: it is GET."""
    app = composed_app()
    documented = tuple(_documented(app.openapi()["paths"]))
    names = {operation.name for operation in documented}
    hidden = [
        Operation(method, route.path, None, (), {})
        for route in api_routes(app.router.routes)
        for method in sorted((route.methods or set()) - {"HEAD"})
        if f"{method} {route.path}" not in names
    ]
    return (*documented, *hidden)


@cache
def schemas() -> Mapping[str, Schema]:
    """Return the schemas that bodies refer to, by name."""
    components: Mapping[str, Schema] = composed_app().openapi()["components"]["schemas"]
    return components


@cache
def tool_schemas() -> Mapping[str, Schema]:
    """Return the schema of each MCP tool's arguments, by the name of the tool."""
    return {
        model.__name__.removesuffix("Arguments").lower(): model.model_json_schema()
        for model in TOOL_ARGUMENTS
    }


def resolved(schema: Schema) -> Schema:
    """Return the schema that `schema` refers to, or itself."""
    while "$ref" in schema:
        schema = schemas()[schema["$ref"].removeprefix(_COMPONENTS)]
    return schema


def alternatives(schema: Schema) -> list[Schema]:
    """Return the schemas that a value may match, without null."""
    schema = resolved(schema)
    if "properties" not in schema and (parts := schema.get("anyOf") or schema.get("oneOf")):
        return [each for part in parts for each in alternatives(part)]
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds if kind != "null"]
    return [] if kinds == "null" else [schema]


def _documented(paths: Mapping[str, Any]) -> Iterator[Operation]:
    for path, methods in paths.items():
        for method, operation in methods.items():
            if method == "head":
                continue
            content = operation.get("requestBody", {}).get("content", {})
            body = content.get("application/json", {})
            query = {
                parameter["name"]: parameter["schema"]
                for parameter in operation.get("parameters", ())
                if parameter["in"] == "query"
            }
            examples = [example["value"] for example in body.get("examples", {}).values()]
            yield Operation(method.upper(), path, body.get("schema"), tuple(examples), query)


def api_routes(routes: list[BaseRoute]) -> Iterator[Route | APIRoute]:
    """Yield all routes, those of included routers too."""
    for route in routes:
        router = getattr(route, "original_router", None)
        if router is not None:
            yield from api_routes(router.routes)
        elif isinstance(route, (Route, APIRoute)):
            yield route
        else:
            raise TypeError(f"{route!r} is neither a route nor a router: its cost is not tried")
