"""Functions that a kernel imports from modules that were not posted, and that Triton has too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.compiler.children import ChildEnd, Children
from tests.integration.compiler.front.test_packaged_modules import run

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = """
@triton.jit
def k(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, CALL)
"""


def source(binds: str, call: str) -> str:
    return f"{HEAD}{binds}\n{KERNEL.replace('CALL', call)}"


BORROWED = {
    "of the language": ("from pkg.ops import exp2", "exp2(x)", "math.exp2", "triton.language.exp2"),
    "of libdevice": (
        "from pkg.ops import tanh",
        "tanh(x)",
        "__nv_tanhf",
        "triton.language.extra.libdevice.tanh",
    ),
    "as an attribute": (
        "from pkg.ops import language as tle",
        "x + tle.program_id(0)",
        "tt.get_program_id",
        "triton.language",
    ),
    "with a prefix": (
        "from pkg.ops import triton_cast",
        "triton_cast(x, tl.int32)",
        "arith.fptosi",
        "triton.language.cast",
    ),
    "what a function finds": (
        "from pkg.ops import find\nrsqrt = find('rsqrt')",
        "rsqrt(x)",
        "math.rsqrt",
        "triton.language.rsqrt",
    ),
    "with the name of a builtin": (
        "from pkg.ops import find\npow = find('pow')",
        "pow(x, x)",
        "__nv_powf",
        "triton.language.extra.libdevice.pow",
    ),
    "of a star import": ("from pkg.ops import *", "exp2(x)", "math.exp2", "triton.language.exp2"),
}


def warnings(ended: ChildEnd) -> list[str]:
    return [assumption["message"] for assumption in ended.result["assumptions"]]


@pytest.mark.parametrize(("binds", "call", "made", "place"), BORROWED.values(), ids=BORROWED)
def test_a_function_of_a_missing_module_is_taken_from_triton_with_a_warning(
    children: Children, binds: str, call: str, made: str, place: str
) -> None:
    ended = run(children, source(binds, call), module=None)

    assert made in ended.stages["ttir"].decode()
    assert any(f"taken to be {place}: pkg.ops" in message for message in warnings(ended))
    assert ended.result["needs"][0].startswith("pkg.ops")


def test_the_posted_module_decides(children: Children) -> None:
    files = {"pkg/ops.py": f"{HEAD}@triton.jit\ndef exp2(x):\n    return x * 5.0\n"}

    ended = run(children, source("from pkg.ops import exp2", "exp2(x)"), module=None, files=files)

    assert "5.000000e+00" in ended.stages["ttir"].decode()
    assert warnings(ended) == []


def refused(children: Children, text: str, **named: Any) -> dict[str, Any]:
    last = run(children, text, **named).last
    assert last is not None
    assert last["kind"] == "failure", last
    return last


def test_a_name_that_triton_does_not_have_is_asked_for(children: Children) -> None:
    text = source("from pkg.ops import softcap", "softcap(x)")

    assert refused(children, text, module=None)["needs"] == ["pkg.ops"]


def test_a_module_with_a_function_that_triton_does_not_have_is_asked_for(
    children: Children,
) -> None:
    text = source("from pkg import ops", "ops.exp2(ops.softcap(x))")

    assert refused(children, text, module=None)["needs"] == ["pkg.ops"]


def test_a_caller_that_names_its_modules_is_asked_for_them(children: Children) -> None:
    text = source("from pkg.ops import exp2", "exp2(x)")

    assert refused(children, text, module="user")["needs"] == ["pkg.ops"]


def test_a_failure_with_tritons_function_asks_for_the_module(children: Children) -> None:
    text = source("from pkg.ops import exp2", "exp2(x.to(tl.float16))")

    failure = refused(children, text, module=None)

    assert failure["needs"] == ["pkg.ops"]
    assert failure["slug"] == "missing_module"
    assert "With Triton's own exp2" in failure["message"]


def test_a_default_of_a_missing_module_is_not_taken_from_triton(children: Children) -> None:
    text = source("from pkg.ops import limits", "x").replace(
        "(x_ptr)", "(x_ptr, LEAST: tl.constexpr = limits.min)", 1
    )

    ended = run(children, text, module=None)

    assert not any("taken to be" in message for message in warnings(ended))


def test_a_folder_that_lacks_a_module_names_its_file(children: Children) -> None:
    files = {"pkg/ops.py": f"{HEAD}from pkg import envs\nVALUE = tl.constexpr(envs.VALUE)\n"}
    text = source("from pkg.ops import VALUE", "x * VALUE")

    assert refused(children, text, module=None, files=files)["needs"] == ["pkg.envs"]


def test_an_import_that_climbs_out_of_the_folder_names_its_module(children: Children) -> None:
    text = source("from ..ops.tiles import softcap", "softcap(x)")
    files = {"ops/tiles.py": f"{HEAD}@triton.jit\ndef softcap(x):\n    return x * 7.0\n"}

    assert refused(children, text, module=None)["needs"] == ["ops.tiles"]
    ended = run(children, text, module=None, files=files)
    assert "7.000000e+00" in ended.stages["ttir"].decode()


def test_a_file_beside_is_named_as_such_where_other_imports_climb(children: Children) -> None:
    text = source("from ..dtypes import other\nfrom .utils import softcap", "softcap(x)")
    files = {"utils.py": f"{HEAD}@triton.jit\ndef softcap(x):\n    return x * 7.0\n"}

    assert refused(children, text, module=None)["needs"] == ["utils"]
    ended = run(children, text, module=None, files=files)
    assert "7.000000e+00" in ended.stages["ttir"].decode()
