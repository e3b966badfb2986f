"""A key of Triton's cache is that of the executed function, as Triton's own JIT hashes it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.compiler.children import ChildEnd, Children

HEAD = "import triton\nimport triton.language as tl\n"
HELPER = "@triton.jit\ndef helper(x, N: tl.constexpr = 2):\n    return x * N\n"
KERNEL = """
@triton.jit
def k(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, VALUE)
"""

HASHED = {
    "nothing": ("", "x"),
    "code that runs": ("print('here')\n", "x"),
    "a class": ("class A:\n    x = 1\n", "x"),
    "a decorator of one's own": ("def d(f):\n    return f\n@d\ndef g():\n    pass\n", "x"),
    "a value that a function gives": ("def f():\n    return 3\nN = tl.constexpr(f())\n", "x * N"),
    "a repr": ("@triton.jit(repr=lambda _: 'name')\ndef g():\n    pass\n", "x"),
    "a constant": ("N = tl.constexpr(5)\n", "x * N"),
    "an annotated constant": ("N: tl.constexpr = 5\n", "x * N"),
    "a type": ("D = tl.constexpr(tl.float32)\n", "x.to(D)"),
    "a helper": (HELPER, "helper(x)"),
    "a helper's default": ("N2 = 5\n" + HELPER.replace("= 2", "= N2"), "helper(x)"),
    "names of Triton": ("from triton.language import minimum\n", "minimum(x, 1)"),
    "a module": ("import math\n", "x * math.pi"),
    "an autotuner": (
        "@triton.autotune(configs=[triton.Config({'B': 1}, num_warps=4)], key=['n'])\n"
        "@triton.jit\ndef other(n, B: tl.constexpr):\n    pass\n",
        "x",
    ),
}


def hashed(children: Children, before: str, value: str, **files: str) -> ChildEnd:
    source = HEAD + before + KERNEL.replace("VALUE", value)
    front: dict[str, Any] = {
        "kernel": "k",
        "files": {name.replace("_py", ".py"): text for name, text in files.items()},
        "signature": {"x_ptr": "*fp32", "BLOCK": "constexpr"},
        "constexprs": {"BLOCK": {"int": "64"}},
        "hints": {},
        "options": {},
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
    }
    return children.run({"task": "cache_key", "front": front}, source.encode())


def by_triton(folder: Path, source: str) -> str:
    """Return the hash of the kernel `k` in a file, by Triton itself."""
    from triton.compiler import ASTSource

    path = folder / "mine.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("mine", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mine"] = module
    try:
        spec.loader.exec_module(module)
        signature = {"x_ptr": "*fp32", "BLOCK": "constexpr"}
        # as the binder of the JIT lists attributes: for each parameter, none here
        kernel = ASTSource(module.k, signature, {(1,): 64}, {(0,): [], (1,): []})
        found: str = kernel.hash()
        return found
    finally:
        del sys.modules["mine"]


@pytest.mark.parametrize(("before", "value"), HASHED.values(), ids=HASHED)
def test_a_kernel_has_the_hash_that_triton_gives_it(
    children: Children, before: str, value: str, tmp_path: Path
) -> None:
    source = HEAD + before + KERNEL.replace("VALUE", value)

    hashes = hashed(children, before, value).result["source_hashes"]

    assert by_triton(tmp_path, source) in hashes


def test_a_helper_of_another_file_is_hashed(children: Children) -> None:
    before = "from helpers import helper\n"
    two = hashed(children, before, "helper(x)", helpers_py=HEAD + HELPER).result
    three = HEAD + HELPER.replace("x * N", "x * N + 1")

    assert (
        two["source_hashes"]
        != hashed(children, before, "helper(x)", helpers_py=three).result["source_hashes"]
    )


def test_a_kernel_that_depends_on_what_is_not_here_has_no_hash(children: Children) -> None:
    before = "import torch\nN = tl.constexpr(1 if torch.backends.x == 1 else 2)\n"

    last = hashed(children, before, "x * N").last

    assert last is not None
    assert (last["kind"], last.get("slug")) == ("failure", "compile_error")


def test_a_kernel_with_functions_of_a_missing_module_has_no_key(children: Children) -> None:
    last = hashed(children, "from pkg.ops import exp2\n", "exp2(x)").last

    assert last is not None
    assert (last["kind"], last["slug"], last["needs"]) == ("failure", "missing_module", ["pkg.ops"])
