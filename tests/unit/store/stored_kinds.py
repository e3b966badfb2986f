"""The kinds of stored records, found in the source, with examples of each from its schema."""

import ast
import importlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_origin

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from jobs.core_kinds import CORE_KINDS
from jobs.features import NAMES
from service.composition import FEATURES as SERVED
from worker.composition import FEATURES as WORKED

ROOT = Path(__file__).parents[3]
PACKAGES = ("adapters", "jobs", "service", "store", "worker", *NAMES)
READER = "read_stored"
"""The only function that reads what is stored."""
BRANCHES = 4
"""The first alternatives of each union that have an example."""

At = tuple[str | int, ...]


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Yield the name and syntax of every module that reads the store."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            yield name.removesuffix(".__init__"), ast.parse(path.read_text())


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield all calls."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def read_kinds() -> dict[str, type[Any]]:
    """Return the kinds that any module reads, by name, and those of all jobs."""
    found = {kind.job.__name__: kind.job for kind in job_kinds()}
    for name, tree in modules():
        for call in calls(tree):
            if isinstance(call.func, ast.Name) and call.func.id == READER:
                kind = call.args[0]
                if isinstance(kind, ast.Name) and kind.id.lstrip("_")[0].isupper():
                    found[kind.id] = getattr(importlib.import_module(name), kind.id)
                    assert inspect.isclass(found[kind.id])
    return found


def job_kinds() -> list[Any]:
    """Return the kinds of jobs of the core and of all features."""
    features = [*SERVED, *WORKED]
    return [*CORE_KINDS, *(kind for feature in features for kind in feature.kinds)]


@dataclass(frozen=True)
class Place:
    """A record inside of another: where it is in the JSON, and its members that may be missing."""

    at: At
    optional: tuple[str, ...]


def places_in(value: Any, written: Any, at: At = ()) -> Iterator[Place]:
    """Yield every record that a value is, or has inside, and that is `written` as an object."""
    inside: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, list | tuple):
        inside = enumerate(value)
    elif isinstance(value, Mapping):
        inside = value.items()
    elif isinstance(value, BaseModel) and isinstance(written, dict):
        members = type(value).model_fields
        names = {field.alias or name: name for name, field in members.items()}
        yield Place(at, tuple(name for name in names if _is_optional(members[names[name]])))
        inside = ((name, getattr(value, names[name])) for name in names)
    elif is_dataclass(value) and isinstance(written, dict):
        yield Place(at, tuple(item.name for item in fields(value) if _has_default(item)))
        inside = ((item.name, getattr(value, item.name)) for item in fields(value))
    for name, item in inside:
        has_it = name in written if isinstance(written, dict) else isinstance(written, list)
        if has_it:
            yield from places_in(item, written[name], (*at, name))


def _is_optional(field: FieldInfo) -> bool:
    is_tag = get_origin(field.annotation) is Literal  # without it, nothing shows what the record is
    return not (field.is_required() or is_tag)


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


class _Example:
    """JSON with every member; `branch` chooses among the alternatives of unions."""

    def __init__(self, schema: dict[str, Any], branch: int) -> None:
        self._kinds = schema.get("$defs", {})
        self._branch = branch
        self.json = self._value(schema)

    def _value(self, schema: dict[str, Any]) -> Any:
        if "$ref" in schema:
            return self._value(self._kinds[schema["$ref"].rpartition("/")[2]])
        alternatives = schema.get("anyOf") or schema.get("oneOf")
        if alternatives:
            some = [item for item in alternatives if item.get("type") != "null"]
            return self._value(some[self._branch % len(some)])
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        match schema.get("type"):
            case "object":
                return self._object(schema)
            case "array":
                items = schema.get("prefixItems") or [schema.get("items", {})]
                return [self._value(item) for item in items]
            case "string":
                return _text(schema)
            case "integer" | "number":
                return _number(schema)
            case "boolean":
                return True
        return None

    def _object(self, schema: dict[str, Any]) -> Any:
        members = schema.get("properties")
        if members is not None:
            return {name: self._value(item) for name, item in members.items()}
        more = schema.get("additionalProperties")
        return {"a.py": self._value(more)} if isinstance(more, dict) else {}


def _text(schema: dict[str, Any]) -> str:
    pattern = schema.get("pattern", "")
    prefix = "sha256:" if "sha256:" in pattern else ""
    return prefix + "0" * 64 if "64" in pattern else "a"


def _number(schema: dict[str, Any]) -> float:
    least: float = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    return min(max(1, least), schema.get("maximum", least + 1))


def examples_of(kind: type[Any]) -> list[Any]:
    """Return JSON of a kind from its schema, for different alternatives of its unions."""
    schema = TypeAdapter(kind).json_schema()
    found = (_Example(schema, branch).json for branch in range(BRANCHES))
    return [json.loads(text) for text in dict.fromkeys(map(json.dumps, found))]


def changed(value: Any, at: At, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return JSON with `change` applied to the object at a place."""
    if not at:
        return change(value)
    first, *rest = at
    inner = changed(value[first], tuple(rest), change)
    if isinstance(value, list):
        return [inner if index == first else item for index, item in enumerate(value)]
    return {**value, first: inner}


def required_members(kind: type[Any]) -> dict[str, list[str]]:
    """Return the members that must be there, of a kind and of the kinds inside of it, by name."""
    schema = TypeAdapter(kind).json_schema()
    every = {kind.__name__: schema, **schema.get("$defs", {})}
    return {name: sorted(item["required"]) for name, item in every.items() if item.get("required")}
