"""The compilers of other languages.

A missing one skips its tests, unless TRITOND_EXPORT_TOOLS=required makes them run (`make
test-exports`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def tool() -> Callable[[str], str]:
    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None and os.environ.get("TRITOND_EXPORT_TOOLS") == "required":
            pytest.fail(f"{name} is not on PATH")
        return path or pytest.skip(f"{name} is not on PATH")

    return find


@pytest.fixture(scope="session")
def cuda_python() -> str:
    """Return a Python with cuda-python; TRITOND_CUDA_PYTHON names it."""
    path = os.environ.get("TRITOND_CUDA_PYTHON")
    if path is None and os.environ.get("TRITOND_EXPORT_TOOLS") == "required":
        pytest.fail("TRITOND_CUDA_PYTHON is not set")
    return path or pytest.skip("TRITOND_CUDA_PYTHON is not set")


@pytest.fixture
def build(tool: Callable[[str], str], tmp_path: Path) -> Build:
    """Run a compiler in a folder that holds `files`; return the folder."""

    def run(name: str, *arguments: str, **files: str) -> Path:
        compiler = tool(name)
        for file, text in files.items():
            (tmp_path / file.replace("__", ".")).write_text(text)
        done = subprocess.run(
            [compiler, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=100
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        return tmp_path

    return run
