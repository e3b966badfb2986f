"""Triton as programs call it: a new process for each kernel."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

DIRECT = Path(__file__).with_name("direct.py")


class TritonProcess:
    """A process of a script that answers lines, in the environment of a given Python.

    It is a context manager.
    """

    def __init__(self, script: Path, python: str | Path, **environment: str) -> None:
        self._process = subprocess.Popen(
            [python, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate(timeout=30)
        finally:
            self._process.kill()
            self._process.wait()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to one request, which a fork of the process makes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline() or '{"died": "before it was asked"}'
        answer: dict[str, Any] = json.loads(line)
        assert "died" not in answer, answer["died"]
        return answer


class TritonCompile(TritonProcess):
    """A process of `direct.py`."""

    def __init__(self, python: str | Path = sys.executable) -> None:
        super().__init__(DIRECT, python)

    def stages(self, request: dict[str, Any], cache: Path) -> dict[str, bytes]:
        """Return the stages of a kernel; `cache` is an empty cache folder for Triton."""
        answer = self.answer({**request, "cache": str(cache)})
        return {name: base64.b64decode(data) for name, data in answer["stages"].items()}


def run_directly(
    request: dict[str, Any], cache: Path, python: str | Path = sys.executable
) -> dict[str, bytes]:
    """Return the stages of one kernel, by the Triton in the environment of `python`."""
    with TritonCompile(python) as directly:
        return directly.stages(request, cache)
