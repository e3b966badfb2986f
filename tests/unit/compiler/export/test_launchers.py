"""Exports that contain the cubin: C, Rust and Python."""

from __future__ import annotations

import ast
import base64
import re

import pytest

from compiler.export.c import c_header
from compiler.export.exported_kernel import ExportedKernel, NotExportable, kernel_of
from compiler.export.python import python_module
from compiler.export.rust import rust_module
from compiler.export.spelling import camel, identifier, identifiers
from tests.unit.compiler.export.kernels import CUBIN, EVERYTHING, VARIANTS, facts, kernel


def test_c_holds_every_byte_of_the_cubin() -> None:
    image = re.search(r"_cubin = \{\{(.*?)\}\};", c_header(kernel(), CUBIN), re.DOTALL)

    assert image is not None
    assert bytes(int(byte, 16) for byte in re.findall(r"0x\w\w", image[1])) == CUBIN


def test_python_holds_every_byte_of_the_cubin() -> None:
    tree = ast.parse(python_module(kernel(), CUBIN))

    (assign,) = [node for node in tree.body if isinstance(node, ast.Assign)]
    call = assign.value
    assert isinstance(call, ast.Call)
    assert base64.b64decode(ast.literal_eval(call.args[0])) == CUBIN


def test_rust_holds_every_byte_of_the_cubin() -> None:
    image = re.search(r"Image\(\[\n(.*?)\]\);", rust_module(kernel(), CUBIN), re.DOTALL)

    assert image is not None
    assert bytes(int(byte) for byte in re.findall(r"\d+", image[1])) == CUBIN


def test_arguments_have_the_names_and_types_of_the_parameters() -> None:
    header = c_header(kernel(EVERYTHING), CUBIN)

    for argument in (
        "const CUtensorMap *desc",
        "int32_t desc_shape_0",
        "int64_t desc_stride_1",
        "uint8_t flag",
        "CUdeviceptr pair_0",
        "int8_t pair_1",
        "uint16_t half",
        "double double_",
        "uint64_t gruf6udfe",
        "uint8_t tiny",
    ):
        assert f"{argument}," in header or f"{argument})" in header, argument


@pytest.mark.parametrize("name", VARIANTS)
def test_python_is_python(name: str) -> None:
    compile(python_module(VARIANTS[name], CUBIN), f"{name}.py", "exec")


@pytest.mark.parametrize("write", [c_header, rust_module, python_module])
def test_shared_memory_beyond_48_kib_is_asked_for(write: object) -> None:
    assert callable(write)
    asked = "MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000|loaded.function, 8, 100000|attribute, 100000"

    assert re.search(asked, write(VARIANTS["large"], CUBIN))
    assert not re.search(asked, write(VARIANTS["vector_add"], CUBIN))


@pytest.mark.parametrize("write", [c_header, rust_module, python_module])
def test_scratch_is_allocated_for_the_whole_grid_and_freed(write: object) -> None:
    assert callable(write)
    text = write(VARIANTS["scratch"], CUBIN)

    assert "* 256" in text
    assert len(re.findall(r"cuMemFreeAsync\((?:global|profile)_scratch", text)) == 2


def test_a_grid_of_programs_becomes_a_grid_of_blocks() -> None:
    assert "config.gridDimX = grid_x * 2;" in c_header(VARIANTS["cluster"], CUBIN)


def test_a_value_cannot_end_the_comment_it_stands_in() -> None:
    hostile = facts({"x": "*fp32"})
    hostile["parameters"][-1]["value"] = '*/ int evil; /* """ \n#error\n'
    hostile["parameters"][-1]["name"] = "*/ \n#error\n"

    text = kernel_of(hostile)

    header = c_header(text, CUBIN)
    assert header.count("*/") == c_header(kernel({"x": "*fp32"}), CUBIN).count("*/")
    assert not re.search(r"^#error", header, re.MULTILINE)
    ast.parse(python_module(text, CUBIN))


def test_a_compilation_without_an_abi_cannot_be_exported() -> None:
    with pytest.raises(NotExportable, match="ABI"):
        kernel_of(facts({}) | {"abi": None})


def test_identifiers_are_legal_everywhere_and_distinct() -> None:
    assert identifier("float") == "float_"
    assert identifier("fn") == "fn_"
    assert identifier("über") == "ufcber"
    assert identifiers(["pair.0", "pair_0"]) == ["pair_0", "pair_0_2"]
    assert camel("add_kernel") == "AddKernel"


def test_the_same_kernel_gives_the_same_text() -> None:
    again: ExportedKernel = kernel()

    assert c_header(again, CUBIN) == c_header(kernel(), CUBIN)
