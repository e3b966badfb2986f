"""Defaults of parameters are Python's values; only `tl.constexpr` is unwrapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases import slow_except
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Kernel, compile_kernel
from tests.integration.compiler.triton_compile import TritonCompile

HEAD = "import dataclasses\nimport enum\nimport triton\nimport triton.language as tl\n"
KINDS = {
    "member of an enum": (
        "class Mode(enum.Enum):\n    FAST = 3\n    SLOW = 4\n",
        "Mode.FAST",
        "MODE.value.value",
    ),
    "object with a value": (
        "@dataclasses.dataclass(frozen=True)\nclass Scale:\n"
        "    value: float = 3.0\n    by: float = 5.0\n",
        "Scale()",
        "MODE.by",
    ),
    "number of an enum": ("class N(enum.IntEnum):\n    A = 7\n", "N.A", "MODE.value.value"),
    "wrapped number": ("", "tl.constexpr(6)", "MODE"),
    "computed number": ("SIZE = 4\n", "SIZE * 2", "MODE"),
}


@pytest.mark.parametrize("kind", slow_except(["member of an enum"], KINDS))
def test_a_default_reaches_the_kernel_as_it_is(
    children: Children,
    directly: TritonCompile,
    tmp_path: Path,
    kind: str,
) -> None:
    above, default, stored = KINDS[kind]
    text = (
        f"{HEAD}{above}\n"
        f"@triton.jit\ndef k(x, MODE: tl.constexpr = {default}):\n"
        f"    VALUE: tl.constexpr = {stored}\n    tl.store(x, VALUE)\n"
    )
    request = {"signature": {"x": "*fp32"}, "options": {"enable_fp_fusion": True}}

    made = compile_kernel(children, Kernel(tmp_path / "user.py", text, request), 90, "ttir")
    assert made.failure is None, made.failure
    whole = request | {"source": text, "kernel": "k", "constexprs": {}, "hints": {}}
    expected = directly.stages(whole | {"target": ["cuda", 90, 32]}, tmp_path)

    assert made.stages["ttir"].decode() == expected["ttir"].decode()
