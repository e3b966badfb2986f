"""Cases of every operation: each field, and each two fields, at their limits.

They follow from the schemas, so a new route or field has its cases at once. Values that mean
something come from `vocabulary`.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

from tests.cost_fuzz.case import MAX_BATCH_BYTES, MAX_BODY_BYTES, Case, posting
from tests.cost_fuzz.extremes import extremes, is_bulky
from tests.cost_fuzz.operations import (
    Operation,
    Schema,
    alternatives,
    operations,
    resolved,
    tool_schemas,
)
from tests.cost_fuzz.prepared import (
    COMPILATION,
    LAUNCH,
    PROOF,
    SWEEP,
    TENSOR,
    Prepared,
    digest_of,
)
from tests.cost_fuzz.sending import Sent
from tests.cost_fuzz.vocabulary import ADD, ADD_CONTRACT, labels, values

_MAX_TOOL_BYTES = 2 << 20
_MAX_URL_BYTES = 60_000
_MAX_REPEATS = 2_000
_MAX_OF_A_SCHEMA = 40
_FIRST = 4
"""The values of a field by its schema alone that pairs choose from."""
_BRIEF = {"timeout_s": 5, "deadline_s": 20}
"""Jobs end soon: a bar is about processes that all callers share, not about a job's own."""
_INSTEAD = {
    "ir": ("source", "signature", "constexprs", "files", "hints", "kernel"),
    "specialization_data": ("signature", "constexprs", "hints"),
    "cases": ("contract",),
    "compilation_key": ("compilation",),
    "equivalent": ("source", "signature", "constexprs"),
}
"""Fields that a request leaves out for another one."""
_CORE_BODIES: Mapping[str, Any] = {
    "POST /v1/compilations": COMPILATION,
    "POST /v1/launches": LAUNCH,
    "POST /v1/proofs": PROOF,
    "POST /v1/sweeps": SWEEP,
    "POST /v1/launches/query": {"ids": []},
    "POST /tasks/batch": {"task_ids": []},
    "POST /flashinfer-bench/tasks/batch": {"task_ids": []},
}
_KERNEL = {"source": ADD, "signature": {"x_ptr": "*fp32"}, "constexprs": {"B": 16}}
_TOOLS: Mapping[str, Mapping[str, Any]] = {
    "targets": {},
    "inspect": {"source": ADD},
    "compile": _KERNEL | {"target": "cuda:90"},
    "launch": {"source": ADD, "arguments": {}, "grid": [1]},
    "program": {"source": "def custom_kernel(x):\n    return x\n"},
    "sweep": _KERNEL | {"target": "cuda:90", "space": {"constexprs.B": [16]}},
    "prove": _KERNEL | {"contract": ADD_CONTRACT},
    "compare": {"first": "a" * 64, "second": "b" * 64},
    "explain": {"key": "a" * 64},
}
_HEADERS: Mapping[str, Callable[[], str]] = {
    "Accept": lambda: ", ".join(f"a/b{n};q=0.{n % 10}" for n in range(4_000)),
    "Accept-Encoding": lambda: ", ".join(f"zstd;q=0.{n % 10}" for n in range(4_000)),
    "Authorization": lambda: "Bearer " + "a" * 60_000,
    "Cookie": lambda: "a=b; " * 12_000,
    "If-None-Match": lambda: ", ".join(f'W/"{n}"' for n in range(6_000)),
    "Idempotency-Key": lambda: "k" * 60_000,
    "Last-Event-ID": lambda: "1" * 60_000,
    "Prefer": lambda: ", ".join(f"wait={n}" for n in range(6_000)),
    "Range": lambda: "bytes=" + ",".join(f"{n}-{n}" for n in range(6_000)),
    "Traceparent": lambda: "00-" + "a" * 60_000,
    "X-Forwarded-For": lambda: ", ".join(["::1"] * 10_000),
    "X-Request-ID": lambda: "a" * 60_000,
}
Changes = Mapping[str, Callable[[], Any]]
"""Functions that make the new values of fields, by their names."""
_TOOL_OPERATION = "POST /mcp"
_TENSOR_OPERATION = "PUT /v1/tensors/{digest}"


def generated(chance: random.Random) -> Iterator[Case]:
    """Yield the cases of all operations; `chance` chooses the values of pairs."""
    for operation in operations():
        if operation.name == _TOOL_OPERATION:
            yield from _tool_cases(chance)
        elif operation.body is not None:
            yield from _body_cases(operation, chance)
        yield from _address_cases(operation)
        yield _header_case(operation, chance)


def _body_cases(operation: Operation, chance: random.Random) -> Iterator[Case]:
    limit_bytes = MAX_BATCH_BYTES if "batch" in operation.path else MAX_BODY_BYTES
    schema = alternatives(operation.body or {})[0]
    base = base_body(operation)

    def case(label: str, changes: Changes) -> Case:
        def make(prepared: Prepared) -> Sent:
            path = operation.path
            if "digest" not in operation.path_names:
                path = prepared.path(operation)
            changed = {name: change() for name, change in changes.items()}
            body = _changed(base, changed, schema)
            return posting(operation.name, path, body, _items(changed))

        return Case(f"{operation.name} {label}", operation.name, make)

    yield from _fields(schema, limit_bytes - 10_000, chance, case)


