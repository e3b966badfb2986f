"""A key of Triton's cache follows from the posted text, or does not exist; no source chooses it."""

from __future__ import annotations

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

REFUSED = {
    "code that runs": ("print('here')\n", "x", "kind Expr"),
    "Triton patched": ("import triton.runtime.jit as j\nj.JITFunction.x = 1\n", "x", "not a name"),
    "a class": ("class A:\n    x = 1\n", "x", "kind ClassDef"),
    "a decorator of one's own": ("def d(f):\n    return f\n@d\ndef g():\n    pass\n", "x", "`d`"),
    "a function called": ("def f():\n    return 1\nX = f()\n", "x", "`f` is called"),
    "a lambda": ("@triton.jit(repr=lambda _: 'evil')\ndef g():\n    pass\n", "x", "given repr"),
    "another tl": ("import math as tl\n", "x", "`tl` is not what"),
    "triton hidden": ("def triton():\n    pass\n", "x", "another meaning"),
    "an attribute hook": ("def __getattr__(name):\n    return 1\n", "x", "another meaning"),
    "a walrus": ("def f(x=(tl := 1)):\n    pass\n", "x", "NamedExpr"),
    "a function by a wrong name": (
        "from triton.language import minimum as maximum\n",
        "maximum(x, 1)",
        "not Triton's own `maximum`",
    ),
    "a function renamed": ("maximum = tl.minimum\n", "maximum(x, 1)", "own `maximum`"),
    "a constant that is not hashed": ("N: tl.constexpr = 5\n", "x * N", "`N` is no tl.constexpr"),
    "a constant of text like a number": ("N = tl.constexpr('1')\n", "x * N", "odd value"),
    "None": ("N = None\n", "x if N is None else 0", "`N`"),
    "what Python calls otherwise": (HELPER.replace("helper", "min"), "min(x)", "`min` hides"),
    "a default that is not hashed": (
        "N2 = 5\n" + HELPER.replace("= 2", "= N2"),
        "helper(x)",
        "default `N2`",
    ),
    "a default of a helper's helper": (
        "N2 = 5\n"
        + HELPER.replace("= 2", "= N2")
        + HELPER.replace("helper", "outer").replace("x * N", "helper(x)"),
        "outer(x)",
        "default `N2`",
    ),
}
REPORTED = {
    "nothing": ("", "x"),
    "a constant": ("N = tl.constexpr(5)\n", "x * N"),
    "a type": ("D = tl.constexpr(tl.float32)\n", "x.to(D)"),
    "a helper": (HELPER, "helper(x)"),
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
        "touched": {},
        "signature": {"x_ptr": "*fp32", "BLOCK": "constexpr"},
        "constexprs": {"BLOCK": {"int": "64"}},
        "hints": {},
        "options": {},
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
    }
    header = {"task": "cache_key", "front": front, "sources": {"user.py": source}}
    return children.run(header, source.encode())


@pytest.mark.parametrize(("before", "value", "why"), REFUSED.values(), ids=REFUSED)
def test_a_key_that_the_text_does_not_settle_is_refused_by_name(
    children: Children, before: str, value: str, why: str
) -> None:
    last = hashed(children, before, value).last

    assert last is not None
    assert (last["kind"], last.get("slug")) == ("failure", "not_derivable")
    assert why in last["message"]


@pytest.mark.parametrize(("before", "value"), REPORTED.values(), ids=REPORTED)
def test_an_ordinary_kernel_has_its_key(children: Children, before: str, value: str) -> None:
    assert hashed(children, before, value).result["source_hashes"]


def test_a_value_of_another_file_s_module_is_refused(children: Children) -> None:
    last = hashed(children, "import cfg\n", "x * cfg.N", cfg_py="N = 5\n").last

    assert last is not None
    assert "`cfg` is cfg" in last["message"]


def test_a_helper_of_another_file_is_hashed(children: Children) -> None:
    before = "from helpers import helper\n"
    two = hashed(children, before, "helper(x)", helpers_py=HEAD + HELPER).result
    three = HEAD + HELPER.replace("x * N", "x * N + 1")

    assert (
        two["source_hashes"]
        != hashed(children, before, "helper(x)", helpers_py=three).result["source_hashes"]
    )


def test_code_of_another_file_is_refused(children: Children) -> None:
    evil = HEAD + HELPER + "import os\nos.environ['X'] = '1'\n"

    last = hashed(children, "from helpers import helper\n", "helper(x)", helpers_py=evil).last

    assert last is not None
    assert "helpers.py:7" in last["message"]


def test_a_file_cannot_stand_in_front_of_triton(children: Children) -> None:
    files = {"triton/experimental/gluon_py": "jit = 1\n"}

    last = hashed(children, "", "x", **files).last

    assert last is not None
    assert "in front of Triton" in last["message"]
