"""A fake service for the gate: tests choose its answers.

It replaces only httpx's transport, so tests exercise the whole gate. tests/toolchains and
tests/integration cover real compilers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from tritonc.cli.main import main

from tests.unit.client import fake_tritond

TARGETS = ["cuda:80", "cuda:90", "hip:gfx942"]
VERSIONS = ["3.6.0", "3.9.0"]
MIX = {
    "total": 20,
    "code_bytes": 320,
    "by_class": {"integer": 15, "local": 0, "tensor": 5},
    "by_opcode": {"IMAD": 15, "HMMA.16816.F32": 5},
    "by_line": [
        {"file": "user.py", "line": 6, "total": 15, "by_class": {"integer": 15}},
        {"file": "user.py", "line": 7, "total": 5, "by_class": {"tensor": 5}},
        {"file": None, "line": None, "total": 0, "by_class": {}},
    ],
}
EXPLANATION = {
    "matrix_products": [],
    "tma": {"copies": 0, "reason": None, "message": None},
    "not_vectorised": [{"file": "user.py", "line": 7, "message": "not vectorised: 1 load"}],
    "uncoalesced": [{"file": "user.py", "line": 7, "message": "uncoalesced: a load"}],
    "layout_conversions": [],
}
KERNEL = """import triton
import triton.language as tl

