"""Exported launchers make the same driver calls as Triton's own launcher.

There is no GPU here: a library records the calls instead of the driver.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from compiler.export.c import c_header
from compiler.export.rust import rust_module
from tests.slow.export.conftest import Build
from tests.unit.compiler.export.kernels import CUBIN, VARIANTS

DRIVER = (Path(__file__).parent / "recording_driver.c").read_text()
C_MAIN = """
#include "kernel.h"
int main(void) {
    add_kernel_module loaded;
    int result = add_kernel_load(&loaded);
    if (result != 0)
        return result > 255 ? 255 : result;
    add_kernel_launch(&loaded, (CUstream)0x30, 5, 3, 2, 0x1000, 0x2000, 0x3000, -2);
    add_kernel_launch(&loaded, (CUstream)0x30, 5, 0, 2, 0x1000, 0x2000, 0x3000, -2);
    add_kernel_unload(&loaded);
    return 0;
}
"""
RUST_MAIN = """
mod kernel;
fn main() {
    unsafe {
        let loaded = match kernel::AddKernel::load() {
            Ok(loaded) => loaded,
            Err(result) => std::process::exit(result.min(255)),
        };
        let stream = 0x30 as kernel::CUstream;
        for grid in [[5, 3, 2], [5, 0, 2]] {
            loaded.launch(stream, grid, 0x1000, 0x2000, 0x3000, -2).unwrap();
        }
    }
}
"""
PARAMETERS = ["1000", "2000", "3000"]


@pytest.fixture(params=["c", "rust"])
def program(request: pytest.FixtureRequest, build: Build) -> object:
    """Build the program around a kernel and run it; return its driver calls."""

    def run(name: str, status: int = 0, **environment: str) -> list[str]:
        library = ("-shared", "-fPIC", "-o", "libcuda.so", "driver.c")
        folder = build("gcc", *library, driver__c=DRIVER)
        kernel = VARIANTS[name]
        if request.param == "c":
            header = c_header(kernel, CUBIN)
            arguments = ("-DTRITOND_NO_CUDA_H", "main.c", "-L.", "-lcuda", "-o", "main")
            build("gcc", *arguments, kernel__h=header, main__c=C_MAIN)
        else:
            module = rust_module(kernel, CUBIN)
            build("rustc", "-L.", "main.rs", kernel__rs=module, main__rs=RUST_MAIN)
        done = subprocess.run(
            [folder / "main"],
            env={**os.environ, "LD_LIBRARY_PATH": str(folder), "PARAMETER_SIZES": "8 8 8 4 8 8"}
            | environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == status, done.stderr
        return done.stdout.splitlines()

    return run


def reported(said: list[str], what: str) -> list[str]:
    return [line.removeprefix(what).strip() for line in said if line.startswith(what + " ")]


def test_a_launch(program: object) -> None:
    assert callable(program)
    said = program("vector_add")

    assert reported(said, "load") == ["7f ELF"]
    assert reported(said, "function") == ["0x10 add_kernel"]
    assert reported(said, "launch") == ["0x20 5,3,2 128,1,1 0 0x30 (nil)"]
    words = [line.lstrip("0") for line in reported(said, "parameter")]
    assert words == ["1000", "2000", "3000", "fffffffe", "", ""]
    assert reported(said, "attribute") == []
    assert reported(said, "unload") == ["0x10"]


def test_an_empty_grid_launches_nothing(program: object) -> None:
    assert callable(program)
    assert len(reported(program("vector_add"), "launch")) == 1


def test_much_shared_memory(program: object) -> None:
    assert callable(program)
    said = program("large")

    assert reported(said, "set") == ["0x20 8 100000"]
    assert reported(said, "launch") == ["0x20 5,3,2 256,1,1 100000 0x30 (nil)"]


def test_clusters(program: object) -> None:
    assert callable(program)
    said = program("large_cluster")

    assert reported(said, "set") == ["0x20 14 1"]
    assert reported(said, "launch") == ["0x20 80,3,2 128,1,1 0 0x30 (nil)"]
    assert reported(said, "attribute") == ["4 16 1 1", "5 1 0 0"]


@pytest.mark.parametrize(("name", "number"), [("cooperative", 2), ("pdl", 6)])
def test_launch_attributes(program: object, name: str, number: int) -> None:
    assert callable(program)
    assert reported(program(name), "attribute") == [f"{number} 1 0 0"]


def test_scratch_memory(program: object) -> None:
    assert callable(program)
    said = program("scratch")

    assert reported(said, "allocate") == ["7680 0x30 -> 8000", "1920 0x30 -> 9000"]
    assert [line.lstrip("0") for line in reported(said, "parameter")][-2:] == ["8000", "9000"]
    assert reported(said, "free") == ["8000 0x30", "9000 0x30"]


def test_a_kernel_that_cannot_be_found_is_unloaded(program: object) -> None:
    assert callable(program)
    said = program("vector_add", status=255, NO_FUNCTION="1")

    assert reported(said, "unload") == ["0x10"]
    assert reported(said, "launch") == []
