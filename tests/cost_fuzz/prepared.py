"""Finished jobs and stored objects that requests name: made once for a deployment."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from programs.program_request import EXAMPLE as PROGRAM_EXAMPLE
from tests.cost_fuzz import vocabulary as words
from tests.cost_fuzz.operations import Operation

COMPILATION = {
    "source": words.ADD,
    "signature": words.SIGNATURE,
    "constexprs": {"B": 16},
    "target": "cuda:90",
}
LAUNCH = {
    "compilation": {"source": words.ADD, "constexprs": {"B": 16}, "target": "cuda:90"},
    "device": "cpu",
    "grid": ["cdiv(n, B)"],
    "arguments": words.add_arguments(),
    "return": {"o_ptr": "tensor"},
    "trace": {"programs": [[0, 0, 0]]},
}
PROOF = {k: v for k, v in COMPILATION.items() if k != "target"} | {"contract": words.ADD_CONTRACT}
SWEEP = {
    "base": COMPILATION | {"stop_after": "ttir"},
    "space": {"product": {"constexprs.B": [16, 32, 64], "options.num_warps": [1, 2, 4]}},
}
PROGRAM = PROGRAM_EXAMPLE | {"deadline_s": 2}
STATE = {
    "version": 1,
    "request": {
        "language": "python",
        "source": "x",
        "kernel": None,
        "signature": {},
        "constexprs": {},
        "options": {},
        "target": "cuda:90",
        "triton": None,
    },
    "kept": None,
    "panes": [],
    "launch": None,
}
_OVER = {"succeeded", "completed", "failed", "cancelled", "partial"}
_FIXED = {
    "stage": "ptx",
    "format": "c",
    "argument": "o_ptr",
    "language": "python",
    "name": "rmsnorm_h128",
    "uuid": "none",
    "task_id": "none",
}


def digest_of(body: bytes) -> str:
    """Return the name of stored bytes."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def npy(size_bytes: int) -> bytes:
    """Return a file of an array of zeros."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({size_bytes // 4},), }}"
    head = text.ljust(117) + "\n"
    return (
        b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(size_bytes)
    )


TENSOR = npy(4)


class Prepared:
    """Objects that a deployment at `url` holds for the cases, each made when it is first needed."""

    def __init__(self, url: str) -> None:
        accept = {"Accept": "application/json"}
        self._http = httpx.Client(base_url=url, timeout=90, headers=accept)
        self._jobs: dict[str, dict[str, Any]] = {}
        self._uploads: dict[bytes, str] = {}

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def load(self) -> None:
        """Have the service load what it loads at the first request: not that one's cost."""
        for path in ("/openapi.json", "/openapi-adapters.json", "/docs", "/metrics", "/v1/targets"):
            self._http.get(path).raise_for_status()
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        headers = {"Accept": "application/json, text/event-stream"}
        self._http.post("/mcp", json=message, headers=headers).raise_for_status()
        self.launch()

    def finished(self, path: str, body: Mapping[str, Any], within_s: float = 120) -> dict[str, Any]:
        """Return the record of a job with this body, once it is over. Short records only."""
        name = f"{path} {json.dumps(body, sort_keys=True)}"
        if name not in self._jobs:
            self._jobs[name] = self._finished(path, body, within_s)
        return self._jobs[name]

    def started(self, path: str, body: Mapping[str, Any]) -> str:
        """Return the path of a new job."""
        url: str = self._http.post(path, json=body).raise_for_status().json()["url"]
        return url

    def compilation(self, **changes: Any) -> str:
        """Return the key of a finished compilation."""
        key: str = self.finished("/v1/compilations", COMPILATION | changes)["key"]
        return key

    def launch(self, **changes: Any) -> str:
        """Return the id of a finished launch."""
        launch_id: str = self.finished("/v1/launches", LAUNCH | changes)["id"]
        return launch_id

    def uploaded(self, kind: str, body: bytes) -> str:
        """Return the digest of stored bytes."""
        if body not in self._uploads:
            self._http.put(
                f"/v1/{kind}/{digest_of(body)}",
                content=body,
                headers={"Content-Type": "application/json"},
            ).raise_for_status()
            self._uploads[body] = digest_of(body)
        return self._uploads[body]

    def path(self, operation: Operation) -> str:
        """Return the path of `operation` with parameters that exist. Raises LookupError."""
        values = {name: self._parameter(operation, name) for name in operation.path_names}
        return operation.path.format(**values)

    def _parameter(self, operation: Operation, name: str) -> str:
        by_operation = self._of_operation(operation).get(name)
        make = by_operation or self._named().get(name)
        if make is not None:
            return make()
        if name not in _FIXED:
            raise LookupError(f"{operation.name} has a new parameter, {name}: say what it may be")
        return _FIXED[name]

    def _named(self) -> Mapping[str, Callable[[], str]]:
        batch = {"kind": "compilations", "requests": [COMPILATION]}
        return {
            "key": self.compilation,
            "other": lambda: self.compilation(constexprs={"B": 32}),
            "launch_id": self.launch,
            "proof_id": lambda: str(self.finished("/v1/proofs", PROOF)["id"]),
            "sweep_id": lambda: str(self.finished("/v1/sweeps", SWEEP)["id"]),
            "batch_id": lambda: str(self.finished("/v1/batches", batch)["id"]),
            "program_id": self._program,
            "compiler_id": lambda: str(self._http.get("/api/compilers").json()[0]["id"]),
            "digest": lambda: self.uploaded("states", json.dumps(STATE).encode()),
        }

    def _of_operation(self, operation: Operation) -> Mapping[str, Callable[[], str]]:
        if "/winners/" in operation.path:
            return {"format": lambda: "json"}
        if "/tensors/" in operation.path:
            return {"digest": lambda: self.uploaded("tensors", TENSOR)}
        if "/blobs/" in operation.path:
            return {"digest": self._blob}
        return {}

    def _program(self) -> str:
        """Return the id of a program; one that does not exist where no worker has torch."""
        answer = self._http.post("/v1/programs", json=PROGRAM)
        return str(answer.json()["id"]) if answer.is_success else "none"

    def _blob(self) -> str:
        record = self.finished("/v1/compilations", COMPILATION)
        return str(record["artifacts"]["ptx"]["digest"])

    def _finished(self, path: str, body: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        record = self._http.post(path, params={"wait": 60}, json=body).raise_for_status().json()
        until = time.monotonic() + within_s
        while time.monotonic() < until and not _is_over(record):
            record = self._http.get(record["url"], params={"wait": 30}).json()
        if not _is_over(record):
            raise TimeoutError(f"{path} is not over: {str(record)[:300]}")
        return dict(record)


def _is_over(record: Mapping[str, Any]) -> bool:
    if "state" in record:
        return record["state"] in _OVER
    counts = record["counts"]
    return not any(counts.get(name) for name in ("queued", "running"))
