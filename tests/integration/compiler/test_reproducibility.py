"""The same request gives the same bytes wherever Triton and tritond are installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import triton

from tests.integration.compiler.children import ROOT, Children
from tests.integration.compiler.kernels import KERNELS, compile_kernel, read

VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture(scope="module")
def children_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    """Return children whose interpreter, Triton and source have other paths."""
    folder = tmp_path_factory.mktemp("elsewhere")
    checkout = folder / "checkout"
    checkout.symlink_to(ROOT)
    running = Children(environment_in(folder / "environment"), checkout)
    yield running
    running.close()


def environment_in(folder: Path) -> Path:
    """Make a virtual environment with the Triton of this one, and return its interpreter."""
    packages = folder / "lib" / VERSION / "site-packages"
    packages.mkdir(parents=True)
    installed = Path(triton.__file__).parent
    for path in (installed, *installed.parent.glob("triton-*.dist-info")):
        (packages / path.name).symlink_to(path)
    base = Path(sys.executable).resolve()
    (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    (folder / "bin").mkdir()
    python = folder / "bin" / "python"
    python.symlink_to(base)
    return python


@pytest.mark.parametrize(
    ("name", "arch"), [("vector_add", 80), pytest.param("matmul", 90, marks=pytest.mark.slow)]
)
def test_every_stage_is_the_same_on_another_path(
    children: Children, children_elsewhere: Children, name: str, arch: int
) -> None:
    kernel = read(KERNELS / "good" / f"{name}.py")

    here = compile_kernel(children, kernel, arch)
    there = compile_kernel(children_elsewhere, kernel, arch)

    assert list(here.stages) == ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
    assert there.stages == here.stages


def test_toolchains_at_other_paths_describe_themselves_alike(
    children: Children, children_elsewhere: Children
) -> None:
    header = {"task": "describe"}

    assert children_elsewhere.run(header, b"").result == children.run(header, b"").result
