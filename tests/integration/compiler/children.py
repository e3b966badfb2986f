"""Runs tasks like a worker, without its sandbox: a warmed process forks a child for each.

Started as a program it reads one JSON job per line and answers with one JSON line; `Children` is
its client.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
ENVELOPE = ("task", "most_cpu_s")
"""Header fields that this module reads; the rest is the task's."""


@dataclass
class ChildEnd:
    """The end of a child: its last frame's header, its stages, its output, its signal."""

    last: dict[str, Any] | None
    stages: dict[str, bytes]
    stdout: str
    stderr: str
    signal: int | None
    stage_headers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def result(self) -> dict[str, Any]:
        assert self.last is not None, f"died of signal {self.signal}: {self.stderr[-2000:]}"
        assert self.last["kind"] == "result", json.dumps(self.last, indent=1)
        return self.last


class Children:
    """A zygote and its children, for a test session."""

    def __init__(self, python: str | Path = sys.executable, root: Path = ROOT) -> None:
        command = [python, root / Path(__file__).relative_to(ROOT)]
        environment = {"PYTHONPATH": str(root), "HOME": "/nonexistent"}
        self._zygote = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )

    def run(self, header: dict[str, Any], body: bytes) -> ChildEnd:
        """Run one task in a fresh child."""
        assert self._zygote.stdin is not None
        assert self._zygote.stdout is not None
        job = {"header": header, "body": base64.b64encode(body).decode()}
        self._zygote.stdin.write(json.dumps(job) + "\n")
        self._zygote.stdin.flush()
        reported = json.loads(self._zygote.stdout.readline())
        stages = {name: base64.b64decode(data) for name, data in reported.pop("stages").items()}
        return ChildEnd(stages=stages, **reported)

    def close(self) -> None:
        """End the zygote."""
        self._zygote.communicate()


def _serve() -> None:
    from compiler.front import tasks

    tasks.warm_up()
    for line in sys.stdin:
        job = json.loads(line)
        answer = _in_a_child(job["header"], base64.b64decode(job["body"]))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _in_a_child(header: dict[str, Any], body: bytes) -> dict[str, Any]:
    said, out, err = (os.memfd_create(name) for name in ("said", "out", "err"))
    child = os.fork()
    if child == 0:
        os.dup2(out, 1)
        os.dup2(err, 2)
        status = 1
        if most_cpu_s := header.get("most_cpu_s"):
            resource.setrlimit(resource.RLIMIT_CPU, (most_cpu_s, most_cpu_s))
            resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
        try:
            _run(header, body, said)
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    lines = [json.loads(line) for line in _text(said).splitlines()]
    last = lines.pop()["header"] if lines and lines[-1]["header"]["kind"] != "stage" else None
    texts = _text(out), _text(err)
    for descriptor in (said, out, err):
        os.close(descriptor)
    return {
        "last": last,
        "stages": {line["header"]["stage"]: line["body"] for line in lines},
        "stage_headers": [line["header"] for line in lines],
        "stdout": texts[0],
        "stderr": texts[1],
        "signal": -code if code < 0 else None,
    }


def _run(header: dict[str, Any], body: bytes, said: int) -> None:
    from compiler.diagnostic import Failure
    from compiler.front import tasks

    def send(header: dict[str, Any], body: bytes) -> None:
        line = {"header": header, "body": base64.b64encode(body).decode()}
        os.write(said, (json.dumps(line, default=asdict) + "\n").encode())

    try:
        order = {name: value for name, value in header.items() if name not in ENVELOPE}
        last = {"kind": "result", **tasks.TASKS[header["task"]](order, body, send)}
    except Failure as failure:
        last = {
            "kind": "failure",
            "slug": failure.slug,
            "stage": failure.stage,
            "message": failure.message,
            "diagnostics": failure.diagnostics,
            "needs": failure.needs,
        }
    send(last, b"")


def _text(descriptor: int) -> str:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")


if __name__ == "__main__":
    _serve()
