"""A fake service: sends the test's answers in order and stores the requests.

It replaces only httpx's transport, so tests exercise the whole client.
"""

import json
from collections import deque
from typing import Any

import httpx
from tritonc.cli.main import main

KEY = "0123456789abcdef" * 4


class FakeTritond(httpx.MockTransport):
    def __init__(self) -> None:
        super().__init__(self._answer)
        self.answers: deque[httpx.Response | Exception] = deque()
        self.requests: list[httpx.Request] = []
        self.inspection: dict[str, Any] = {"kernels": []}

    def will_answer(
        self, body: Any, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        self.answers.append(httpx.Response(status, json=body, headers=headers))

    def will_send(
        self, content: bytes, status: int = 200, content_type: str = "text/plain"
    ) -> None:
        headers = {"Content-Type": content_type}
        self.answers.append(httpx.Response(status, content=content, headers=headers))

    def will_refuse(self, status: int, slug: str, **members: Any) -> None:
        problem = {"type": "about:blank", "title": "Refused", "status": status, "slug": slug}
        self.will_answer(problem | members, status)

    def will_be_down(self) -> None:
        self.answers.append(httpx.ConnectError("[Errno 111] Connection refused"))

    @property
    def posted(self) -> dict[str, Any]:
        return self.sent(0)

    def sent(self, index: int) -> dict[str, Any]:
        """Return the JSON body of a request."""
        return json.loads(self.requests[index].content)

    def will_inspect(self, inspection: dict[str, Any]) -> None:
        """Answer every inspection with this; without it, a source has no kernels."""
        self.inspection = inspection

    def _answer(self, request: httpx.Request) -> httpx.Response:
        is_inspection = request.url.path == "/v1/inspect"
        if is_inspection and not (self.answers and _is_of_inspection(self.answers[0])):
            return httpx.Response(200, json=self.inspection)
        self.requests.append(request)
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        return answer


def _is_of_inspection(answer: httpx.Response | Exception) -> bool:
    if not isinstance(answer, httpx.Response):
        return False
    has_id = b'"key"' in answer.content or b'"id"' in answer.content
    return b'"kernels"' in answer.content or (answer.status_code == 202 and not has_id)


def run(tritond: FakeTritond, *argv: str) -> int:
    """Run the command `tritonc`; return its exit code."""
    return main(argv, environment={"TRITOND_URL": "http://env.test"}, transport=tritond)


def compilation(state: str = "succeeded", **members: Any) -> dict[str, Any]:
    """Return a compilation's JSON as the service writes it."""
    return {
        "key": KEY,
        "url": f"/v1/compilations/{KEY}",
        "state": state,
        "cache": "miss",
        "queue_position": None,
        "kernel": "add_kernel",
        "target": "cuda:90",
        "stop_after": "cubin",
        "options": {"num_warps": 4},
        "toolchain": {"id": "t1", "triton": "3.9.0", "ptxas": "13.4", "sandbox": "standard"},
        "artifacts": {
            "ptx": artifact("ptx", "text/x-ptx", 11),
            "cubin": artifact("cubin", "application/octet-stream", 4),
        },
        "included": {},
        "parameters": [],
        "abi": None,
        "metadata": {"num_warps": 4},
        "resources": {"backend": "cuda", "registers": 32, "fits": True},
        "timings_ms": {"total": 45},
        "diagnostics": [],
        "stdout": "",
        "problem": None,
    } | members


def artifact(stage: str, media_type: str, size_bytes: int) -> dict[str, Any]:
    url = f"/v1/compilations/{KEY}/artifacts/{stage}"
    return {
        "digest": "sha256:" + "0" * 64,
        "size_bytes": size_bytes,
        "media_type": media_type,
        "url": url,
    }


def failure(**members: Any) -> dict[str, Any]:
    """Return the JSON of a compilation that failed: line 12 uses an undefined name."""
    return compilation(
        "failed",
        artifacts={"source": artifact("source", "text/x-mlir", 900)},
        diagnostics=[
            {
                "severity": "error",
                "stage": "frontend",
                "message": "name 'maks' is not defined",
                "hint": "did you mean 'mask'?",
                "file": "user.py",
                "line": 12,
                "column": 40,
                "end_line": 12,
                "end_column": 44,
                "excerpt": "    x = tl.load(x_ptr + offsets, mask=maks)\n" + " " * 39 + "^",
            }
        ],
        problem={
            "type": "about:blank",
            "title": "The kernel does not compile",
            "detail": "name 'maks' is not defined",
            "slug": "compile_error",
            "retryable": False,
        },
        **members,
    )


def launch(state: str = "completed", **members: Any) -> dict[str, Any]:
    """Return the JSON of a CPU launch as the service writes it."""
    usual = {
        "id": "ab12",
        "url": "/v1/launches/ab12",
        "state": state,
        "queue_position": None,
        "verdict": "passed" if state == "completed" else None,
        "compilation": None,
        "device": {"target": None, "model": None, "driver": None, "interpreter": True},
        "outputs": {},
        "deterministic": None,
        "timing": None,
        "findings": [],
        "cases": None,
        "counts": {},
        "seeds": {},
        "stdout": "",
        "timings_ms": {"queue": 1.0, "compile": 0.0, "run": 60.0, "total": 61.0},
        "problem": None,
    }
    return usual | members


OUT_OF_BOUNDS: dict[str, Any] = {
    "kind": "out_of_bounds",
    "access": "read",
    "argument": "x_ptr",
    "index": [1000],
    "file": "user.py",
    "line": 2,
    "program": [0, 0, 0],
    "message": "program (0, 0, 0) reads x_ptr[1000], 1 element past its end",
}


def output(mismatched: int = 0, **summary: Any) -> dict[str, Any]:
    """Return the JSON of an output of 1000 elements, compared with its reference."""
    first = {"index": [3], "actual": 1.5, "expected": 2} if mismatched else None
    reported = {"shape": [1000], "dtype": "fp32", "nan": 0, "inf": 0, "unwritten": 0}
    return {
        "summary": reported | summary,
        "comparison": {
            "matches": not mismatched,
            "max_abs_error": 0.5 if mismatched else 0,
            "max_rel_error": 0.25 if mismatched else 0,
            "mismatched": mismatched,
            "nonfinite_mismatched": 0,
            "first_mismatch": first,
            "rtol": 0.0001,
            "atol": 1e-05,
        },
        "values": None,
        "url": None,
    }
