"""The OpenAPI document as a whole: what no route writes for itself.

Everything here follows from rules, so a new route or field needs nothing: problems, headers, units,
discriminators, short ids. Routes of adapters are in another document.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext
from pydantic import BaseModel

from service.http.openapi import COMPONENTS

_UNITS: Final = {
    "bytes_per_s": "bytes per second",
    "flops_per_s": "operations per second",
    "ms": "milliseconds",
    "us": "microseconds",
    "s": "seconds",
    "mhz": "MHz",
    "bytes": "bytes",
    "percent": "percent",
}
_UNIT = re.compile(rf"(?:^|_)({'|'.join(_UNITS)})$")
_PROBLEMS = {
    400: "The body is not JSON",
    401: "No valid API key, where API keys exist",
    403: "The API key lacks the scope",
    404: "Not found, or it belongs to another caller",
    408: "The body arrived too slowly",
    409: "Not finished; retry after Retry-After seconds",
    410: "Evicted from the cache; post again",
    413: "The body is too large",
    415: "The body is not declared as JSON",
    421: "Unknown Host (checked where no API key is needed)",
    422: "What is wrong, field by field",
    429: "Too many queued jobs or wrong API keys; retry after Retry-After seconds",
    503: "Queue full or store unreachable; retry after Retry-After seconds",
}
_EXAMPLES = {"example", "examples"}
_FILES = ("/outputs/", "/trace", "/tape")
_OF_FINISHED = (
    "/tape",
    "/artifacts/",
    "/lines",
    "/instructions",
    "/diff/",
    "/passes",
    "/layouts",
    "/exports/",
)
SERVERS: Final = [{"url": "/", "description": "The service that answers this document"}]
ADAPTERS_TITLE: Final = "tritond: APIs of other projects"
_TEXT: Final = {"type": "string"}
_SECONDS: Final = {"type": "integer", "minimum": 0}
_HEADERS: Final[dict[str, Any]] = {
    name: {"description": description, "schema": schema}
    for name, description, schema in (
        ("X-Request-ID", "of the request, taken from it or made", _TEXT),
        ("Location", "the path of the new resource", _TEXT),
        ("Retry-After", "when to ask again, in seconds", _SECONDS),
        ("Preference-Applied", "`wait=S` where `Prefer` asked for it", _TEXT),
        ("Server-Timing", "`total;dur=` milliseconds in the service", _TEXT),
        ("Cache-Status", "hit, miss (`fwd=miss`) or join (`collapsed`): RFC 9211", _TEXT),
        ("ETag", "send it as `If-None-Match`, to get 304 while nothing has changed", _TEXT),
        ("Cache-Control", "`immutable` once the answer never changes again", _TEXT),
        ("RateLimit", "requests left, and seconds until there are more", _TEXT),
        ("RateLimit-Policy", "the limit of the API key, where it has one", _TEXT),
    )
}
"""By name, as components of the document."""
_NOT_MODIFIED: Final = "The client has it: `If-None-Match` names its ETag"
_RESULT = re.compile(r"/v1/[a-z]+/\{(key|\w+_id)\}")
_BYTES = re.compile(
    r"/v1/(blobs/\{digest\}|tensors/\{digest\}|states/\{digest\}"
    r"|compilations/\{key\}/artifacts/\{stage\}"
    r"|launches/\{launch_id\}/(outputs/\{argument\}|trace)|programs/\{program_id\}/tape)"
)


def operation_id(route: APIRoute) -> str:
    """Return the name of the operation, such as `create_launch`, for generated clients."""
    return re.sub(r"^post_", "create_", route.name)


def adapter_operation_id(route: APIRoute) -> str:
    """Return the method and path of an adapter's operation, which may have several paths."""
    methods = sorted(route.methods or ())
    return "_".join(
        [*map(str.lower, methods), *re.findall(r"\w+", route.path_format.replace("-", "_"))]
    )