@triton.jit
def double(x_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    tl.store(x_ptr + offsets, 2 * tl.load(x_ptr + offsets))
"""

Compiled = Callable[[dict[str, Any]], dict[str, Any]]


class GateService(httpx.MockTransport):
    """Tests set `compiled`, `launched`, `mixes` by target and Triton, or `mix_of` a request."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.requests: list[dict[str, Any]] = []
        self.compiled: Compiled = lambda request: {}
        self.launched: Compiled = lambda request: {}
        self.refused: dict[str, Any] | None = None
        self.refusals = 10**6
        self.is_too_large = False
        self.proof: dict[str, Any] = {"verdict": "proved"}
        self.made: dict[str, dict[str, Any]] = {}
        self.batches = 0
        self.proposals: dict[str, str] = {}
        self.parameters = ["x_ptr", "N"]
        self.kernels = ["double"]
        self.lost_after = 10**6
        self.inspected = 0
        self.mixes: dict[tuple[str, str], dict[str, Any]] = {}
        self.mix: dict[str, Any] | None = MIX
        self.mix_of: Compiled | None = None
        self._keys: dict[str, dict[str, Any]] = {}
        self._batch: list[dict[str, Any]] = []

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path == "/v1/targets":
            offered = [
                {"triton": version, "targets": TARGETS, "default": version == VERSIONS[-1]}
                for version in VERSIONS
            ]
            return _json({"targets": TARGETS, "toolchains": offered})
        if path.startswith("/v1/compilations"):
            return self._of_compilations(path, request)
        if path == "/v1/inspect":
            self.inspected += 1
            if self.inspected > self.lost_after:
                raise httpx.ConnectTimeout("timed out")
            facts = [self._fact(name) for name in self.parameters]
            source = json.loads(request.content)["source"]
            there = (name for name in self.kernels if f"def {name}(" in source)
            kernels = [{"name": name, "parameters": facts} for name in there]
            return _json({"kernels": kernels, "problem": None})
        if path == "/v1/proofs":
            return _json({"id": "p1", "state": "completed", **self.proof})
        if request.method == "POST":
            body = json.loads(request.content)
            self.batches += 1
            self.requests = body["requests"]
            item = self._compilation if body["kind"] == "compilations" else self._launch
            self._batch = [item(index, one) for index, one in enumerate(self.requests)]
        return _json({"id": "b1", "counts": {}, "items": self._batch})

    def _of_compilations(self, path: str, request: httpx.Request) -> httpx.Response:
        key = path.split("/")[3] if path.count("/") > 2 else ""
        if path.endswith("/instructions"):
            posted = self._keys[key]
            mix = self.mixes.get((posted["target"], posted.get("triton", "")), self.mix)
            mix = self.mix_of(posted) if self.mix_of is not None else mix
            if mix is None:
                problem = {"slug": "not_derivable", "status": 422}
                return httpx.Response(422, json=problem)
            return _json(mix)
        if path.endswith("/passes"):
            return _json({"passes": []})
        if "/diff/" in path:
            return _json(_same(*path.split("/")[3::2]))
        if path.endswith("/request"):
            return _json(self._keys[key])
        if path.endswith("/explanation"):
            return _json(EXPLANATION)
        if request.method == "POST":
            return _json(self._compilation(0, json.loads(request.content))["result"])
        return _json(self.made[key])

    def _fact(self, name: str) -> dict[str, Any]:
        """Return a parameter as `inspect` answers; tests set `proposals` of types by name."""
        fact = {"name": name, "constexpr": name != "x_ptr", "default": None, "proposal": None}
        if (kind := self.proposals.get(name)) is None:
            return fact
        values = [64] if kind == "constexpr" else []
        proposal = {"type": kind, "hints": [], "values": values, "confidence": "high"}
        return fact | {"proposal": proposal}

    def _compilation(self, index: int, posted: dict[str, Any]) -> dict[str, Any]:
        if self.refused is not None and self.refusals:
            self.refusals -= 1
            return _item(index, self.refused.get("status", 422), None, self.refused)
        key = hashlib.sha256(json.dumps(posted).encode()).hexdigest()
        self._keys[key] = posted
        usual = {
            "key": key,
            "kernel": "double",
            "target": posted["target"],
            "resources": resources(posted["target"]),
            "included": {"ptx": "add.s32 %r1, 1, 2;"} if posted.get("include") else {},
        }
        made = fake_tritond.compilation(**(usual | self.compiled(posted)))
        self.made[key] = made
        if self.is_too_large:
            problem = {"slug": "too_large", "retryable": False}
            return _item(index, 200, None, problem) | {"url": f"/v1/compilations/{key}"}
        return _item(index, 200, made, None)

    def _launch(self, index: int, posted: dict[str, Any]) -> dict[str, Any]:
        return _item(index, 200, fake_tritond.launch(**self.launched(posted)), None)


def resources(target: str = "cuda:90", **changes: Any) -> dict[str, Any]:
    """Return the registers, spills and shared memory of a compilation's record."""
    is_hip = target.startswith("hip")
    return {
        "backend": "hip" if is_hip else "cuda",
        "registers": 32,
        "spill_store_bytes": 0,
        "spill_load_bytes": 0,
        "stack_bytes": 0,
        "shared_bytes": 1024,
        "shared_limit_bytes": 65536,
        "vgpr_spills": 0 if is_hip else None,
        "sgpr_spills": 0 if is_hip else None,
        "occupancy": {"ratio": 0.5},
        "fits": True,
    } | changes


def asking_for(module: str) -> Compiled:
    """Return an answer that asks for a module until it is sent, or reported as absent."""
    problem = {"slug": "missing_module", "detail": "modules were not sent", "needs": [module]}

    def compiled(posted: dict[str, Any]) -> dict[str, Any]:
        is_there = f"{module}.py" in posted.get("files", {})
        if is_there or module in posted.get("absent", ()):
            return {}
        return {"state": "failed", "problem": problem}

    return compiled


def write_gate(budgets: str, kernel: str = "", *, targets: str = '["cuda:90"]') -> None:
    """Write `kernels.toml` and `double.py` into the working directory."""
    Path("double.py").write_text(KERNEL)
    Path("kernels.toml").write_text(
        f"[matrix]\ntargets = {targets}\n{budgets}\n[kernels.double]\nsource = 'double.py'\n"
        f"signature = {{x_ptr = '*fp32:16'}}\nconstexprs = {{N = 64}}\n{kernel}\n"
    )


def gate(service: GateService, *argv: str) -> int:
    """Run `tritonc gate`; return its exit code."""
    return main(["gate", *argv], environment={"TRITOND_URL": "http://t.test"}, transport=service)


def _same(a: str, b: str) -> dict[str, Any]:
    """Return the diff of two compilations with the same machine code."""
    stage = {"stage": "sass", "same": True, "only_in": None, "added": 0, "removed": 0}
    stage |= {"registers_differ": False, "diff": None, "truncated": False}
    both = {name: {"a": None, "b": None} for name in ("state", "problem", "kernel", "target")}
    parts: dict[str, Any] = {"toolchain": {}, "options": {}, "parameters": {}, "resources": {}}
    rest = {"a": a, "b": b, "same": True, "instructions": None, "stages": [stage]}
    return {**both, **parts, **rest}


def _json(body: Any) -> httpx.Response:
    """Return a JSON response that keeps lone surrogates, which UTF-8 cannot encode."""
    return httpx.Response(
        200, content=json.dumps(body), headers={"Content-Type": "application/json"}
    )


def _item(index: int, status: int, result: Any, problem: Any) -> dict[str, Any]:
    return {"index": index, "status": status, "url": None, "result": result, "problem": problem}
