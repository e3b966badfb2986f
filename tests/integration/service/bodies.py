"""Bodies of compile requests, from the kernels under tests/kernels and from hostile code."""

from __future__ import annotations

import random
from typing import Any

from tests.integration.compiler.kernels import KERNELS, read

HEADER = "import triton\nimport triton.language as tl\n"
KERNEL = """
@triton.jit
def kernel(x_ptr, BLOCK: tl.constexpr = SIZE):
    tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)
"""


def good(name: str, **changes: Any) -> dict[str, Any]:
    """Return the request in the header of tests/kernels/good/<name>.py."""
    return _body("good", name, changes)


def broken(name: str, **changes: Any) -> dict[str, Any]:
    """Return the request in the header of tests/kernels/broken/<name>.py."""
    return _body("broken", name, changes)


def running(code: str, **changes: Any) -> dict[str, Any]:
    """Return a kernel whose compilation runs `code` in the front child."""
    lines = "".join(f"    {line}\n" for line in code.strip().splitlines())
    source = f"{HEADER}\ndef size():\n{lines}    return 64\n\nSIZE = size()\n{KERNEL}"
    usual = {"source": source, "signature": {"x_ptr": "*fp32:16"}, "target": "cuda:90"}
    return usual | {"stop_after": "ttir"} | changes


ENDLESS = "import threading; threading.Event().wait()"
"""Code that never ends and takes no CPU time from other tests."""


def slow(duration_s: float, comment: str, **changes: Any) -> dict[str, Any]:
    """Return a kernel whose compilation takes at least this long without CPU time."""
    wait = f"import threading\nthreading.Event().wait({duration_s})"
    return running(f"{wait}  # {comment}", **changes)


def vector_add(comment: str = "", **changes: Any) -> dict[str, Any]:
    """Return a vector add with a separate key: `comment` is appended to the kernel."""
    body = good("vector_add", **changes)
    return body | {"source": f"{body['source']}\n# {comment}\n"}


def large(seed: int) -> dict[str, Any]:
    """Return a kernel whose IR has more than 16 KiB, compressed."""
    numbers = random.Random(seed)
    stores = "\n".join(
        f"    tl.store(x_ptr + {7 * n} + tl.arange(0, BLOCK), x * {numbers.random()})"
        for n in range(300)
    )
    source = (
        f"{HEADER}\n@triton.jit\ndef kernel(x_ptr, BLOCK: tl.constexpr):\n"
        f"    x = tl.load(x_ptr + tl.arange(0, BLOCK)).to(tl.float64)\n{stores}\n"
    )
    return {
        "source": source,
        "signature": {"x_ptr": "*fp64:16"},
        "constexprs": {"BLOCK": 128},
        "target": "cuda:90",
        "stop_after": "ttir",
        "include": ["ttir"],
    }


def _body(folder: str, name: str, changes: dict[str, Any]) -> dict[str, Any]:
    kernel = read(KERNELS / folder / f"{name}.py")
    request = dict(kernel.request)
    target = f"cuda:{request.pop('arch', 90)}"
    return {"source": kernel.text, "target": target, **request, **changes}
