"""The Python export with the real cuda-python, up to the point where it needs a GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from compiler.export.python import python_module
from tests.unit.compiler.export.kernels import CUBIN, VARIANTS

PROGRAM = """
import add_kernel

class Array:
    __cuda_array_interface__ = {"data": (4096, False)}

class Tensor:
    def data_ptr(self):
        return 8192

assert add_kernel._address(Array()) == 4096
assert add_kernel._address(Tensor()) == 8192
assert add_kernel._fp16(1.0) == 0x3C00 and add_kernel._bf16(1.0) == 0x3F80
unmade = object.__new__(add_kernel.AddKernel)
config = unmade._config((5, 3, 2), 0)
print(config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX, config.sharedMemBytes)
print([(int(item.id), len(config.attrs)) for item in config.attrs])
try:
    add_kernel.AddKernel()
except RuntimeError as error:
    print("no GPU:", error)
"""


@pytest.mark.parametrize(
    ("name", "config", "attributes"),
    [
        ("vector_add", "5 3 2 128 0", []),
        ("cluster", "10 3 2 128 0", [4, 5]),
        ("all_at_once", "10 3 2 128 60000", [6, 2, 4, 5]),
    ],
)
def test_it_runs_until_it_needs_a_gpu(
    cuda_python: str, tmp_path: Path, name: str, config: str, attributes: list[int]
) -> None:
    (tmp_path / "add_kernel.py").write_text(python_module(VARIANTS[name], CUBIN))

    done = subprocess.run(
        [Path(cuda_python).absolute(), "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
    )

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == config
    assert lines[1] == str([(number, len(attributes)) for number in attributes])
    assert lines[2].startswith("no GPU:")
