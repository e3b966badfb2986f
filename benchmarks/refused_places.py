"""Templates of wrong bodies: good bodies with a hole, for each route that reads JSON."""

from typing import Any

HOLE = "@"
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
    "device": "cpu",
    "grid": [1],
    "arguments": {"x_ptr": BUFFER, "value": 1.0},
}
PROGRAM = {"source": "class ModelNew: pass\n", "reference": {"source": "class Model: pass\n"}}


def _without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _in(body: Any, *names: str) -> Any:
    """Return `body` with a hole at the path `names`."""
    if not names:
        return HOLE
    name, *rest = names
    members = body if isinstance(body, dict) else {}
    return _without(members, name) | {name: _in(members.get(name), *rest)}


_CASES = {"cases": [HOLE] * 100}
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
                     "trace.programs", "fuzz", "fuzz.fixed", "reference.grid")
    },
    "launch, values": (
        "/v1/launches",
        _in(LAUNCH, "arguments", "x_ptr")
        | {"arguments": {"x_ptr": BUFFER | {"init": {"kind": "values", "values": HOLE}}}},
    ),
    "launch, values of no elements": (
        "/v1/launches",
        LAUNCH
        | {
            "arguments": {
                "x_ptr": {
                    "shape": [147_000, 0],
                    "dtype": "fp32",
                    "init": {"kind": "values", "values": HOLE},
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
        LAUNCH | {"cases": [{"arguments": HOLE}] * 100},
    ),
    "launch, reference of 100 cases": (
        "/v1/launches",
        LAUNCH | {"cases": [{"reference": HOLE}] * 100},
    ),
    "launch, each of 256 arguments": (
        "/v1/launches",
        LAUNCH | {"arguments": {f"argument{index}": HOLE for index in range(256)}},
    ),
    "launches by id, ids": ("/v1/launches/query", {"ids": HOLE}),
    **{
        f"program, {name}": ("/v1/programs", _in(PROGRAM, *name.split(".")))
        for name in ("reference", "files", "reference.files", "entry", "entry.outputs", "inputs",
                     "cases", "checks", "timing", "tolerance", "device", "source")
    },
    "program, inputs of 32 cases": ("/v1/programs", PROGRAM | {"cases": [{"inputs": HOLE}] * 32}),
    **{
        f"batch of {kind}, {what}": ("/v1/batches", {"kind": kind, "requests": requests})
        for kind, good in (
            ("compilations", COMPILATION), ("launches", LAUNCH), ("programs", PROGRAM)
        )
        for what, requests in (
            ("requests", HOLE),
            ("each of 1,000", [HOLE] * 1000),
            ("one member of each of 1,000", [good | {"optoins": HOLE}] * 1000),
        )
    },
    "batch, kind": ("/v1/batches", {"kind": HOLE, "requests": [{}]}),
    **{
        f"sweep, {name}": ("/v1/sweeps", _in(_SWEEP, *name.split(".")))
        for name in ("base", "base.files", "base.constexprs", "space", "space.product", "where",
                     "space.variants", "space.constexprs", "space.constexprs.BLOCK",
                     "space.options", "space.source", "space.target", "search", "include",
                     "space.like")
    },
    "sweep of launches, arguments": (
        "/v1/sweeps",
        {"base": LAUNCH, "space": {"arguments": HOLE}},
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
        _STATE | {"launch": _FORMS | {"cases": [HOLE] * 99}},
    ),
    "state, arguments of 99 cases": (
        "/v1/states/",
        _STATE | {"launch": _FORMS | {"cases": [{"name": "", "arguments": HOLE}] * 99}},
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
        {"source": SOURCE, "files": [HOLE] * 1000},
    ),
    **{
        f"KernelGYM, {name}": ("/kernelgym/evaluate", _in(_TASK, name))
        for name in ("cases", "resources", "kernel_code", "toolkit")
    },
    "KernelGYM, tasks of a batch": ("/evaluate/batch", {"batch_id": "a", "tasks": HOLE}),
    "KernelGYM, each of 100 tasks": ("/evaluate/batch", {"batch_id": "a", "tasks": [HOLE] * 100}),
    "KernelGYM, a field of each of 100 tasks": (
        "/evaluate/batch",
        {"batch_id": "a", "tasks": [_TASK | {"kernel_codes": HOLE}] * 100},
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
        {"solution": _SOLUTION | {"sources": [HOLE] * 64}},
    ),
    "either evaluator": ("/evaluate", {"solution": HOLE}),
    **{
        f"MCP launch, {name}": ("/mcp", _called("launch", _in(_MCP_LAUNCH, *name.split("."))))
        for name in ("grid", "checks", "arguments", "arguments.x_ptr", "signature", "reference")
    },
    **{
        f"MCP compile, {name}": ("/mcp", _called("compile", _in(_MCP_COMPILE, *name.split("."))))
        for name in ("signature", "constexprs", "options", "target", "constexprs.BLOCK")
    },
    "MCP, arguments": ("/mcp", _called("launch", HOLE)),
    "MCP, name of the tool": ("/mcp", _called(HOLE, {})),
    "MCP, params": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": HOLE}),
    "MCP, method": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": HOLE}),
    "MCP, id": ("/mcp", {"jsonrpc": "2.0", "id": HOLE, "method": "tools/list"}),
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
