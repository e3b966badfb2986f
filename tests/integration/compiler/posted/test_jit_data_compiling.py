"""Data from a JIT hook, posted unchanged, compiles to the JIT's own result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.integration.compiler.kernels import KERNELS
from tests.integration.service.conftest import Post

SOURCE = """import triton
import triton.language as tl
from triton.runtime.jit import MockTensor


@triton.jit
def double(x):
    return x + x


@triton.jit
def kernel(x_ptr, pair, n, scale, stride, ACT: tl.constexpr, TYPE: tl.constexpr,
           MODE: tl.constexpr, BLOCK: tl.constexpr = 64):
    offsets = tl.arange(0, BLOCK) * stride
    y_ptr, more, one = pair
    value = tl.load(x_ptr + offsets, mask=offsets < n).to(TYPE) * scale + more * one
    if MODE == "twice":
        value = ACT(value)
    tl.store(y_ptr + offsets, value)


X = MockTensor(tl.float16)
Y = MockTensor(tl.float32)
ARGUMENTS = (X, (Y, 5, 1), 4096, 1.5, 1)
KEYWORDS = {"ACT": double, "TYPE": tl.float32, "MODE": "twice", "num_warps": 8}
"""


def test_hook_data_compiles_to_the_ptx_of_the_jit(post: Post, tmp_path: Path) -> None:
    said = hooked(SOURCE, tmp_path)

    made = post(
        {
            "source": SOURCE,
            "specialization_data": said["specialization_data"],
            "target": "cuda:90",
            "include": ["ptx"],
        }
    ).json()

    assert made["state"] == "succeeded", made["problem"]
    assert made["kernel"] == "kernel"
    assert made["options"]["num_warps"] == 8
    assert without_paths(made["included"]["ptx"]) == without_paths(said["ptx"])


def without_paths(ptx: str) -> str:
    """Remove paths: the JIT ran on the whole file, so the path of Triton's library may differ."""
    return "\n".join(line for line in ptx.split("\n") if "/triton" not in line)


def hooked(source: str, folder: Path) -> dict[str, str]:
    program = KERNELS.parent / "integration" / "compiler" / "hooked.py"
    done = subprocess.run(
        [sys.executable, program],
        input=json.dumps({"source": source}), capture_output=True, text=True, check=False,
        env={"TRITON_CACHE_DIR": str(folder), "TRITON_DEFAULT_FP_FUSION": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer: dict[str, str] = json.loads(done.stdout)
    return answer
