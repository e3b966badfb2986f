"""Wrong bodies that are as expensive as they can be made, for each route that reads JSON.

Each is as large as its route lets it be, or holds as many values as a body may, whichever comes
first: a body beyond those bounds is refused before it is parsed, which some of them try.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}
MOST_VALUES = 295_000
MOST_CONTAINERS = 98_000
MOST_VALUES_OF_TOOL = 49_000
MOST_CONTAINERS_OF_TOOL = 9_800
BODY_BYTES = 8 << 20
BATCH_BYTES = 16 << 20
STATE_BYTES = 2 << 20
SOURCE = (
    "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
    "def fill(x_ptr, value, BLOCK: tl.constexpr):\n"
    "    tl.store(x_ptr + tl.arange(0, BLOCK), value)\n"
)
COMPILATION = {
    "source": SOURCE,
    "signature": {"x_ptr": "*fp32:16", "value": "fp32"},
    "constexprs": {"BLOCK": 64},
    "target": "cuda:90",
}
BUFFER = {"shape": [64], "dtype": "fp32", "output": True}
LAUNCH = {
    "compilation": {"source": SOURCE, "constexprs": {"BLOCK": 64}},
    "device": "interpreter",
    "grid": [1],
    "arguments": {"x_ptr": BUFFER, "value": 1.0},
}
PROGRAM = {"source": "class ModelNew: pass\n", "reference": {"source": "class Model: pass\n"}}


@dataclass(frozen=True, slots=True)
class Refused:
    """A body of `method` and `path`, made when it is needed."""

    name: str
    path: str
    content: Callable[[], bytes]
    method: str = "POST"
    path_of: Callable[[bytes], str] | None = None

    def at(self, content: bytes) -> "Refused":
        """Return this with the path that its content has."""
        return self if self.path_of is None else replace(self, path=self.path_of(content))


@dataclass(frozen=True, slots=True)
class _Room:
    """How much a filler may write."""

    size_bytes: int
    values: int
    containers: int

    def count(self, item: str, names: int = 0) -> int:
        """Return how many of `item`, with a comma and so many colons each, there is room for."""
        containers = item.count("[") + item.count("{")
        return min(
            self.size_bytes // (len(item) + 1),
            self.values // (1 + containers + names + item.count(":")),
            self.containers // max(1, containers) if containers else self.values,
        )

    def split(self, parts: int) -> "_Room":
        """Return the room of one of so many parts."""
        return _Room(self.size_bytes // parts, self.values // parts, self.containers // parts)


Filler = Callable[[_Room], str]
_HOLE = "@"


def _listed(item: str) -> Filler:
    return lambda room: "[" + ",".join([item] * max(1, room.count(item))) + "]"


def _named(item: str, name: str = "argument") -> Filler:
    def filled(room: _Room) -> str:
        count = max(1, room.count(f'"{name}00000":{item}'))
        return "{" + ",".join(f'"{name}{index:x}":{item}' for index in range(count)) + "}"

    return filled


_DEEP = "[" * 150 + "]" * 150
FILLERS: dict[str, Filler] = {
    "objects in a list": _listed("{}"),
    "lists in a list": _listed("[]"),
    "objects with a member in a list": _listed('{"":0}'),
    "deep lists": _listed(_DEEP),
    "numbers in a list": _listed("0"),
    "texts in a list": _listed('"a"'),
    "long texts in a list": _listed('"' + "a" * 100 + '"'),
    "numbers by name": _named("0"),
    "objects by name": _named("{}"),
    "long names": _named("0", name="a" * 200),
    "a number of many digits in a list": _listed("1" * 199),
    "one long text": lambda room: '"' + "\\u00e9" * (room.size_bytes // 6) + '"',
    "one long name": lambda room: '{"' + "a" * room.size_bytes + '":{"shape":{}}}',
}


def _without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _in(body: Any, *names: str) -> Any:
    """Return `body` with a hole at the place that `names` lead to."""
    if not names:
        return _HOLE
    name, *rest = names
    members = body if isinstance(body, dict) else {}
    return _without(members, name) | {name: _in(members.get(name), *rest)}


_CASES = {"cases": [_HOLE] * 100}
_TASK = {"task_id": "a", "kernel_code": "class ModelNew: pass", "reference_code": "class Model: 1"}
_SOLUTION = {
    "name": "a",
    "definition": "b",
    "author": "c",
    "spec": {"language": "python", "target_hardware": ["cuda"], "entry_point": "main.py::run"},
    "sources": [{"path": "main.py", "content": "def run(): pass"}],
}
_TEXTS = {"language": "python", "source": SOURCE, "kernel": None, "signature": {}, "constexprs": {},
          "options": {}, "target": "cuda:90", "triton": None}  # fmt: skip
_STATE = {"version": 1, "request": _TEXTS, "kept": None, "panes": [], "launch": None}
_FORMS = {"grid": "1", "arguments": {}, "reference": "", "cases": []}
_SWEEP = {"base": COMPILATION, "space": {"constexprs": {"BLOCK": [64, 128]}}}


def _called(tool: str, arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


_MCP_LAUNCH = {"source": SOURCE, "arguments": LAUNCH["arguments"], "grid": [1]}
_MCP_COMPILE = COMPILATION
HOLES: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"compilation, {name}": ("/v1/compilations", _in(COMPILATION, *name.split(".")))
        for name in ("ir", "files", "hints", "constexprs", "signature", "options", "include",
                     "specialization_data", "target", "constexprs.BLOCK", "signature.x_ptr",
                     "hints.x_ptr", "timeout_s")
    },
    **{
        f"inspection, {name}": ("/v1/inspect", _in({"source": SOURCE}, name))
        for name in ("files", "target", "source")
    },
    **{
        f"launch, {name}": ("/v1/launches", _in(LAUNCH, *name.split(".")))
        for name in ("compilation", "compilation.files", "compilation.constexprs", "grid", "cases",
                     "arguments", "arguments.x_ptr", "arguments.x_ptr.shape", "reference",
                     "arguments.x_ptr.init", "device", "return", "checks", "timing", "trace",
                     "trace.programs", "fuzz", "fuzz.fixed", "reference.grid", "fallback")
    },
    "launch, values": (
        "/v1/launches",
        _in(LAUNCH, "arguments", "x_ptr")
        | {"arguments": {"x_ptr": BUFFER | {"init": {"kind": "values", "values": _HOLE}}}},
    ),
    "launch, values of no elements": (
        "/v1/launches",
        LAUNCH
        | {
            "arguments": {
                "x_ptr": {
                    "shape": [147_000, 0],
                    "dtype": "fp32",
                    "init": {"kind": "values", "values": _HOLE},
                }
            }
        },
    ),
    "launch, a tuple": ("/v1/launches", _in(LAUNCH, "arguments", "x_ptr", "tuple")),
    "launch, a view": ("/v1/launches", _in(LAUNCH, "arguments", "value", "view")),
    "launch, a descriptor": ("/v1/launches", _in(LAUNCH, "arguments", "value", "descriptor")),
    "launch, kind of an init": (
        "/v1/launches",
        _in(LAUNCH, "arguments", "x_ptr", "init", "kind"),
    ),
    "launch, each of 100 cases": ("/v1/launches", LAUNCH | _CASES),
    "launch, arguments of 100 cases": (
        "/v1/launches",
        LAUNCH | {"cases": [{"arguments": _HOLE}] * 100},
    ),
    "launch, reference of 100 cases": (
        "/v1/launches",
        LAUNCH | {"cases": [{"reference": _HOLE}] * 100},
    ),
    "launch, each of 256 arguments": (
        "/v1/launches",
        LAUNCH | {"arguments": {f"argument{index}": _HOLE for index in range(256)}},
    ),
    "launches by id, ids": ("/v1/launches/query", {"ids": _HOLE}),
    **{
        f"program, {name}": ("/v1/programs", _in(PROGRAM, *name.split(".")))
        for name in ("reference", "files", "reference.files", "entry", "entry.outputs", "inputs",
                     "cases", "checks", "timing", "tolerance", "device", "source")
    },
    "program, inputs of 32 cases": ("/v1/programs", PROGRAM | {"cases": [{"inputs": _HOLE}] * 32}),
    **{
        f"batch of {kind}, {what}": ("/v1/batches", {"kind": kind, "requests": requests})
        for kind, good in (
            ("compilations", COMPILATION), ("launches", LAUNCH), ("programs", PROGRAM)
        )
        for what, requests in (
            ("requests", _HOLE),
            ("each of 1,000", [_HOLE] * 1000),
            ("one member of each of 1,000", [good | {"optoins": _HOLE}] * 1000),
        )
    },
    "batch, kind": ("/v1/batches", {"kind": _HOLE, "requests": [{}]}),
    **{
        f"sweep, {name}": ("/v1/sweeps", _in(_SWEEP, *name.split(".")))
        for name in ("base", "base.files", "base.constexprs", "space", "space.product", "where",
                     "space.variants", "space.constexprs", "space.constexprs.BLOCK",
                     "space.options", "space.source", "space.target", "search", "include",
                     "space.like")
    },
    "sweep of launches, arguments": (
        "/v1/sweeps",
        {"base": LAUNCH, "space": {"arguments": _HOLE}},
    ),
    **{
        f"state, {name}": ("/v1/states/", _in(_STATE, *name.split(".")))
        for name in ("request", "request.signature", "kept", "panes", "launch")
    },
    **{
        f"state, {name}": ("/v1/states/", _STATE | {"launch": _in(_FORMS, name)})
        for name in ("arguments", "cases")
    },
    "state, each of 99 cases": (
        "/v1/states/",
        _STATE | {"launch": _FORMS | {"cases": [_HOLE] * 99}},
    ),
    "state, arguments of 99 cases": (
        "/v1/states/",
        _STATE | {"launch": _FORMS | {"cases": [{"name": "", "arguments": _HOLE}] * 99}},
    ),
    **{
        f"Compiler Explorer, {name}": (
            "/api/compiler/@/compile",
            _in({"source": SOURCE, "options": {}}, *name.split(".")),
        )
        for name in ("options", "files", "options.tools", "options.libraries", "options.filters",
                     "options.userArguments", "lang")
    },
    "Compiler Explorer, each of 1,000 files": (
        "/api/compiler/@/compile",
        {"source": SOURCE, "files": [_HOLE] * 1000},
    ),
    **{
        f"KernelGYM, {name}": ("/kernelgym/evaluate", _in(_TASK, name))
        for name in ("cases", "resources", "kernel_code", "toolkit")
    },
    "KernelGYM, tasks of a batch": ("/evaluate/batch", {"batch_id": "a", "tasks": _HOLE}),
    "KernelGYM, each of 100 tasks": ("/evaluate/batch", {"batch_id": "a", "tasks": [_HOLE] * 100}),
    "KernelGYM, a field of each of 100 tasks": (
        "/evaluate/batch",
        {"batch_id": "a", "tasks": [_TASK | {"kernel_codes": _HOLE}] * 100},
    ),
    **{
        f"flashinfer-bench, {name}": (
            "/flashinfer-bench/evaluate",
            _in({"solution": _SOLUTION}, *name.split(".")),
        )
        for name in ("solution", "solution.sources", "solution.spec", "workload_uuids",
                     "solution.spec.dependencies", "solution.description")
    },
    "flashinfer-bench, each of 64 sources": (
        "/flashinfer-bench/evaluate",
        {"solution": _SOLUTION | {"sources": [_HOLE] * 64}},
    ),
    "either evaluator": ("/evaluate", {"solution": _HOLE}),
    **{
        f"MCP launch, {name}": ("/mcp", _called("launch", _in(_MCP_LAUNCH, *name.split("."))))
        for name in ("grid", "checks", "arguments", "arguments.x_ptr", "signature", "reference")
    },
    **{
        f"MCP compile, {name}": ("/mcp", _called("compile", _in(_MCP_COMPILE, *name.split("."))))
        for name in ("signature", "constexprs", "options", "target", "constexprs.BLOCK")
    },
    "MCP, arguments": ("/mcp", _called("launch", _HOLE)),
    "MCP, name of the tool": ("/mcp", _called(_HOLE, {})),
    "MCP, params": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _HOLE}),
    "MCP, method": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": _HOLE}),
    "MCP, id": ("/mcp", {"jsonrpc": "2.0", "id": _HOLE, "method": "tools/list"}),
}  # fmt: skip
ROOTS: dict[str, tuple[str, dict[str, Any]]] = {
    "compilation": ("/v1/compilations", COMPILATION),
    "inspection": ("/v1/inspect", {"source": SOURCE}),
    "launch": ("/v1/launches", LAUNCH),
    "launches by id": ("/v1/launches/query", {"ids": []}),
    "program": ("/v1/programs", PROGRAM),
    "batch": ("/v1/batches", {"kind": "compilations", "requests": [COMPILATION]}),
    "sweep": ("/v1/sweeps", _SWEEP),
    "state": ("/v1/states/", _STATE),
    "Compiler Explorer": ("/api/compiler/@/compile", {"source": SOURCE}),
    "KernelGYM": ("/kernelgym/evaluate", _TASK),
    "KernelGYM, batch": ("/evaluate/batch", {"batch_id": "a", "tasks": [_TASK]}),
    "flashinfer-bench": ("/flashinfer-bench/evaluate", {"solution": _SOLUTION}),
    "flashinfer-bench, ids": ("/flashinfer-bench/tasks/batch", {"task_ids": []}),
    "either evaluator": ("/evaluate", {"kernel_code": "a"}),
    "MCP": ("/mcp", _called("targets", {})),
}


def bodies() -> Iterator[Refused]:
    """Yield all of them: each hole and each root with each filler, and some that are neither."""
    for name, (path, template) in HOLES.items():
        for what, filler in FILLERS.items():
            yield _refused(f"{name}: {what}", path, template, filler)
    for name, (path, good) in ROOTS.items():
        for what, filler in FILLERS.items():
            yield _refused(f"{name}, all of it: {what}", path, _HOLE, filler)
            beyond = f"{name}, all of it, as many as fit: {what}"
            yield _refused(beyond, path, _HOLE, filler, as_many_as_fit=True)
        yield _refused(f"{name}: unknown members", path, good, _more_members(good))
    for what, text in _OF_TEXTS.items():
        yield _raw(what, "/v1/compilations", text)


def _more_members(good: dict[str, Any]) -> Filler:
    def filled(room: _Room) -> str:
        return json.dumps(good)[:-1] + "," + _named("0")(room)[1:]

    return filled


def _text(unit: str, commas: int = 0) -> Callable[[], bytes]:
    def made() -> bytes:
        text = b"," * commas + unit.encode() * ((BODY_BYTES - commas - 64) // len(unit.encode()))
        return b'{"target":"cuda:90","source":"' + text + b'"}'

    return made


_OF_TEXTS: dict[str, Callable[[], bytes]] = {
    "a source of escapes, and commas": _text('\\"', 400_000),
    "a source of commas": _text(",[{"),
    "a source of another script": _text("\u00e9"),
    "a source that never ends": lambda: b'{"source":"' + b'\\"' * (BODY_BYTES // 2 - 10),
    "texts without anything between": lambda: b'"' * BODY_BYTES,
    "one number of 8 MiB": lambda: b'{"timeout_s":' + b"1" * (BODY_BYTES - 20) + b"}",
    "one fraction of 8 MiB": lambda: b'{"timeout_s":1.' + b"1" * (BODY_BYTES - 20) + b"}",
    "one member again and again": lambda: (
        b"{" + b",".join([b'"source":"a"'] * (MOST_VALUES // 2)) + b"}"
    ),
    "one number of 4,000 digits, and no end": lambda: (
        b"[" + b"1" * 4000 + b"," + b' "a"' * (BODY_BYTES // 4 - 2000)
    ),
    "brackets that never end": lambda: b"[" * BODY_BYTES,
    "spaces": lambda: b"[" + b" " * (BODY_BYTES - 2) + b"]",
}


def _refused(
    name: str, path: str, template: Any, filler: Filler, *, as_many_as_fit: bool = False
) -> Refused:
    def made() -> bytes:
        size_bytes = _limit_bytes(path)
        values, containers = _most(path, as_many_as_fit=as_many_as_fit)
        around = json.dumps(template)
        if template is not _HOLE and f'"{_HOLE}"' not in around:  # the filler has it in it
            room = _Room(size_bytes - 2 * len(around), values - 100, containers)
            return filler(room).encode()
        holes = around.count(f'"{_HOLE}"')
        taken = sum(map(around.count, ",:[{")) + 3 * holes
        rest = _Room(size_bytes - len(around) - 64 * holes, values - taken, containers - taken)
        return around.replace(f'"{_HOLE}"', filler(rest.split(holes))).encode()

    return _raw(name, path, made)


def _most(path: str, *, as_many_as_fit: bool) -> tuple[int, int]:
    if as_many_as_fit:
        return BATCH_BYTES, BATCH_BYTES
    if path == "/mcp":
        return MOST_VALUES_OF_TOOL, MOST_CONTAINERS_OF_TOOL
    return MOST_VALUES, MOST_CONTAINERS


def _limit_bytes(path: str) -> int:
    if path in ("/v1/batches", "/v1/sweeps", "/evaluate/batch"):
        return BATCH_BYTES
    return STATE_BYTES if path == "/v1/states/" else BODY_BYTES


def _raw(name: str, path: str, made: Callable[[], bytes]) -> Refused:
    if path == "/v1/states/":
        return Refused(name, path + "sha256:" + "0" * 64, made, "PUT", _state_path)
    return Refused(name, path, made)


def _state_path(content: bytes) -> str:
    return f"/v1/states/sha256:{hashlib.sha256(content).hexdigest()}"
