"""Exports kernels and builds programs with them in .artifacts/exports, without a GPU.

Run it where Triton, gcc, nvcc and rustc are: `python tests/gpu/make_exports.py`. Then
exports_visit.py needs none of them on the GPU machine.
"""
# ruff: noqa: T201 - a script that reports

import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from compiler.abi import abi_of
from compiler.compilation import Parameter
from compiler.export.c import c_header
from compiler.export.cuda_inline import cuda_inline_header
from compiler.export.exported_kernel import ExportedKernel as Exported
from compiler.export.exported_kernel import kernel_of
from compiler.export.python import python_module
from compiler.export.rust import rust_module
from compiler.target import Target
from tests.gpu.builds import ARCH, BUILDS, FOLDER, SOURCE, Build
from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import Compiled, Kernel, compile_kernel

PROGRAMS = Path(__file__).parent / "exports"
TARGET = FOLDER.parent / "exports"
VARIANTS = ("add", "add_cluster", "add_cooperative", "add_pdl", "matmul_much_shared")
INLINE = ("add", "matmul_much_shared")
"""Callers of inline assembly set clusters and launch attributes themselves."""


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    build_with("gcc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", TARGET / "libcuda.so",
               PROGRAMS / "driver_stub.c")  # fmt: skip
    children = Children()
    builds = {build.name: build for build in BUILDS}
    for name in VARIANTS:
        make(children, builds[name])
    children.close()
    print(f"{len(list(TARGET.iterdir()))} files in {TARGET}")


def make(children: Children, build: Build) -> None:
    """Export one build in every format and build the programs around it."""
    request = {
        "kernel": build.kernel,
        "signature": build.signature,
        "constexprs": build.constexprs,
        "options": build.options,
        "hints": build.hints,
        "arch": ARCH,
    }
    compiled = compile_kernel(children, Kernel(SOURCE, SOURCE.read_text(), request))
    assert compiled.failure is None, compiled.failure
    kernel, cubin = exported(build, compiled), compiled.stages["cubin"]
    program = build.name.partition("_")[0]
    folder = TARGET / build.name
    folder.mkdir(exist_ok=True)
    (folder / "kernel.h").write_text(c_header(kernel, cubin))
    build_with("gcc", "-O1", "-DTRITOND_NO_CUDA_H", '-DHEADER="kernel.h"', f"-I{PROGRAMS}",
               f"-I{folder}", PROGRAMS / f"{program}.c", f"-L{TARGET}", "-lcuda", "-o",
               folder / "c")  # fmt: skip
    (folder / f"{kernel.name}.py").write_text(python_module(kernel, cubin))
    if program == "add":
        (folder / "kernel.rs").write_text(rust_module(kernel, cubin))
        (folder / "main.rs").write_text((PROGRAMS / "add.rs").read_text())
        build_with("rustc", "-O", "--edition=2021", f"-L{TARGET}", folder / "main.rs", "-o",
                   folder / "rust")  # fmt: skip
    if build.name in INLINE:
        (folder / "kernel.cuh").write_text(
            cuda_inline_header(kernel, compiled.stages["ptx"].decode())
        )
        build_with("nvcc", f"-arch=sm_{ARCH}a", '-DHEADER="kernel.cuh"', f"-I{PROGRAMS}",
                   f"-I{folder}", "-o", folder / "cuda-inline",
                   PROGRAMS / f"{program}.cu")  # fmt: skip


def exported(build: Build, compiled: Compiled) -> Exported:
    """Return the kernel's record as the service would answer it."""
    assert compiled.back is not None
    parameters = [
        Parameter(name=name, type=kind, role="runtime", hints=build.hints.get(name, []), value=None)
        for name, kind in build.signature.items()
    ]
    facts: dict[str, Any] = {
        "key": "0" * 64,
        "target": f"cuda:{ARCH}",
        "toolchain": {"triton": "", "ptxas": ""},
        "abi": abi_of(Target("cuda", ARCH, 32), parameters, compiled.back["metadata"]).to_json(),
        "parameters": [parameter.model_dump() for parameter in parameters],
    }
    return kernel_of(facts)


def build_with(compiler: str, *arguments: object) -> None:
    """Run a compiler. Raises CalledProcessError."""
    subprocess.run([compiler, *map(str, arguments)], check=True)


if __name__ == "__main__":
    main()
