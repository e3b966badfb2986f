"""Modules as in real packages: they query the machine, inspect Triton, and import each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Compiled, Kernel, compile_kernel

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef k(x):\n    tl.store(x, VALUE)\n"
X = {"signature": {"x": "*fp32"}}


def compile_text(children: Children, text: str, arch: int = 90, **request: Any) -> Compiled:
    kernel = Kernel(Path("text.py"), text, X | request)
    return compile_kernel(children, kernel, arch, stop_after="ttir")


def stored(compiled: Compiled) -> str:
    assert compiled.failure is None, compiled.failure
    ttir = compiled.stages["ttir"].decode()
    (line,) = (line for line in ttir.split("\n") if "arith.constant" in line)
    return line.split("arith.constant ")[1].split(" :")[0]


def test_a_constant_may_be_a_limit_of_a_torch_dtype(children: Children) -> None:
    constant = "import torch\nVALUE = tl.constexpr(torch.finfo(torch.float8_e4m3fn).max)\n"

    assert stored(compile_text(children, HEAD + constant + KERNEL)) == "4.480000e+02"


def test_a_table_may_be_looked_up_by_torch_dtypes(children: Children) -> None:
    constant = "import torch\nVALUE = tl.constexpr({torch.half: 2.0}[torch.float16])\n"

    assert stored(compile_text(children, HEAD + constant + KERNEL)) == "2.000000e+00"


ASKS = (
    "import torch\n"
    "if torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 9:\n"
    "    VALUE = tl.constexpr(9.0)\n"
    "else:\n"
    "    VALUE = tl.constexpr(8.0)\n"
)


def test_a_module_that_asks_torch_for_the_device_gets_the_target(children: Children) -> None:
    assert stored(compile_text(children, HEAD + ASKS + KERNEL, arch=90)) == "9.000000e+00"
    assert stored(compile_text(children, HEAD + ASKS + KERNEL, arch=80)) == "8.000000e+00"


PROPERTIES = "import torch\nasked = torch.cuda.get_device_properties(0)\n"


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ("asked.multi_processor_count", "1.320000e+02"),
        ("asked.major * 10 + asked.minor", "9.000000e+01"),
        ("asked.shared_memory_per_block_optin // 1024", "2.270000e+02"),
        ("asked.max_threads_per_multi_processor", "2.048000e+03"),
    ],
)
def test_a_module_that_asks_torch_for_properties_gets_those_of_the_target(
    children: Children, asked: str, value: str
) -> None:
    text = f"{HEAD}{PROPERTIES}VALUE = tl.constexpr(float({asked}))\n{KERNEL}"

    compiled = compile_text(children, text, arch=90)

    assert stored(compiled) == value
    assert compiled.front is not None
    assert "like the H100" in compiled.front["assumptions"][0]["message"]


def test_a_property_that_differs_between_gpus_of_a_target_is_not_known(children: Children) -> None:
    text = f"{HEAD}{PROPERTIES}VALUE = tl.constexpr(float(asked.total_memory))\n{KERNEL}"

    compiled = compile_text(children, text, arch=90)

    assert compiled.failure is not None


def test_a_module_that_asks_whether_torch_is_deterministic_gets_the_default(
    children: Children,
) -> None:
    asks = (
        "import torch\n"
        "VALUE = tl.constexpr(2.0 if torch.are_deterministic_algorithms_enabled() else 1.0)\n"
    )

    compiled = compile_text(children, HEAD + asks + KERNEL)

    assert stored(compiled) == "1.000000e+00"
    assert compiled.front is not None
    assert "is taken to be False" in compiled.front["assumptions"][0]["message"]


FUNCTION_OF_TORCH = (
    "import sys, torch\n"
    "class Op(torch.autograd.Function):\n    pass\n"
    "def op(x=None):\n    return Op.apply(1 if x is None else x)\n"
    "VALUE = tl.constexpr(1.0)\n"
)


def test_a_function_that_is_not_called_compares_nothing(children: Children) -> None:
    install = (
        "def install():\n    sys.modules[__name__].op_of_module = op\n"
        "install()\n"
    )  # fmt: skip

    compiled = compile_text(children, HEAD + FUNCTION_OF_TORCH + install + KERNEL)

    assert stored(compiled) == "1.000000e+00"


def test_a_function_that_is_called_and_compares_may_change_all_that_it_sees(
    children: Children,
) -> None:
    install = (
        "def install(it):\n"
        "    if it is None:\n        sys.modules[__name__].VALUE = tl.constexpr(2.0)\n"
        "install(torch.jit)\n"
    )

    failure = compile_text(children, HEAD + FUNCTION_OF_TORCH + install + KERNEL).failure

    assert failure is not None
    assert "cannot be decided here" in failure["message"]


def test_what_a_class_would_inherit_from_torch_is_left_out(children: Children) -> None:
    class_ = (
        "import torch\n"
        "globals()['VALUE'] = tl.constexpr(3.0)\n"  # so that every statement is executed
        "class Op(torch.autograd.Function):\n    pass\n"
        "op = Op.apply\n"
        "layer = Op().to('cuda')\n"
    )

    compiled = compile_text(children, HEAD + class_ + KERNEL)

    assert stored(compiled) == "3.000000e+00"


@pytest.mark.parametrize("use", ["Net()(1)", "len(Net())", "Net(1)", "[*Net()]", "Net()[0]"])
def test_what_an_object_would_inherit_from_torch_is_left_out(children: Children, use: str) -> None:
    class_ = "import torch\nVALUE = tl.constexpr(3.0)\nclass Net(torch.nn.Module):\n    pass\n"

    assert (
        stored(compile_text(children, HEAD + class_ + KERNEL + f"out = {use}\n")) == "3.000000e+00"
    )


def test_a_statement_that_fails_by_something_tainted_is_left_out(children: Children) -> None:
    tainted = (
        "import torch\n"
        "try:\n    LIMIT = int(torch.ones(1))\nexcept Exception:\n    LIMIT = None\n"
        "VALUE = tl.constexpr(3.0)\n"
        "out = LIMIT + 1\n"
    )

    assert stored(compile_text(children, HEAD + tainted + KERNEL)) == "3.000000e+00"


def test_an_attribute_that_nothing_gives_a_class_is_an_error(children: Children) -> None:
    class_ = "globals()['VALUE'] = 1\nclass Op:\n    pass\nop = Op.apply\n"

    failure = compile_text(children, HEAD + class_ + KERNEL).failure

    assert failure is not None
    assert "no attribute 'apply'" in failure["message"]


def test_torch_has_no_parts_that_only_plug_ins_of_other_makers_add(children: Children) -> None:
    asks = (
        "import torch\n"
        "VALUE = tl.constexpr(1.0 if hasattr(torch, 'npu') else 2.0)\n"
        "try:\n"
        "    import torch.musa\n"
        "except ImportError:\n"
        "    VALUE = tl.constexpr(VALUE.value + 1.0)\n"
    )

    assert stored(compile_text(children, HEAD + asks + KERNEL)) == "3.000000e+00"


def test_a_module_that_asks_triton_for_the_device_gets_the_target(children: Children) -> None:
    asks = (
        "target = triton.runtime.driver.active.get_current_target()\n"
        "VALUE = tl.constexpr(float(target.arch if target.backend == 'cuda' else 0))\n"
    )

    assert stored(compile_text(children, HEAD + asks + KERNEL, arch=80)) == "8.000000e+01"


def test_a_module_may_compare_versions(children: Children) -> None:
    asks = (
        "from packaging import version\n"
        "VALUE = tl.constexpr(1.0 if version.parse(triton.__version__) >= version.parse('3.0')"
        " else 0.0)\n"
    )

    assert stored(compile_text(children, HEAD + asks + KERNEL)) == "1.000000e+00"


def test_triton_may_come_through_a_module_that_is_not_there(children: Children) -> None:
    text = (
        "from package.compat import autotune_if_wanted, tl, triton\n"
        "VALUE = tl.constexpr(3.0)\n" + KERNEL
    )

    compiled = compile_text(children, text)

    assert stored(compiled) == "3.000000e+00"


def test_a_placeholder_for_triton_is_replaced_by_triton(children: Children) -> None:
    compat = "import types\ntriton = types.ModuleType('triton')\ntl = None\n"
    text = "from package.compat import tl, triton\nVALUE = tl.constexpr(4.0)\n" + KERNEL

    compiled = compile_text(children, text, files={"package/compat.py": compat})

    assert stored(compiled) == "4.000000e+00"


def test_a_helper_may_stand_in_the_folder_above(children: Children) -> None:
    helper = HEAD + "VALUE = tl.constexpr(5.0)\n"
    text = HEAD + "from ..constants import VALUE\n" + KERNEL

    compiled = compile_text(children, text, files={"package/constants.py": helper})

    assert stored(compiled) == "5.000000e+00"


def test_a_module_of_tritons_may_be_executed_again(children: Children) -> None:
    finds = (
        "import importlib.util\n"
        "spec = importlib.util.find_spec('triton.language.extra.libdevice')\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "rsqrt = module.rsqrt\n"
    )
    kernel = "@triton.jit\ndef k(x):\n    tl.store(x, rsqrt(tl.load(x)))\n"

    compiled = compile_text(children, HEAD + finds + kernel)

    assert compiled.failure is None
    assert b"__nv_rsqrtf" in compiled.stages["ttir"]


DEFINED = {
    "a constant": ("gl = tl.constexpr(7)\n", "from consts import gl\n", "gl"),
    "a constant renamed": ("gluon = tl.constexpr(7)\n", "from consts import gluon as B\n", "B"),
    "a function": (
        "@triton.jit\ndef libdevice(x):\n    return x + 4\n",
        "from consts import libdevice\n",
        "libdevice(3.0)",
    ),
    "constants in a class": (
        "class gl:\n    B = tl.constexpr(7)\n",
        "from consts import gl\nB = gl.B\n",
        "B",
    ),
}


@pytest.mark.parametrize(("defined", "imported", "value"), DEFINED.values(), ids=DEFINED)
def test_what_a_file_defines_under_a_name_of_triton_is_that(
    children: Children, defined: str, imported: str, value: str
) -> None:
    text = HEAD + imported + KERNEL.replace("VALUE", value)

    made = compile_text(children, text, files={"consts.py": HEAD + defined})

    assert stored(made) == "7.000000e+00"


def test_a_module_beside_the_source_may_have_the_name_of_one_of_triton(
    children: Children,
) -> None:
    text = HEAD + "from tl import B\n" + KERNEL.replace("VALUE", "B")

    made = compile_text(children, text, files={"tl.py": HEAD + "B = tl.constexpr(7)\n"})

    assert stored(made) == "7.000000e+00"


def test_torch_has_a_git_version_that_is_not_known(children: Children) -> None:
    asks = "import torch\nhas = hasattr(torch.version, 'git_version')\n"
    text = f"{HEAD}{asks}VALUE = tl.constexpr(3.0 if has else 4.0)\n{KERNEL}"

    assert stored(compile_text(children, text)) == "3.000000e+00"
    known = text.replace("if has ", "if torch.version.git_version == 'a' ")
    assert compile_text(children, known).failure is not None