def describe(
    app: FastAPI,
    models: Iterable[type[BaseModel]],
    routes: Iterable[RouteContext],
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
            schema = model.model_json_schema(ref_template=COMPONENTS + "{model}")
            schemas.update(schema.pop("$defs", {}))
            schemas[model.__name__] = schema
        _show_nulls(routes, document)
        complete(document)
        for operations in document["paths"].values():
            for operation in operations.values():
                hoist_events(operation, schemas)
        for schema in schemas.values():
            with_units(schema)
        discriminate(document["paths"], schemas)
        discriminate(schemas, schemas)
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                _add_problems(path, method, operation)
                _add_headers(path, method, operation)
            if "get" in operations:
                operations["head"] = _head_of(operations["get"])
        document["components"]["headers"] = _HEADERS
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{}, {"key": []}]
        document["servers"] = SERVERS
        return document

    app.openapi = openapi  # type: ignore[method-assign]


class OpenApiDocument:
    """A document as JSON of the paths of `app` that `is_part` keeps, made when first asked for.

    Making it takes most of a second, so a thread does it and the event loop goes on.
    """

    def __init__(
        self, app: FastAPI, is_part: Callable[[str], bool], title: str | None = None
    ) -> None:
        self._app = app
        self._is_part = is_part
        self._title = title
        self._making: asyncio.Task[bytes] | None = None

    async def read(self) -> bytes:
        """Return the document."""
        if self._making is None:
            self._making = asyncio.create_task(asyncio.to_thread(self._make))
        return await asyncio.shield(self._making)

    def _make(self) -> bytes:
        document = part_of(self._app.openapi(), self._is_part, self._title)
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def part_of(
    document: dict[str, Any], is_part: Callable[[str], bool], title: str | None = None
) -> dict[str, Any]:
    """Return the document of the paths that `is_part` keeps, with their schemas and tags."""
    paths = {path: item for path, item in document["paths"].items() if is_part(path)}
    schemas = document["components"]["schemas"]
    kept = schemas_named(paths, schemas)
    used = {
        tag for item in paths.values() for each in item.values() for tag in each.get("tags", ())
    }
    return document | {
        "info": document["info"] | ({"title": title} if title else {}),
        "paths": paths,
        "tags": [tag for tag in document.get("tags", ()) if tag["name"] in used],
        "components": document["components"]
        | {"schemas": {name: schema for name, schema in schemas.items() if name in kept}},
    }


def _show_nulls(routes: Iterable[RouteContext], document: dict[str, Any]) -> None:
    """Restore nulls in examples of answers: FastAPI drops them, and our answers have them."""
    for route in routes:
        for method in route.methods or ():
            answers = document["paths"][route.path_format][method.lower()]["responses"]
            for status, response in route.responses.items():
                for media_type, content in response.get("content", {}).items():
                    named = {name: content[name] for name in content.keys() & _EXAMPLES}
                    answers[str(status)]["content"][media_type] |= named


def _add_problems(path: str, method: str, operation: dict[str, Any]) -> None:
    """Add the problems that an operation may answer."""
    content = {"application/problem+json": {"schema": {"$ref": COMPONENTS + "Problem"}}}
    for status, description in _PROBLEMS.items():
        if _may_answer(status, path, method):
            problem = {"description": description, "content": content}
            operation["responses"][str(status)] = problem


def _add_headers(path: str, method: str, operation: dict[str, Any]) -> None:
    """Add the headers of each answer, and 304 where answers have an ETag."""
    if _is_validated(path, method):
        operation["responses"].setdefault("304", {"description": _NOT_MODIFIED})
    for status, response in operation["responses"].items():
        named = _headers_of(path, method, int(status), operation)
        response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in named}


