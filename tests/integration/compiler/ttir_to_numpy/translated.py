"""Has a child translate kernels to NumPy, and runs the result as an ordinary module."""

from __future__ import annotations

import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS, Kernel, compile_kernel

TARGET = {"backend": "cuda", "arch": 90, "warp_size": 32}
FLOATS = "*fp32"


@dataclass(frozen=True)
class NumpyText:
    """A kernel's text, and the module made from it."""

    kernel: str
    text: str

    def run(self, grid: tuple[int, ...], *arguments: Any) -> None:
        """Launch the kernel; arrays are changed in place."""
        module = types.ModuleType("told")
        exec(compile(self.text, "translated.py", "exec"), module.__dict__)
        launch = module.support_launch if self.kernel == "launch" else module.launch
        launch(module.__dict__[self.kernel], grid, *arguments)


def numpy_text(
    children: Children, name: str, signature: dict[str, str], **constexprs: int
) -> NumpyText:
    """Return a kernel of tests/kernels/numpy/operations.py, from the stage before any pass."""
    return both(children, name, signature, **constexprs)[0]


def both(
    children: Children, name: str, signature: dict[str, str], **constexprs: int
) -> tuple[NumpyText, NumpyText]:
    """Return the same kernel from `source` and from `ttir`."""
    path = KERNELS / "numpy" / "operations.py"
    request = {"kernel": name, "signature": signature, "constexprs": constexprs}
    stages = stages_of(children, path, request)
    return tuple(of_ir(children, stages[s], s, name, path) for s in ("source", "ttir"))


def stages_of(children: Children, path: Path, request: dict[str, Any]) -> dict[str, bytes]:
    """Return the IR of a kernel by stage."""
    compiled = compile_kernel(children, Kernel(path, path.read_text(), request), stop_after="ttir")
    assert compiled.failure is None, compiled.failure
    return compiled.stages


def of_ir(
    children: Children, ir: bytes, stage: str, kernel: str, path: Path | None = None
) -> NumpyText:
    """Return the task's result for IR.

    Raises AssertionError with the message of a refusal.
    """
    files = {"user.py": path.read_text()} if path else {}
    ended = children.run(header(stage, files), ir)
    assert "numpy" in ended.stages, ended.last
    return NumpyText(kernel, ended.stages["numpy"].decode())


def refusal(children: Children, ir: bytes, stage: str = "ttir") -> str:
    """Return the message with which the task refuses IR."""
    ended = children.run(header(stage, {}), ir)
    assert ended.last is not None, ended.stderr
    assert ended.last.get("slug") == "not_derivable", ended.last
    return str(ended.last["message"])


def header(stage: str, files: dict[str, str]) -> dict[str, Any]:
    """Return a job of the task."""
    return {
        "task": "numpy", "stage": stage, "target": TARGET, "files": files, "parameters": []
    }  # fmt: skip


def normal(*shape: int, seed: int = 0) -> Any:
    """Return normally distributed fp32 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
