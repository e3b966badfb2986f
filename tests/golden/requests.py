"""The requests of the golden answers: each resource once, and its usual errors."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SOURCE = """import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)
"""
OUT_OF_BOUNDS = SOURCE.replace(", mask=mask)", ")")
WRONG_NAME = SOURCE.replace("tl.load(y_ptr", "tl.lod(y_ptr")
IR = """module {
  tt.func public @fill(%arg0: !tt.ptr<f32>, %arg1: f32) {
    tt.store %arg0, %arg1 : !tt.ptr<f32>
    tt.return
  }
}
"""
SIGNATURE = {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16", "out_ptr": "*fp32:16", "n": "i32"}
COMPILATION: dict[str, Any] = {
    "source": SOURCE,
    "signature": SIGNATURE,
    "constexprs": {"BLOCK": 256},
    "target": "cuda:90",
}
TENSOR = {"shape": [1000], "dtype": "fp32"}
ARGUMENTS = {
    "x_ptr": TENSOR | {"init": {"kind": "uniform", "seed": 1}},
    "y_ptr": TENSOR | {"init": {"kind": "uniform", "seed": 2}},
    "out_ptr": TENSOR | {"output": True},
    "n": 1000,
}
LAUNCH: dict[str, Any] = {
    "compilation": {"source": SOURCE, "constexprs": {"BLOCK": 256}},
    "device": "interpreter",
    "grid": ["cdiv(n, BLOCK)"],
    "arguments": ARGUMENTS,
    "reference": {"source": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"},
    "return": {"out_ptr": "summary"},
}
SWEEP: dict[str, Any] = {
    "base": {key: value for key, value in COMPILATION.items() if key != "constexprs"},
    "space": {"product": {"constexprs.BLOCK": [128, 256], "options.num_warps": [2, 4]}},
}
STATE = (
    b'{"version":1,"request":{"language":"python","source":"x","kernel":null,"signature":{},'
    b'"constexprs":{},"options":{},"target":"cuda:90","triton":null},"kept":null,"panes":["ptx"],'
    b'"launch":null}'
)


def _npy() -> bytes:
    written = io.BytesIO()
    np.save(written, np.arange(6, dtype=np.float32))
    return written.getvalue()


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


JSON = {"Content-Type": "application/json"}
NPY = _npy()
NPY_DIGEST = _digest(NPY)


@dataclass(frozen=True)
class Asked:
    """One request; the `url` in the answer to `name` replaces `{name}` in its path."""

    name: str
    method: str
    path: str
    json: Any = None
    content: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


def _post(name: str, path: str, json: Any, **headers: str) -> Asked:
    return Asked(name, "POST", path, json=json, headers=headers)


def _get(name: str, path: str) -> Asked:
    return Asked(name, "GET", path)


ASKED = [
    _post("compile", "/v1/compilations?wait=60", COMPILATION | {"include": ["ttir", "ptx"]}),
    _post("hit", "/v1/compilations?wait=60", COMPILATION | {"include": ["ttir", "ptx"]}),
    _get("compilation", "{compile}?include=ttgir"),
    _get("artifact", "{compile}/artifacts/ptx"),
    _get("artifact-of-no-stage", "{compile}/artifacts/nothing"),
    _get("lines", "{compile}/lines?wait=60"),
    _get("passes", "{compile}/passes?wait=60"),
    _get("sass", "{compile}/artifacts/sass?wait=60"),
    _get("numpy", "{compile}/artifacts/numpy?wait=60"),
    _get("export-c", "{compile}/exports/c?wait=60"),
    _get("request", "{compile}/request"),
    _post("compile-hip", "/v1/compilations?wait=60", COMPILATION | {"target": "hip:gfx942"}),
    _post(
        "compile-ir",
        "/v1/compilations?wait=60",
        {"ir": {"language": "ttir", "text": IR}, "target": "cuda:90"},
    ),
    _get("diff", "{compile}/diff/{compile-hip:key}?wait=60"),
    _post("does-not-compile", "/v1/compilations?wait=60", COMPILATION | {"source": WRONG_NAME}),
    _post("no-such-kernel", "/v1/compilations?wait=60", COMPILATION | {"kernel": "sub"}),
    _post("no-constexpr", "/v1/compilations?wait=60", COMPILATION | {"constexprs": {}}),
    _post("unknown-option", "/v1/compilations?wait=60", COMPILATION | {"options": {"warps": 4}}),
    _post("unknown-target", "/v1/compilations?wait=60", COMPILATION | {"target": "cuda:1"}),
    _post("unknown-field", "/v1/compilations?wait=60", COMPILATION | {"tagret": "cuda:90"}),
    _get("no-such-compilation", f"/v1/compilations/{'0' * 64}"),
    Asked("no-content-type", "POST", "/v1/compilations", content=b"{}"),
    Asked("not-json", "POST", "/v1/compilations", content=b"{", headers=JSON),
    _post("inspect", "/v1/inspect?wait=60", {"source": SOURCE}),
    _post("launch", "/v1/launches?wait=60", LAUNCH, **{"Idempotency-Key": "golden"}),
    _post("launch-again", "/v1/launches?wait=60", LAUNCH, **{"Idempotency-Key": "golden"}),
    _get("launch-by-url", "{launch}"),
    _post(
        "mismatch",
        "/v1/launches?wait=60",
        LAUNCH | {"reference": {"source": "def reference(x_ptr, **_):\n    return x_ptr\n"}},
    ),
    _post(
        "out-of-bounds",
        "/v1/launches?wait=60",
        LAUNCH | {"compilation": {"source": OUT_OF_BOUNDS, "constexprs": {"BLOCK": 256}}},
    ),
    _post(
        "cases",
        "/v1/launches?wait=60",
        LAUNCH | {"cases": [{"name": "odd", "arguments": {"n": 999}}, {"name": "even"}]},
    ),
    _post("launch-without-grid", "/v1/launches", {k: v for k, v in LAUNCH.items() if k != "grid"}),
    Asked("tensor", "PUT", f"/v1/tensors/{NPY_DIGEST}", content=NPY),
    _get("tensor-back", f"/v1/tensors/{NPY_DIGEST}"),
    _post(
        "batch",
        "/v1/batches?wait=60",
        {"kind": "compilations", "requests": [COMPILATION, {"source": 1}]},
    ),
    _post("sweep", "/v1/sweeps?wait=60", SWEEP),
    _get("sweep-as-csv", "{sweep}?format=csv"),
    _get("winners", "{sweep}/winners/json"),
    _post("sweep-of-nothing", "/v1/sweeps", SWEEP | {"where": ["BLOCK > 4096"]}),
    _post(
        "program-without-entry",
        "/v1/programs",
        {"source": "import torch\n", "reference": {"source": "import torch\n"}},
    ),
    Asked("state", "PUT", f"/v1/states/{_digest(STATE)}", content=STATE, headers=JSON),
    _get("state-back", f"/v1/states/{_digest(STATE)}"),
    _post("mcp", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}),
    _get("explorer-compilers", "/api/compilers/triton"),
    _get("kernelgym-task", "/status/none"),
    _get("targets", "/v1/targets"),
    _get("devices", "/v1/devices"),
    _get("healthz", "/healthz"),
    _get("readyz", "/readyz"),
    _get("no-such-page", "/v1/nothing"),
]
