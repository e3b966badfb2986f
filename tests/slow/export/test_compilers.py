"""The compilers of each language accept exported code, whatever the kernel needs."""

from __future__ import annotations

import pytest

from compiler.export.c import c_header
from compiler.export.rust import rust_module
from tests.slow.export.conftest import Build
from tests.unit.compiler.export.kernels import CUBIN, VARIANTS

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c")
UNIT = '#include "kernel.h"\n#include "kernel.h"\n'


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize(
    ("compiler", "language"),
    [("gcc", ("-std=c99", "unit.c")), ("g++", ("-std=c++17", "-x", "c++", "unit.c"))],
)
def test_c_without_the_cuda_toolkit(
    build: Build, name: str, compiler: str, language: tuple[str, ...]
) -> None:
    header = c_header(VARIANTS[name], CUBIN)

    build(compiler, *STRICT, "-DTRITOND_NO_CUDA_H", *language, kernel__h=header, unit__c=UNIT)


def test_c_with_the_cuda_toolkit(build: Build) -> None:
    header = c_header(VARIANTS["all_at_once"], CUBIN)
    unit = "#include <cuda.h>\n" + UNIT

    # nvcc finds its own cuda.h
    build("nvcc", "-c", "-x", "cu", "unit.c", kernel__h=header, unit__c=unit)


@pytest.mark.parametrize("name", VARIANTS)
def test_rust_alone(build: Build, name: str) -> None:
    module = rust_module(VARIANTS[name], CUBIN)

    build(
        "rustc", "--crate-type=rlib", "--emit=metadata", "-Dwarnings", "--edition=2021",
        "kernel.rs", kernel__rs=module,
    )  # fmt: skip


@pytest.mark.parametrize("edition", ["2015", "2018", "2024"])
def test_rust_of_every_edition(build: Build, edition: str) -> None:
    module = rust_module(VARIANTS["all_at_once"], CUBIN)
    arguments = ("--crate-type=rlib", "--emit=metadata", f"--edition={edition}", "kernel.rs")

    build("rustc", *arguments, kernel__rs=module)
