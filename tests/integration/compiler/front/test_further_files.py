"""Kernels with helpers in other files: lookups, and errors in those files."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.front.test_packaged_modules import run
from tests.integration.compiler.kernels import Compiled, Kernel, compile_kernel

HEAD = "import triton\nimport triton.language as tl\n"
ONE = HEAD + "@triton.jit\ndef one():\n    return 1.0\n"
SIGNATURE = {"signature": {"x_ptr": "*fp32"}}


def kernel(statement: str, value: str = "one()") -> str:
    return f"{statement}\n{HEAD}@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, {value})\n"


def compile_with(children: Children, text: str, files: dict[str, str]) -> Compiled:
    request: dict[str, Any] = {**SIGNATURE, "files": files}
    return compile_kernel(children, Kernel(Path("text.py"), text, request), stop_after="ttir")


FOUND = {
    "a module of a package": (
        kernel("import pkg.mod as m", "m.one()"),
        {"pkg/__init__.py": "", "pkg/mod.py": ONE},
    ),
    "a module beside": (kernel("from . import y", "y.one()"), {"y.py": ONE}),
    "what a package passes on, from above": (
        kernel("from .pkg import one"),
        {
            "pkg/__init__.py": "from .sub.deep import one\n",
            "pkg/sub/deep.py": "from ..base import one\n",
            "pkg/base.py": ONE,
        },
    ),
    "modules that import each other": (
        kernel("from a import one"),
        {"a.py": f"import b\n{ONE}", "b.py": "import a\n"},
    ),
    "a file whose host code needs torch": (
        kernel("from helpers import one"),
        {"helpers.py": f"import torch\n{ONE}def host(x: torch.Tensor):\n    return x\nhost(2)\n"},
    ),
}


@pytest.mark.parametrize(("text", "files"), FOUND.values(), ids=FOUND)
def test_helpers_are_found(children: Children, text: str, files: dict[str, str]) -> None:
    compiled = compile_with(children, text, files)

    assert compiled.failure is None
    assert b"1.000000e+00" in compiled.stages["ttir"]


def test_a_relative_import_gives_no_warning(children: Children) -> None:
    compiled = compile_with(children, kernel("from .y import one"), {"y.py": ONE})

    assert compiled.front is not None
    assert compiled.front["notes"] == []


MISTAKES = {
    "a file that is not there": (
        kernel("from .helpers import one"),
        {"other.py": ONE},
        ("missing_module", "user.py", 1, '`files` as "helpers.py"', "helpers"),
    ),
    "a file of a package that is not there": (
        kernel("from mypkg.ops.helpers import one"),
        {"helpers.py": ONE},
        ("missing_module", "user.py", 1, '`files` as "mypkg/ops/helpers.py"', "mypkg.ops.helpers"),
    ),
    "a file that a file needs": (
        kernel("from pkg import one"),
        {"pkg/__init__.py": "from .sub import one\n"},
        ("missing_module", "pkg/__init__.py", 1, '`files` as "pkg/sub.py"', "pkg.sub"),
    ),
    "a module that a package imports from itself": (
        kernel("from pkg import sub", "sub.one()"),
        {"pkg/__init__.py": "from . import sub\n"},
        ("missing_module", "pkg/__init__.py", 1, '`files` as "pkg/sub.py"', "pkg.sub"),
    ),
    "a name that only a star import can bring": (
        kernel("from .helpers import *"),
        {"other.py": ONE},
        ("missing_module", "user.py", 1, '`files` as "helpers.py"', "helpers"),
    ),
    "a name that the file does not define": (
        kernel("from helpers import won", "won()"),
        {"helpers.py": ONE.replace("one", "wonder")},
        ("compile_error", "user.py", 1, "Did you mean 'wonder'? helpers.py defines it."),
    ),
    "a syntax error in a file": (
        kernel("from helpers import one"),
        {"helpers.py": ONE.replace("one():", "one()")},
        ("syntax_error", "helpers.py", 4, "colon"),
    ),
    "an error while a file is loaded": (
        kernel("from helpers import X", "X"),
        {"helpers.py": "\nX = 1 / 0\n"},
        ("compile_error", "helpers.py", 2, "None"),
    ),
    "a name that a file of a file does not define": (
        kernel("from a.b import one"),
        {"a/b.py": "from a.c import one\n", "a/c.py": ONE.replace("one", "once")},
        ("compile_error", "a/b.py", 1, "Did you mean 'once'? a/c.py defines it."),
    ),
    "a file with more dots than there are folders": (
        kernel("from a.b import one"),
        {"a/b.py": "from ..c import one\n", "c.py": ONE},
        (
            "compile_error",
            "a/b.py",
            1,
            '"package/a/b.py" and "package/c.py", and import package.a.b.',
        ),
    ),
    "more dots than there are folders": (
        kernel("from ...helpers import one"),
        {},
        ("missing_module", "user.py", 1, '`files` as "helpers.py"', "helpers"),
    ),
    "more dots than there are folders, and another file": (
        kernel("from ...helpers import one"),
        {"other.py": ONE},
        ("missing_module", "user.py", 1, '`files` as "helpers.py"', "helpers"),
    ),
}


@pytest.mark.parametrize(("text", "files", "reported"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_with_files_is_explained(
    children: Children, text: str, files: dict[str, str], reported: tuple[Any, ...]
) -> None:
    failure = compile_with(children, text, files).failure

    assert failure is not None
    error = failure["diagnostics"][0]
    slug, file, line, hint, *needs = reported
    assert (failure["slug"], error["file"], error["line"]) == (slug, file, line)
    assert hint in str(error["hint"])
    assert failure["needs"] == needs


CLIMBS = {
    "next to the source": ("from .act import one", "act.py", "from ..c import one"),
    "imported without a dot": ("from act import one", "act.py", "from ..c import one"),
    "imported without a dot, with one dot": ("from act import one", "act.py", "from .c import one"),
    "by more dots": ("from .act import one", "act.py", "from ...c import one"),
    "in a folder": ("from a.act import one", "a/act.py", "from ..c import one"),
    "in a folder, by more dots": ("from a.act import one", "a/act.py", "from ....c import one"),
}


@pytest.mark.parametrize(("statement", "path", "climb"), CLIMBS.values(), ids=CLIMBS)
@pytest.mark.parametrize("is_posted", [False, True])
def test_a_file_that_climbs_out_of_its_package_names_paths_that_compile(
    children: Children, statement: str, path: str, climb: str, is_posted: bool
) -> None:
    files = {path: f"{climb}\n", **({"c.py": ONE} if is_posted else {})}

    failure = compile_with(children, kernel(statement), files).failure

    assert failure is not None
    hint = failure["diagnostics"][0]["hint"]
    named = re.search(r'as "(.+?)" and "(.+?)", and import ([\w.]*\w)', hint)
    assert named is not None, hint
    deeper = {named[1]: f"{climb}\n", named[2]: ONE}
    assert compile_with(children, kernel(f"from {named[3]} import one"), deeper).failure is None
    if (module := re.search(r'`module` is then "(.+)NAME"', hint)) is not None:
        dotted = run(children, kernel("from .act import one"), deeper, kernel="kernel", module=None)
        assert dotted.result["kind"] == "result"
        name = f"{module[1]}kernels"
        dotted = run(children, kernel("from .act import one"), deeper, kernel="kernel", module=name)
        assert dotted.result["kind"] == "result"


DOTTED = {
    "from {}h import one": "one()",
    "from {}d.h import one": "one()",
    "from {} import h": "h.one()",
    "from {} import one": "one()",
}


MODULES = ("kernels", "a.kernels", "a.b.kernels", "a.b.c.kernels", "a.__init__")
OF_ITSELF = ("a.__init__", 1, "from {} import one")
"""No file makes this right: the package would take a function from itself."""


@pytest.mark.parametrize(
    ("module", "level", "statement"),
    [case for case in itertools.product(MODULES, range(1, 5), DOTTED) if case != OF_ITSELF],
)
def test_what_a_relative_import_of_a_named_source_lacks_is_named_so_that_it_compiles(
    children: Children, module: str, level: int, statement: str
) -> None:
    text = kernel(statement.format("." * level), DOTTED[statement])
    elsewhere = {"h.py": ONE}

    failed = run(children, text, elsewhere, kernel="kernel", module=module).last

    assert failed is not None
    hint = failed["diagnostics"][0]["hint"]
    deeper = re.search(r'whole name, such as "([\w.]+)"', hint)
    path = re.findall(r'"([\w/]+\.py)"', hint)[-1]
    name = module if deeper is None else deeper[1]
    ended = run(children, text, {path: ONE}, kernel="kernel", module=name)
    assert ended.result["kind"] == "result", (hint, ended.last)


def test_a_function_of_the_folder_of_a_source_is_posted_as_its_package(children: Children) -> None:
    text = kernel("from . import one")

    failed = run(children, text, kernel="kernel", module=None).last

    assert failed is not None
    named = re.search(r'`module`, such as "(.+?)", .* as "(.+?)"', failed["diagnostics"][0]["hint"])
    assert named is not None
    ended = run(children, text, {named[2]: ONE}, kernel="kernel", module=named[1])
    assert ended.result["kind"] == "result"


NAMED_CLIMBS = {
    "next to the source": ("a.kernels", "from .act import one", "a/act.py", "from ..c import one"),
    "by more dots": ("a.kernels", "from .act import one", "a/act.py", "from ...c import one"),
    "from deeper": ("a.b.kernels", "from ..act import one", "a/act.py", "from ..c import one"),
}


@pytest.mark.parametrize(
    ("module", "statement", "path", "climb"), NAMED_CLIMBS.values(), ids=NAMED_CLIMBS
)
def test_a_file_that_climbs_out_of_a_named_source_names_paths_and_a_module_that_compile(
    children: Children, module: str, statement: str, path: str, climb: str
) -> None:
    files = {path: f"{climb}\n"}

    failed = run(children, kernel(statement), files, kernel="kernel", module=module).last

    assert failed is not None
    hint = failed["diagnostics"][0]["hint"]
    named = re.search(r'as "(.+?)" and "(.+?)".*`module` is then "(.+)"', hint)
    assert named is not None, hint
    deeper = {named[1]: f"{climb}\n", named[2]: ONE}
    ended = run(children, kernel(statement), deeper, kernel="kernel", module=named[3])
    assert ended.result["kind"] == "result", (hint, ended.last)


def test_a_function_among_the_constexprs_that_is_not_there_is_named(children: Children) -> None:
    text = f"{HEAD}@triton.jit\ndef relu(x):\n    return x\n" + (
        "@triton.jit\ndef kernel(x_ptr, ACT: tl.constexpr):\n    tl.store(x_ptr, ACT(1.0))\n"
    )
    request = {**SIGNATURE, "kernel": "kernel", "constexprs": {"ACT": {"function": "relux"}}}

    failure = compile_kernel(children, Kernel(Path("text.py"), text, request)).failure

    assert failure is not None
    assert "'relux', which the source does not define" in failure["message"]


INSIDE = {
    "a function": (
        "def make():\n    @triton.jit\n    def kernel(x_ptr):\n        tl.store(x_ptr, 1.0)\n"
        "    return kernel\nmade = make()\n",
        "kernel",
    ),
    "a class": (
        "class Ops:\n    @staticmethod\n    @triton.jit\n    def kernel(x_ptr):\n"
        "        tl.store(x_ptr, 1.0)\n",
        "Ops.kernel",
    ),
    "a class of a class": (
        "class Ops:\n    class Inner:\n        @triton.jit\n        def kernel(x_ptr):\n"
        "            tl.store(x_ptr, 1.0)\n",
        "Ops.Inner.kernel",
    ),
    "a base class": (
        "class Base:\n    @triton.jit\n    def kernel(x_ptr):\n        tl.store(x_ptr, 1.0)\n"
        "class Ops(Base):\n    pass\n",
        "Ops.kernel",
    ),
}


@pytest.mark.parametrize(("text", "name"), INSIDE.values(), ids=INSIDE)
def test_a_kernel_inside_something_compiles_by_its_name(
    children: Children, text: str, name: str
) -> None:
    request = {**SIGNATURE, "kernel": name}

    compiled = compile_kernel(
        children, Kernel(Path("text.py"), HEAD + text, request), stop_after="ttir"
    )

    assert compiled.failure is None
    assert b"tt.func public @kernel" in compiled.stages["ttir"]


def test_a_kernel_that_running_the_source_does_not_make_says_what_was_left_out(
    children: Children,
) -> None:
    text = f"{HEAD}import torch\ndef make(n):\n    @triton.jit\n    def kernel(x_ptr):\n" + (
        "        tl.store(x_ptr, n)\n    return kernel\nmade = make(*torch.nowhere)\n"
    )
    request = {**SIGNATURE, "kernel": "kernel"}

    failure = compile_kernel(children, Kernel(Path("text.py"), text, request)).failure

    assert failure is not None
    assert failure["slug"] == "unknown_kernel"
    assert "torch.nowhere is not known here" in failure["diagnostics"][1]["message"]
