"""A source that has a module name runs in its own package, and asks for what it lacks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.compiler.children import ChildEnd, Children

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = "\n@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, VALUE)\n"
CONFIG = "import triton.language as tl\nVALUE = tl.constexpr(5.0)\n"


def run(
    children: Children,
    text: str,
    files: dict[str, str] | None = None,
    *,
    module: str | None = "pkg.ops.kernels",
    absent: list[str] | None = None,
    kernel: str = "k",
    constexprs: dict[str, Any] | None = None,
) -> ChildEnd:
    header: dict[str, Any] = {
        "task": "front",
        "kernel": kernel,
        "module": module,
        "files": files or {},
        "absent": absent or [],
        "signature": {"x_ptr": "*fp32"},
        "constexprs": constexprs or {},
        "options": {"enable_fp_fusion": True},
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
        "stop_after": "ttir",
    }
    return children.run(header, text.encode())


def needs(ended: ChildEnd) -> list[str]:
    assert ended.last is not None
    assert (ended.last["kind"], ended.last.get("slug")) == ("failure", "missing_module"), ended.last
    found: list[str] = ended.last["needs"]
    return found


def stored(ended: ChildEnd) -> str:
    assert ended.result["kind"] == "result"
    return ended.stages["ttir"].decode()


NEEDED = {
    "an absolute import": ("from pkg.config import VALUE\n", ["pkg.config"]),
    "a relative import": ("from ..config import VALUE\n", ["pkg.config"]),
    "a submodule": ("import pkg.a.b.config as c\nVALUE = c.VALUE\n", ["pkg.a.b.config"]),
    "a module by import_module": (
        "import importlib\nVALUE = importlib.import_module('pkg.config').VALUE\n",
        ["pkg.config"],
    ),
    "one of a try": (
        "try:\n    from pkg.fast import VALUE\n"
        "except ImportError:\n    VALUE = tl.constexpr(1.0)\n",
        ["pkg.fast"],
    ),
    "one that find_spec is asked for": (
        "import importlib.util\n"
        "VALUE = tl.constexpr(2.0 if importlib.util.find_spec('fast') else 1.0)\n",
        ["fast"],
    ),
    "what a star import brings": ("VALUE = tl.constexpr(1.0)\nfrom .more import *\n",
                                  ["pkg.ops.more"]),
    "all of one run": (
        "from .a import A\nfrom .b import B\nVALUE = tl.constexpr(A + B)\n",
        ["pkg.ops.a", "pkg.ops.b"],
    ),
    "a decorator": (
        "from .registry import register\nVALUE = tl.constexpr(1.0)\n\n@register\n",
        ["pkg.ops.registry"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "wanted"), NEEDED.values(), ids=NEEDED)
def test_a_kernel_that_needs_a_module_asks_for_it(
    children: Children, before: str, wanted: list[str]
) -> None:
    kernel = KERNEL.lstrip() if before.endswith("@register\n") else KERNEL

    assert needs(run(children, HEAD + before + kernel)) == wanted


CHANGES = "def change():\n    globals()['VALUE'] = tl.constexpr(2.0)\nVALUE = tl.constexpr(1.0)\n"


@pytest.mark.parametrize("package", ["..device", ".device", "lib.device"])
def test_a_statement_that_may_change_the_kernel_asks_for_the_module_it_lacks(
    children: Children, package: str
) -> None:
    text = f"{HEAD}from {package} import COUNT\n{CHANGES}if COUNT > 1:\n    change()\n{KERNEL}"

    ended = run(children, text, module=None)

    assert needs(ended) == [package.lstrip(".")]
    assert not any("does not need" in each["message"] for each in ended.last["diagnostics"])


def test_what_the_kernel_does_not_depend_on_is_not_asked_for(children: Children) -> None:
    text = HEAD + "import flash_attn\nfrom ..config import OTHER\nVALUE = tl.constexpr(5.0)\n"

    assert "5.000000e+00" in stored(run(children, text + KERNEL))


def test_a_kernel_that_fails_by_itself_asks_for_nothing(children: Children) -> None:
    text = HEAD + "from ..config import OTHER\nVALUE = tl.constexpr(5.0)\n"

    ended = run(children, text + KERNEL + "    tl.no_such_function(x_ptr)\n")

    assert ended.last is not None
    assert (ended.last["slug"], ended.last["needs"]) == ("compile_error", [])


def test_a_module_that_was_sent_is_executed(children: Children) -> None:
    files = {"pkg/config.py": CONFIG, "pkg/__init__.py": ""}

    ended = run(children, HEAD + "from ..config import VALUE\n" + KERNEL, files)

    assert "5.000000e+00" in stored(ended)


def test_a_package_above_is_executed_first(children: Children) -> None:
    files = {"pkg/__init__.py": "import triton.language as tl\ntl.mine = tl.constexpr(7.0)\n"}

    assert "7.000000e+00" in stored(run(children, HEAD + "VALUE = tl.mine\n" + KERNEL, files))


def test_a_package_that_imports_the_posted_module_finds_it(children: Children) -> None:
    files = {"pkg/ops/__init__.py": "from pkg.ops.kernels import k\n"}
    text = HEAD + "VALUE = tl.constexpr(5.0)\nNAME = __name__\nassert __package__ == 'pkg.ops'\n"

    assert "5.000000e+00" in stored(run(children, text + KERNEL, files))


def test_the_module_of_a_package_itself_has_its_own_folder(children: Children) -> None:
    files = {"pkg/config.py": CONFIG}
    text = HEAD + "from .config import VALUE\nassert __name__ == 'pkg'\n" + KERNEL

    assert "5.000000e+00" in stored(run(children, text, files, module="pkg.__init__"))


def test_a_folder_without_init_is_a_package(children: Children) -> None:
    files = {"pkg/config/values.py": CONFIG}

    ended = run(children, HEAD + "from pkg.config.values import VALUE\n" + KERNEL, files)

    assert "5.000000e+00" in stored(ended)


def test_an_absent_module_is_not_installed(children: Children) -> None:
    text = HEAD + NEEDED["one of a try"][0].replace("pkg.fast", "vllm.fast") + KERNEL

    assert needs(run(children, text)) == ["vllm.fast"]
    assert "1.000000e+00" in stored(run(children, text, absent=["vllm"]))


def test_a_kernel_that_depends_on_an_absent_module_is_refused(children: Children) -> None:
    text = HEAD + "from vllm import VALUE\n" + KERNEL

    last = run(children, text, absent=["vllm"]).last

    assert last is not None
    assert (last["slug"], last["needs"]) == ("missing_module", [])


@pytest.mark.parametrize("name", ["LongTensor", "Tensor"])
def test_types_of_tensors_annotate_and_decide_nothing(children: Children, name: str) -> None:
    annotated = f"import torch\ndef f(x: torch.{name} | None = None):\n    return 1.0\n"
    asked = f"import torch\nVALUE = tl.constexpr(1.0 if hasattr(torch.{name}, 'zork') else 2.0)\n"

    assert "1.000000e+00" in stored(
        run(children, HEAD + annotated + "VALUE = tl.constexpr(f())\n" + KERNEL, absent=[])
    )
    last = run(children, HEAD + asked + KERNEL, absent=[]).last
    assert last is not None
    assert "cannot be decided here" in last["message"]


def test_a_kernel_that_depends_on_what_a_finalizer_could_not_do_is_refused(
    children: Children,
) -> None:
    finalizer = "class W:\n    def __del__(self):\n        vllm.register(L.append)\n"
    before = f"import vllm\nL = [2.0]\n{finalizer}w = W()\ndel w\nVALUE = tl.constexpr(L[-1])\n"

    last = run(children, HEAD + before + KERNEL, absent=["vllm"]).last

    assert last is not None
    assert "cannot be decided here" in last["message"]


def test_a_decorator_of_an_absent_module_is_left_out_and_named(children: Children) -> None:
    before, _ = NEEDED["a decorator"]
    text = HEAD + before.replace(".registry", "vllm") + KERNEL.lstrip()

    ended = run(children, text, absent=["vllm"])

    assert "1.000000e+00" in stored(ended)
    assert "@register cannot be imported" in ended.result["assumptions"][0]["message"]


DECORATED = """import torch
VALUE = tl.constexpr(1.0)
COUNT = torch.cuda.get_device_properties(0).total_memory
class Entry(triton.KernelInterface):
    def __init__(self, fn):
        self.fn = fn
        self.caches = tuple({} for _ in range(COUNT))
