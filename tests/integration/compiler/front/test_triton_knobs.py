"""A source cannot reach the back end: its settings there are refused or reported, never lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.compiler.children import ChildEnd, Children

HEAD = "import os\nimport triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef k(x):\n    tl.store(x, tl.load(x) + 1)\n"

REFUSED = {
    "a knob": ("triton.knobs.nvidia.disable_ptxas_opt = True", "nvidia.disable_ptxas_opt"),
    "a knob by another name": (
        "from triton import knobs as k_\nk_.compilation.disable_line_info = True",
        "compilation.disable_line_info",
    ),
    "a knob by its name": (
        "setattr(triton.knobs.language, 'default_fp_fusion', False)",
        "language.default_fp_fusion",
    ),
    "the variable of a knob": (
        "os.environ['TRITON_DISABLE_LINE_INFO'] = '1'",
        "compilation.disable_line_info",
    ),
    "a variable of LLVM": ("os.environ['DISABLE_LLVM_OPT'] = '1'", "DISABLE_LLVM_OPT"),
    "options for ptxas": (
        "os.environ.setdefault('PTXAS_OPTIONS', '-O0')",
        "nvidia.ptxas_options",
    ),
    "the pipeline": (
        "triton.knobs.runtime.add_stages_inspection_hook = lambda *_: None",
        "runtime.add_stages_inspection_hook",
    ),
    "a stage": (
        "import triton.backends.nvidia.compiler as c\nc.CUDABackend.make_ptx = print",
        "triton.backends.nvidia.compiler.CUDABackend.make_ptx",
    ),
    "a binding": (
        "from triton._C.libtriton import llvm\nllvm.optimize_module = print",
        "triton._C.libtriton.llvm.optimize_module",
    ),
    "the interpreter": ("os.environ['TRITON_INTERPRET'] = '1'", "runtime.interpret"),
}
TAKEN = {
    "where to cache": "triton.knobs.cache.dir = '/tmp/x'",
    "what to print": "os.environ['TRITON_PRINT_AUTOTUNING'] = '1'",
    "a hook of launches": "triton.knobs.runtime.launch_enter_hook = print",
    "what is so already": "triton.knobs.nvidia.disable_ptxas_opt = False",
    "the variable of what is so": "os.environ['TRITON_DISABLE_LINE_INFO'] = '0'",
    "for a while": (
        "with triton.knobs.compilation.scope():\n    triton.knobs.compilation.enable_asan = True"
    ),
    "an allocator": "triton.set_allocator(lambda size, alignment, stream: None)",
    "an unknown variable": "os.environ['MY_BLOCK'] = '64'",
}


def front(children: Children, above: str, files: Any = None) -> ChildEnd:
    """Execute `above` and a kernel, like a slice that kept all of it."""
    header = {
        "task": "front",
        "kernel": "k",
        "files": files or {},
        "signature": {"x": "*fp32"},
        "constexprs": {},
        "options": {"enable_fp_fusion": True},
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
    }
    return children.run(header, f"{HEAD}{above}\n{KERNEL}".encode())


@pytest.mark.parametrize(("above", "name"), REFUSED.values(), ids=REFUSED)
def test_what_would_make_other_code_is_refused_by_name(
    children: Children, above: str, name: str
) -> None:
    failure = front(children, above).last

    assert failure is not None
    assert failure["slug"] == "compile_error"
    found = failure["diagnostics"][0]
    assert name in found["message"]
    assert found["line"] == 3 + len(above.splitlines())
    assert found["hint"].startswith("Remove it")


@pytest.mark.parametrize("above", TAKEN.values(), ids=TAKEN)
def test_what_makes_no_other_code_is_taken(children: Children, above: str) -> None:
    made = front(children, above)

    assert made.result["notes"] == []
    assert made.stages["ttir"]


def test_debugging_at_launch_is_reported(children: Children) -> None:
    [note] = front(children, "triton.knobs.runtime.debug = True").result["notes"]

    assert note["severity"] == "warning"
    assert "the option `debug` at launch" in note["message"]
    assert '"debug"' in note["hint"]


def test_a_file_beside_the_source_is_named(children: Children) -> None:
    files = {"setup.py": "import triton\n\ntriton.knobs.nvidia.disable_ptxas_opt = True\n"}

    failure = front(children, "import setup", files).last

    assert failure is not None
    found = failure["diagnostics"][0]
    assert (found["file"], found["line"]) == ("setup.py", 3)
