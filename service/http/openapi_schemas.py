"""Schemas of the OpenAPI document in the forms that generators of clients read well."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

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
        found = _told_apart({ref: schemas[ref.removeprefix(COMPONENTS)] for ref in named})
        if found is not None:
            member, mapping = found
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
    found: set[str] = set()
    left = [part]
    while left:
        for item in _parts(left.pop()):
            targets = [item.get("$ref"), *item.get("discriminator", {}).get("mapping", {}).values()]
            for target in targets:
                if not isinstance(target, str) or not target.startswith(COMPONENTS):
                    continue
                name = target.removeprefix(COMPONENTS)
                if name not in found and name in schemas:
                    found.add(name)
                    left.append(schemas[name])
    return frozenset(found)


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
