"""`triton.compile` as programs call it: a new process for each kernel."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

DIRECT = Path(__file__).with_name("direct.py")


class TritonCompile:
    """A process of `direct.py` in the environment of a given Python; a context manager."""

    def __init__(self, python: str | Path = sys.executable) -> None:
        self._process = subprocess.Popen(
            [python, DIRECT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={}
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate(timeout=30)
        finally:
            self._process.kill()
            self._process.wait()

    def stages(self, request: dict[str, Any], cache: Path) -> dict[str, bytes]:
        """Return the stages of a kernel; `cache` is an empty cache folder for Triton."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({**request, "cache": str(cache)}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"died": "before it was asked"}')
        assert "stages" in answer, answer["died"]
        return {name: base64.b64decode(data) for name, data in answer["stages"].items()}


def run_directly(
    request: dict[str, Any], cache: Path, python: str | Path = sys.executable
) -> dict[str, bytes]:
    """Return the stages of one kernel, by the Triton in the environment of `python`."""
    with TritonCompile(python) as directly:
        return directly.stages(request, cache)