def entry():
    return Entry
@entry()
"""


def test_a_decorator_that_cannot_run_here_is_left_out_and_named(children: Children) -> None:
    ended = run(children, HEAD + DECORATED + KERNEL.lstrip(), absent=[])

    assert "1.000000e+00" in stored(ended)
    messages = [assumption["message"] for assumption in ended.result["assumptions"]]
    assert any("@entry() cannot run here" in message for message in messages)


def test_what_a_decorator_that_cannot_run_here_may_have_changed_is_doubted(
    children: Children,
) -> None:
    changes = "def entry():\n    L.append(2.0)\n    int(torch.ones(1))\n    L.append(3.0)\n"
    other = f"import torch\nL = []\n{changes}@entry()\n@triton.jit\ndef k(x_ptr):\n    pass\n"

    last = run(children, HEAD + other + "VALUE = tl.constexpr(L[-1])\n" + KERNEL, absent=[]).last

    assert last is not None
    assert "cannot be decided here" in last["message"]


def test_a_decorator_of_triton_that_cannot_run_here_refuses_the_kernel(children: Children) -> None:
    before = DECORATED.replace("@entry()", "@triton.heuristics({'N': [i for i in range(COUNT)]})")

    last = run(children, HEAD + before + KERNEL.lstrip(), absent=[]).last

    assert last is not None


def test_python_itself_is_never_asked_for(children: Children) -> None:
    before = "try:\n    import sqlite3\n    VALUE = tl.constexpr(2.0)\nexcept ImportError:\n"

    ended = run(children, HEAD + before + "    VALUE = tl.constexpr(1.0)\n" + KERNEL)

    assert ended.last is not None
    assert ended.last.get("needs", []) == []


def test_without_a_name_what_is_missing_is_absent(children: Children) -> None:
    text = HEAD + NEEDED["one of a try"][0] + KERNEL

    assert "1.000000e+00" in stored(run(children, text, module=None))


HELPERS = "torch._inductor.runtime.triton_helpers"
INDUCTOR = (
    HEAD
    + "from torch._inductor.runtime import triton_helpers, triton_heuristics\n"
    + "from torch._inductor.runtime.triton_helpers import libdevice\n"
    + "from torch._inductor.runtime.hints import ReductionHint\n"
    + "triton_helpers.set_driver_to_gpu()\n\n"
    + "@triton_heuristics.pointwise(size_hints={'x': 64}, hint=ReductionHint.INNER)\n"
    + "@triton.jit\ndef k(x_ptr):\n"
    + "    tl.store(x_ptr, triton_helpers.twice(libdevice.sqrt(tl.load(x_ptr))))\n"
)
HELPERS_OF_TORCH = (
    "from .triton_compat import libdevice, tl, triton\n\n"
    "def set_driver_to_gpu():\n"
    "    active = triton.runtime.driver.active\n"
    "    for backend in triton.backends.backends.values():\n"
    "        if backend.driver.is_active():\n"
    "            if not isinstance(active, backend.driver):\n"
    "                triton.runtime.driver.set_active(backend.driver())\n"
    "            return\n"
    "    raise RuntimeError('no active backend')\n\n"
    "@triton.jit\ndef twice(x):\n    return x * 2.5\n"
)
COMPAT = (
    "import torch\nimport triton\nimport triton.language as tl\n"
    "from triton.language.extra import libdevice\n"
    "try:\n    profiler = torch.autograd.profiler\nexcept AttributeError:\n    profiler = None\n"
)


def test_a_kernel_that_inductor_writes_asks_for_the_helpers_of_torch(children: Children) -> None:
    text = "from .triton_compat import libdevice\nVALUE = libdevice\n"
    first = run(children, INDUCTOR)
    second = run(children, INDUCTOR, {f"{HELPERS.replace('.', '/')}.py": text})

    assert needs(first) == [HELPERS]
    assert needs(second) == [HELPERS.replace("helpers", "compat")]


@pytest.mark.parametrize("module", ["pkg.ops.kernels", None])
def test_a_kernel_that_inductor_writes_compiles_with_the_helpers_of_torch(
    children: Children, module: str | None
) -> None:
    folder = "torch/_inductor/runtime"
    files = {f"{folder}/triton_helpers.py": HELPERS_OF_TORCH, f"{folder}/triton_compat.py": COMPAT}

    ended = run(children, INDUCTOR, files, module=module)

    assert "2.500000e+00" in stored(ended)
    said = [one["message"] for one in ended.result["assumptions"]]
    assert [one for one in said if "set_driver_to_gpu" in one] == []


def test_without_the_helpers_of_torch_a_kernel_that_needs_them_is_refused(
    children: Children,
) -> None:
    last = run(children, INDUCTOR, absent=[HELPERS]).last

    assert last is not None
    assert (last["slug"], last["needs"]) == ("missing_module", [])
    assert "cannot import name 'triton_helpers'" in last["message"]
    assert f'"{HELPERS.replace(".", "/")}.py"' in last["diagnostics"][0]["hint"]


def test_posted_files_complete_a_stand_in_instead_of_hiding_it(children: Children) -> None:
    text = HEAD + "import torch\nfrom torch.mine import VALUE\nassert torch.cuda.is_available()\n"

    ended = run(children, text + KERNEL, {"torch/mine.py": CONFIG})

    assert "5.000000e+00" in stored(ended)


PARTLY_SENT = {
    "pkg/__init__.py": "",
    "pkg/ops/__init__.py": "from pkg.fast import speed\n",
    "pkg/fast/__init__.py": "",
}


def test_a_module_left_out_of_a_posted_package_takes_only_its_own_import(
    children: Children,
) -> None:
    text = HEAD + "VALUE = tl.constexpr(5.0)\n" + KERNEL

    ended = run(children, text, PARTLY_SENT, absent=["pkg.fast.speed"])

    assert "5.000000e+00" in stored(ended)


@pytest.mark.parametrize(
    "looks_up",
    [
        "try:\n    sys.modules['triton.old'] = tl.extra.gone\nexcept AttributeError:\n    pass\n",
        "def size():\n    return getattr(sys.modules.get('pkg.ops'), 'SIZE', 1)\nsize()\n",
    ],
)
def test_a_module_looked_up_by_its_written_name_depends_on_no_other(
    children: Children, looks_up: str
) -> None:
    tries = "try:\n    from pkg.fast import speed\nexcept ImportError:\n    speed = None\n"
    files = {**PARTLY_SENT, "pkg/__init__.py": tries, "pkg/ops/__init__.py": "SIZE = 2\n"}
    text = HEAD + "import sys\nVALUE = tl.constexpr(5.0)\n" + looks_up + KERNEL

    ended = run(children, text, files, absent=["pkg.fast.speed"])

    assert "5.000000e+00" in stored(ended)


def test_whether_a_module_left_out_of_a_posted_package_exists_is_in_doubt(
    children: Children,
) -> None:
    tries = (
        "try:\n    from pkg.fast import speed\n    VALUE = tl.constexpr(5.0)\n"
        "except ImportError:\n    VALUE = tl.constexpr(6.0)\n"
    )

    ended = run(children, HEAD + tries + KERNEL, PARTLY_SENT, absent=["pkg.fast.speed"])

    assert ended.last is not None
    assert "pkg.fast.speed of a posted package was not sent" in ended.last["message"]