def _head_of(get: dict[str, Any]) -> dict[str, Any]:
    """Return the HEAD operation of `get`."""
    responses = {
        status: {name: response[name] for name in ("description", "headers")}
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


def _is_validated(path: str, method: str) -> bool:
    """Return True for answers that have an ETag."""
    return method == "get" and bool(_RESULT.fullmatch(path) or _BYTES.fullmatch(path))


def _headers_of(path: str, method: str, status: int, operation: dict[str, Any]) -> Iterator[str]:
    """Yield the headers of one answer that have a meaning for clients."""
    parameters = {parameter["name"] for parameter in operation.get("parameters", ())}
    makes = "Idempotency-Key" in parameters
    yield "X-Request-ID"
    if status in {409, 429, 503} or (status == 202 and method != "delete"):
        yield "Retry-After"
    if path.startswith("/v1/"):
        yield from ("RateLimit", "RateLimit-Policy")
    if status in {200, 304} and _is_validated(path, method):
        yield from ("ETag", "Cache-Control")
    if status in {200, 202} and "wait" in parameters:
        yield "Preference-Applied"
    if status in {200, 202} and makes:
        yield from ("Location", "Server-Timing")
        if path == "/v1/compilations":
            yield "Cache-Status"


def with_units(schema: Any) -> None:
    """Add the unit of each property whose name ends in one, where its description does not."""
    for part in _parts(schema):
        for name, member in _properties(part).items():
            match = _UNIT.search(name)
            if match is None or not isinstance(member, dict) or "$ref" in member:
                continue
            unit, text = _UNITS[match[1]], member.get("description", "")
            if unit not in text:
                member["description"] = f"{text}, in {unit}" if text else f"in {unit}"


def discriminate(part: Any, schemas: Mapping[str, Any]) -> None:
    """Name the discriminator of each union of objects that one of their members distinguishes."""
    for union in list(_parts(part)):
        alternatives = union.get("oneOf") or union.get("anyOf") or ()
        if "discriminator" in union or not isinstance(alternatives, list):
            continue
        named = [alternative.get("$ref") for alternative in alternatives]
        if len(named) < 2 or None in named:
            continue
        discriminator = _told_apart({ref: schemas[ref.removeprefix(COMPONENTS)] for ref in named})
        if discriminator is not None:
            member, mapping = discriminator
            union.pop("anyOf", None)
            union["oneOf"] = alternatives
            union["discriminator"] = {"propertyName": member, "mapping": mapping}


def _told_apart(named: Mapping[str, Any]) -> tuple[str, dict[str, str]] | None:
    """Return a member whose values are of one schema each, and the schema of each value."""
    for member in dict.fromkeys(name for schema in named.values() for name in _properties(schema)):
        mapping: dict[str, str] = {}
        for ref, schema in named.items():
            values = _values(_properties(schema).get(member, {}))
            if not values or values & mapping.keys() or member not in schema.get("required", ()):
                break
            mapping |= dict.fromkeys(sorted(values), ref)
        else:
            return member, mapping
    return None


def _values(schema: Mapping[str, Any]) -> set[str]:
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    return {value for value in values if isinstance(value, str)}


def hoist_events(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Give the events of a stream names among `schemas`."""
    for response in operation["responses"].values():
        stream = response.get("content", {}).get("text/event-stream", {}).get("schema", {})
        if "contentSchema" not in stream:
            continue
        union = stream["contentSchema"]["items"]
        if "$ref" in union:
            continue
        for event in union["oneOf"]:
            data = event["properties"]["data"]
            schemas.update(data.pop("$defs", {}))
            schemas[event["title"]] = event
        refs = [{"$ref": COMPONENTS + event["title"]} for event in union["oneOf"]]
        schemas[union["title"]] = union | {"oneOf": refs}
        stream["contentSchema"]["items"] = {"$ref": COMPONENTS + union["title"]}


def schemas_named(part: Any, schemas: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the schemas that `part` names, and of those that these name."""
    reached: set[str] = set()
    left = [part]
    while left:
        for item in _parts(left.pop()):
            targets = [item.get("$ref"), *item.get("discriminator", {}).get("mapping", {}).values()]
            for target in targets:
                if not isinstance(target, str) or not target.startswith(COMPONENTS):
                    continue
                name = target.removeprefix(COMPONENTS)
                if name not in reached and name in schemas:
                    reached.add(name)
                    left.append(schemas[name])
    return frozenset(reached)


def _properties(schema: Any) -> Mapping[str, Any]:
    members = schema.get("properties") if isinstance(schema, dict) else None
    return members if isinstance(members, dict) else {}


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and all parts of it, except examples."""
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            yield part
            left += [item for name, item in part.items() if name not in {"example", "examples"}]
        elif isinstance(part, list):
            left += part
