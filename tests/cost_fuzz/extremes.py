"""Values at the limits of a JSON schema: the longest texts, the most items, the deepest nesting."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from tests.cost_fuzz.operations import Schema, alternatives, resolved

MAX_VALUES = 290_000
"""A body may contain 300,000 values and names."""
MAX_CONTAINERS = 95_000
_MAX_DEPTH = 4
"""Levels of a schema that are followed."""
_FEW = 12
_NESTED = 900
"""Levels that `json` writes without a deeper stack."""

Extremes = Iterator[tuple[str, Callable[[], Any]]]
"""A value is made when it is sent: all of them together fill no memory."""


def extremes(schema: Schema, budget_bytes: int, depth: int = 0) -> Extremes:
    """Yield named values of at most about `budget_bytes`, each at a limit of `schema`."""
    for each in alternatives(schema):
        kind = each.get("type")
        if "enum" in each or "const" in each:
            continue
        if kind == "string":
            yield from _texts(each, budget_bytes)
        elif kind == "array":
            yield from _lists(each, budget_bytes, depth)
        elif kind == "object" or "properties" in each:
            yield from _objects(each, budget_bytes, depth)
        elif kind in {"integer", "number"}:
            yield "largest", partial(each.get, "maximum", each.get("exclusiveMaximum", 10**150))
            yield "smallest", partial(each.get, "minimum", -(10**150))
        elif kind != "boolean":
            yield from _anything(budget_bytes)


def is_bulky(schema: Schema) -> bool:
    """Return whether a value can be large enough to be one factor of a product."""
    for each in alternatives(schema):
        kind = each.get("type")
        if "enum" in each or "const" in each or kind in {"integer", "number", "boolean"}:
            continue
        if kind != "string" or each.get("maxLength", MAX_VALUES) > 1000:
            return True
    return False


def smallest(schema: Schema) -> Any:
    """Return a value that is as small as `schema` permits."""
    schema = resolved(schema)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    if parts := schema.get("anyOf") or schema.get("oneOf"):
        return smallest(parts[0])
    match schema.get("type"):
        case "string":
            return "a" * schema.get("minLength", 0)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "array":
            return [smallest(schema.get("items", {}))] * schema.get("minItems", 0)
        case "object":
            fields = schema.get("properties", {})
            return {name: smallest(fields[name]) for name in schema.get("required", ())}
    return 0


def _texts(schema: Schema, budget_bytes: int) -> Extremes:
    length = min(schema.get("maxLength", budget_bytes), budget_bytes)
    yield "long text", lambda: "a" * length
    yield "long punctuation", lambda: ("(a,*[<:{" * (length // 8 + 1))[:length]
    yield "long digits", lambda: "9" * length
    yield "long lines", lambda: ("a = 1\n" * (length // 6 + 1))[:length]
    yield "long escapes", lambda: "\x01" * (length // 6)


def _lists(schema: Schema, budget_bytes: int, depth: int) -> Extremes:
    item = schema.get("items", {})
    least = smallest(item)
    size_bytes = len(str(least)) + 2
    most = min(schema.get("maxItems", MAX_VALUES), budget_bytes // size_bytes, MAX_VALUES)
    yield "most items", lambda: [least] * most
    yield "items beyond the limit", lambda: [least] * min(most + 1, MAX_VALUES)
    for count in sorted({min(most, _FEW), most}) if depth < _MAX_DEPTH else ():
        inner = extremes(item, budget_bytes // max(count, 1), depth + 1)
        for name, make in itertools.islice(inner, _FEW):
            yield f"{count} x {name}", partial(_listed, make, count)


def _listed(make: Callable[[], Any], count: int) -> list[Any]:
    return [make()] * count


def _objects(schema: Schema, budget_bytes: int, depth: int) -> Extremes:
    fields: Mapping[str, Schema] = schema.get("properties", {})
    further = schema.get("additionalProperties", not fields)
    if fields:
        count = min(budget_bytes // 10, 90_000)
        yield "unknown members", lambda: {f"a{index}": 0 for index in range(count)}
        least = smallest(schema)
        for name, field in fields.items() if depth < _MAX_DEPTH else ():
            for label, make in itertools.islice(extremes(field, budget_bytes, depth + 1), _FEW):
                yield f"{name}: {label}", partial(_with_member, least, name, make)
    elif further is not False:
        yield from _mappings(schema, further, budget_bytes, depth)


def _mappings(schema: Schema, further: Any, budget_bytes: int, depth: int) -> Extremes:
    value_schema: Schema = further if isinstance(further, Mapping) else {}
    value = smallest(value_schema)
    limit = schema.get("maxProperties", MAX_VALUES // 2)
    most = min(limit, budget_bytes // (len(str(value)) + 9))
    yield "most members", lambda: {f"a{index}": value for index in range(most)}
    long = min(most, budget_bytes // 210)
    yield "long names", lambda: {"a" * 200 + str(index): value for index in range(long)}
    count = min(most, _FEW)
    inner = extremes(value_schema, budget_bytes // max(count, 1), depth + 1)
    for name, make in itertools.islice(inner, _FEW) if depth < _MAX_DEPTH else ():
        yield f"{count} x {name}", partial(_members, make, count)


def _with_member(least: Mapping[str, Any], name: str, make: Callable[[], Any]) -> dict[str, Any]:
    return {**least, name: make()}


def _members(make: Callable[[], Any], count: int) -> dict[str, Any]:
    return {f"a{index}": make() for index in range(count)}


def _anything(budget_bytes: int) -> Extremes:
    members = min(budget_bytes // 10, 90_000)
    yield "long text", lambda: "a" * budget_bytes
    yield "many numbers", lambda: [0] * min(budget_bytes // 3, MAX_VALUES)
    yield "many objects", lambda: [{}] * min(budget_bytes // 4, MAX_CONTAINERS)
    yield "many members", lambda: {f"a{index}": 0 for index in range(members)}
    yield "deep lists", lambda: _nested(_NESTED)
    wide = min(budget_bytes // 300, MAX_CONTAINERS // 100)
    yield "deep and wide", lambda: [_nested(100)] * wide


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value
