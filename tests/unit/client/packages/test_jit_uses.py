"""Functions that kernels of other files call are helpers, and those that are launched are not."""

from pathlib import Path

import pytest
from tritonc.packages.jit_uses import JitUses

HEAD = "import triton\nimport triton.language as tl\n"
HELPER = f"{HEAD}\n@triton.jit\ndef act(x):\n    return x\n"


def kernel(imports: str, call: str) -> str:
    return f"{HEAD}{imports}\n\n@triton.jit\ndef fwd(x_ptr):\n    tl.store(x_ptr, {call})\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package `pkg` with a helper `act`; the working directory is another one."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    folder = tmp_path / "pkg"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "helpers.py").write_text(HELPER)
    return folder


def uses(folder: Path) -> JitUses:
    return JitUses.of(folder.rglob("*.py"))


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from .helpers import act", "act(1.0)"),
        ("from pkg.helpers import act as a", "a(1.0)"),
        ("from .helpers import *", "act(1.0)"),
        ("from . import helpers", "helpers.act(1.0)"),
        ("from . import helpers as h", "h.act(1.0)"),
        ("import pkg.helpers", "pkg.helpers.act(1.0)"),
        ("import pkg.helpers as h", "h.act(1.0)"),
        ("import helpers", "helpers.act(1.0)"),
        ("from .helpers import act\nshort = act", "short(1.0)"),
        ("from .helpers import act", "tl.reduce(tl.arange(0, 2), 0, act)"),
        ("try:\n    from .helpers import act\nexcept ImportError:\n    act = None", "act(1.0)"),
    ],
)
def test_a_function_that_another_file_imports_is_called(package: Path, imports: str, call: str):
    (package / "kernels.py").write_text(kernel(imports, call))

    assert uses(package).is_called(package / "helpers.py", "act")


def test_a_name_is_followed_through_the_packages_that_pass_it_on(package: Path):
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").write_text("from ..helpers import act as passed")
    (package / "kernels.py").write_text(kernel("from .inner import passed", "passed(1.0)"))

    assert uses(package).is_called(package / "helpers.py", "act")


def test_star_imports_of_each_other_end(package: Path):
    (package / "a.py").write_text(kernel("from .b import *", "act(1.0)"))
    (package / "b.py").write_text("from .a import *\nfrom .helpers import *\n")

    assert uses(package).is_called(package / "helpers.py", "act")


@pytest.mark.parametrize(
    "decorator", ["@triton.jit", "@triton.jit(debug=True)", "@tjit", "@partial(triton.jit)"]
)
def test_a_kernel_is_known_by_its_decorator(package: Path, decorator: str):
    text = kernel("from .helpers import act\nfrom triton import jit as tjit", "act(1.0)")
    (package / "kernels.py").write_text(text.replace("@triton.jit", decorator))

    assert uses(package).is_called(package / "helpers.py", "act")


def test_a_kernel_may_be_made_by_a_call(package: Path):
    text = kernel("from .helpers import act", "act(1.0)").replace("@triton.jit\n", "")
    (package / "kernels.py").write_text(f"{text}\nkernel = triton.jit(fwd)\n")

    assert uses(package).is_called(package / "helpers.py", "act")


@pytest.mark.parametrize(
    "host",
    [
        "def run(x):\n    y = act(x)\n",
        "def run(x, act):\n    fwd[(1,)](x, act)\n",
        "print(act)\n",
    ],
)
def test_what_only_host_code_names_is_not_called(package: Path, host: str):
    (package / "host.py").write_text(f"from pkg.helpers import act\n{host}")

    assert not uses(package).is_called(package / "helpers.py", "act")


def test_a_variable_of_a_kernel_hides_an_imported_name(package: Path):
    (package / "kernels.py").write_text(
        f"{HEAD}from .helpers import act\n\n@triton.jit\ndef fwd(x_ptr, act):\n    act(x_ptr)\n"
    )

    assert not uses(package).is_called(package / "helpers.py", "act")


def test_a_function_that_a_launch_gets_is_called(package: Path):
    (package / "host.py").write_text(
        "from pkg.helpers import act\nfrom pkg.kernels import fwd\n\n"
        "def run(x):\n    fwd[(1,)](x, ACT=act)\n"
    )

    assert uses(package).is_called(package / "helpers.py", "act")


@pytest.mark.parametrize(
    "launch",
    [
        "helpers.act[(1,)](x)",
        "helpers.act[grid](x, num_warps=4)",
        "wrap_triton(helpers.act)[grid](x)",
        "helpers.act.warmup(x, grid=(1,))",
        "chosen = helpers.act if x else None\n    chosen[grid](x)",
    ],
)
def test_a_launch_in_another_file_is_seen(package: Path, launch: str):
    (package / "host.py").write_text(
        f"from pkg import helpers\n\ndef run(x, grid):\n    {launch}\n"
    )

    assert uses(package).is_launched(package / "helpers.py", "act")


def test_files_that_cannot_be_parsed_use_nothing(package: Path):
    (package / "broken.py").write_text("from .helpers import act\n@triton.jit\ndef (:\n")
    (package / "latin.py").write_bytes(b"jit = '\xff'\n")
    (package / "named.py").write_text(kernel(f"import {'a' * 5000}", f"{'a' * 5000}.act(1.0)"))

    assert not uses(package).is_called(package / "helpers.py", "act")


def test_a_name_is_followed_a_bounded_number_of_times(package: Path):
    chain = "\n".join(f"a{n} = a{n + 1}" for n in range(5000))
    (package / "kernels.py").write_text(kernel(chain, "a0(1.0)"))

    assert len(uses(package).called) < 1000
