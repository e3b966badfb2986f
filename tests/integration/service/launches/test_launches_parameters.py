"""Facts about parameters that only execution shows come from the function itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.conftest import Post
from tests.integration.service.launches.bodies import arange, output
from tests.integration.service.launches.conftest import Launch

HEAD = "import triton\nimport triton.language as tl\n"
BODY = "    offsets = tl.arange(0, BLOCK)\n    tl.store(z + offsets, tl.load(x + offsets) + n)\n"
KERNELS = {
    "an alias of constexpr": (
        f"{HEAD}C = tl.constexpr\n@triton.jit\ndef k(x, z, n, BLOCK: C):\n{BODY}"
    ),
    "an alias by condition": (
        f"{HEAD}if True:\n    C = tl.constexpr\nelse:\n    C = None\n"
        f"@triton.jit\ndef k(x, z, n, BLOCK: C):\n{BODY}"
    ),
    "annotations as text": (
        f"from __future__ import annotations\n{HEAD}@triton.jit\n"
        f"def k(x, z, n: tl.int32, BLOCK: tl.constexpr):\n{BODY}"
    ),
    "text with another prefix": (
        f"{HEAD}@triton.jit\ndef k(x, z, n, BLOCK: 'triton.language.constexpr'):\n{BODY}"
    ),
    "names of a list": (
        f"{HEAD}NAMES = ['n']\n@triton.jit(do_not_specialize=NAMES)\n"
        f"def k(x, z, n, BLOCK: tl.constexpr = 2 * 4):\n{BODY}"
    ),
    "a constant without annotation": (
        f"{HEAD}@triton.jit\ndef k(x, z, n, BLOCK=tl.constexpr(8)):\n{BODY}"
    ),
    "made by a call": (
        f"{HEAD}def make():\n    def k(x, z, n, BLOCK: tl.constexpr):\n"
        f"{BODY.replace('    ', '        ', 1).replace(chr(10) + '    ', chr(10) + '        ')}"
        "    return triton.jit(k)\nk = make()\n"
    ),
}


@pytest.mark.parametrize("source", KERNELS.values(), ids=KERNELS)
def test_a_kernel_is_launched_as_its_function_says(launch: Launch, source: str) -> None:
    constexprs = {} if "BLOCK=" in source or "= 2 * 4" in source else {"BLOCK": 8}

    answer = launch(
        {
            "compilation": {
                "source": source,
                "kernel": "k",
                "constexprs": constexprs,
                "target": "cuda:90",
            },
            "device": "cpu",
            "grid": ["BLOCK // 8"],
            "arguments": {"x": arange(8), "z": output(8), "n": 1},
            "return": {"z": "values"},
        }
    )

    assert answer["problem"] is None
    assert answer["outputs"]["z"]["values"] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_default_that_no_kernel_can_be_given_is_refused(launch: Launch) -> None:
    source = f"{HEAD}MODE = 'fast'\n@triton.jit\ndef k(z, mode=MODE):\n    tl.store(z, 1.0)\n"

    answer = launch(
        {
            "compilation": {"source": source, "target": "cuda:90"},
            "device": "cpu",
            "grid": [1],
            "arguments": {"z": output(1)},
        }
    )

    assert answer["problem"]["slug"] == "missing_argument"
    assert "the default of parameter `mode` of `k`, fast, cannot be" in answer["problem"]["detail"]


@pytest.mark.parametrize("annotation", ["C", "ce", "D"])
def test_a_type_for_a_constexpr_is_refused_whatever_it_is_called(
    post: Post, annotation: str
) -> None:
    source = (
        f"{HEAD}from triton.language import constexpr as ce\nC = tl.constexpr\n"
        "for D in [tl.constexpr]:\n    pass\n"
        f"@triton.jit\ndef k(x, N: {annotation}):\n    tl.store(x, N)\n"
    )
    body: dict[str, Any] = {"source": source, "target": "cuda:90", "stop_after": "ttir"}

    answer = post(body | {"signature": {"x": "*i32", "N": "i32"}}).json()

    assert answer["problem"]["slug"] == "missing_constexpr"
    assert "`N` of `k` is a tl.constexpr: give its value" in answer["problem"]["detail"]
    good = post(body | {"signature": {"x": "*i32"}, "constexprs": {"N": 5}}).json()
    assert good["state"] == "succeeded"


def test_a_name_that_only_looks_like_a_constexpr_takes_a_type(post: Post) -> None:
    source = (
        f"{HEAD}constexpr = tl.int32\n@triton.jit\ndef k(x, n: constexpr):\n    tl.store(x, n)\n"
    )
    body = {"source": source, "target": "cuda:90", "signature": {"x": "*i32", "n": "i32"}}

    assert post(body | {"stop_after": "ttir"}).json()["state"] == "succeeded"