def _fields(
    schema: Schema,
    limit_bytes: int,
    chance: random.Random,
    case: Callable[[str, Changes], Case],
) -> Iterator[Case]:
    """Yield a case for each value of each field, and one or two for each pair of large fields."""
    model, fields = schema.get("title", ""), schema["properties"]
    for name, field in fields.items():
        for label, value in _values(model, name, field, limit_bytes).items():
            yield case(f"{name}: {label}", {name: value})
    large = [name for name, field in fields.items() if is_bulky(field)]
    for first, second in itertools.combinations(large, 2):
        if first in _INSTEAD.get(second, ()) or second in _INSTEAD.get(first, ()):
            continue
        label_1, value_1 = _choice(chance, _values(model, first, fields[first], limit_bytes // 2))
        label_2, value_2 = _choice(chance, _values(model, second, fields[second], limit_bytes // 2))
        label = f"{first}: {label_1} x {second}: {label_2}"
        yield case(label, {first: value_1, second: value_2})


def _values(model: str, name: str, field: Schema, limit_bytes: int) -> Changes:
    """Return the values of a field by label: those that mean something first."""
    known = {
        label: lambda label=label: values(model, name, limit_bytes)[label]
        for label in labels(model, name)
    }
    return known | dict(itertools.islice(extremes(field, limit_bytes), _MAX_OF_A_SCHEMA))


def _choice(chance: random.Random, labelled: Changes) -> tuple[str, Callable[[], Any]]:
    """Choose a value; those that mean something are first, and likelier."""
    names = list(labelled)
    most = len(names) if chance.random() < 0.3 else min(len(names), _FIRST)
    name = chance.choice(names[:most])
    return name, labelled[name]


def base_body(operation: Operation) -> dict[str, Any]:
    if operation.name in _CORE_BODIES:
        return dict(_CORE_BODIES[operation.name])
    if operation.examples:
        return dict(operation.examples[0])
    for other in operations():  # an alias, or an operation of several models
        if other.examples and other.path.endswith(operation.path):
            return dict(other.examples[0])
    raise LookupError(f"{operation.name} has no example of a body, so none can be changed")


def _changed(base: Mapping[str, Any], changes: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    left_out = {name for changed in changes for name in _INSTEAD.get(changed, ())} - changes.keys()
    body = {name: value for name, value in base.items() if name not in left_out}
    brief = {name: value for name, value in _BRIEF.items() if name in schema["properties"]}
    return body | brief | dict(changes)


def _items(changes: Mapping[str, Any]) -> int:
    """Return the number of jobs or variants that a body asks for."""
    listed = [changes.get(name) for name in ("requests", "tasks", "ids", "task_ids")]
    space = changes.get("space")
    return max([len(each) for each in listed if isinstance(each, list)] + [_variants(space)])


def _variants(space: Any) -> int:
    if isinstance(space, list):
        return len(space)
    if not isinstance(space, dict) or not isinstance(product := space.get("product"), dict):
        return 0
    count = 1
    for each in product.values():
        count *= len(each) if isinstance(each, list) else 1
    return count if count <= 10_000 else 0


def _tool_cases(chance: random.Random) -> Iterator[Case]:
    for tool, schema in tool_schemas().items():
        base = dict(_TOOLS[tool])

        def case(label: str, changes: Changes, tool: str = tool, base: Any = base) -> Case:
            def make(_: Prepared) -> Sent:
                changed = {name: change() for name, change in changes.items()}
                return _tool_call(tool, base | changed, _items(changed))

            return Case(f"mcp {tool} {label}", _TOOL_OPERATION, make)

        yield case("as usual", {})
        if schema.get("properties"):
            yield from _fields(schema, _MAX_TOOL_BYTES - 10_000, chance, case)


def _tool_call(tool: str, arguments: Mapping[str, Any], items: int) -> Sent:
    call = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    sent = posting(_TOOL_OPERATION, "/mcp", message)
    headers = {"Accept": "application/json, text/event-stream"}
    return Sent(sent.method, sent.path, sent.body, headers, items)


def _address_cases(operation: Operation) -> Iterator[Case]:
    """Yield cases of an operation's path and query string."""

    def case(label: str, change: Callable[[str], str]) -> Case:
        def make(prepared: Prepared) -> Sent:
            body = TENSOR if operation.name == _TENSOR_OPERATION else None
            if operation.method == "POST":
                body = b"{}"
            path = prepared.path(operation)
            if body is TENSOR:
                path = f"/v1/tensors/{digest_of(TENSOR)}"
            return Sent(operation.method, change(path), body)

        return Case(f"{operation.name} {label}", operation.name, make)

    yield case("as usual", lambda path: path)
    yield case(
        "?unknown x 2000", lambda path: path + "?" + "&".join(f"a{n}=1" for n in range(2000))
    )
    if operation.path_names:
        yield case("long path", lambda path: path.rpartition("/")[0] + "/" + "%41" * 20_000)
    for name, schema in operation.query.items():
        for label, query in _queries(name, schema):
            yield case(f"?{name} {label}", lambda path, query=query: f"{path}?{query}")


def _queries(name: str, schema: Schema) -> Iterator[tuple[str, str]]:
    enum = resolved(schema.get("items", schema)).get("enum")
    value = enum[0] if enum else "a"
    repeats = min(_MAX_REPEATS, _MAX_URL_BYTES // (len(name) + len(str(value)) + 2))
    yield "long", urlencode({name: "a" * (_MAX_URL_BYTES - 100)})
    yield "commas", f"{name}=" + ",".join([quote(str(value))] * 9_000)
    yield "repeated", "&".join([f"{name}={quote(str(value))}"] * repeats)
    yield "digits", f"{name}={'9' * 50_000}"


def _header_case(operation: Operation, chance: random.Random) -> Case:
    """Return a case of one large header."""
    header = chance.choice(sorted(_HEADERS))

    def make(prepared: Prepared) -> Sent:
        body = b"{}" if operation.method in {"POST", "PUT"} else None
        return Sent(operation.method, prepared.path(operation), body, {header: _HEADERS[header]()})

    return Case(f"{operation.name} {header}", operation.name, make)
