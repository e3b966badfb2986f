"""The hook for Triton's JIT: an application gets its kernels from the service."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.integration.service.running import Deployment, free_port

HERE = Path(__file__).parent
APPLICATION = {
    # a library without kernels, one of whose objects answers to any name, as torch.ops does
    "vendor.py": """
class Ops:
    def __getattr__(self, name):
        return self


ops = Ops()
""",
    "shop/__init__.py": "",
    "shop/sizes.py": "import triton.language as tl\n\nSCALE = tl.constexpr(2.0)\n",
    "shop/helpers.py": """
import triton
import triton.language as tl

from .sizes import SCALE


@triton.jit
def relu(x):
    return tl.maximum(x, 0.0) * SCALE
""",
    "shop/kernels.py": """
import triton
import triton.language as tl

import vendor
from .helpers import relu

try:
    from never_installed import fast
except ImportError:
    fast = None


@triton.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, relu(x), mask=offsets < n)
""",
}


def test_the_jit_finds_what_the_service_compiled_and_compiles_what_it_cannot(
    system: Deployment, tmp_path: Path
) -> None:
    for name, text in APPLICATION.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    absent = f"http://127.0.0.1:{free_port()}"
    environment = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "PYTHONWARNINGS": "ignore"}

    done = subprocess.run(
        [
            sys.executable,
            HERE / "hooked_jit.py",
            tmp_path,
            "shop.kernels:double",
            system.url,
            absent,
        ],
        capture_output=True,
        text=True,
        env=environment,
    )

    assert done.returncode == 0, done.stderr
    there, later, gone = json.loads(done.stdout)
    assert there == {"outcomes": {"fetched": 1}, "cache_hit": [True]}
    assert later == {"outcomes": {"known": 1}, "cache_hit": [True]}
    assert gone == {"outcomes": {"compile": 2}, "cache_hit": [False, False]}
    assert done.stderr.count("double, and others for 30 s, are compiled locally") == 1
