"""PTX of a kernel as the text of one inline assembly statement."""

from __future__ import annotations

import re

import pytest

from compiler.export.cuda_inline import Operand, cuda_inline_header, rewrite
from compiler.export.exported_kernel import NotExportable
from compiler.export.ptx import read_entry
from tests.unit.compiler.export.kernels import EVERYTHING, PTX, VECTOR_ADD, kernel

SIZES = {f"add_kernel_param_{i}": 4 if i == 3 else 8 for i in range(6)}


def rewritten(ptx: str = PTX) -> list[str]:
    lines = rewrite(read_entry(ptx, "add_kernel"), SIZES).lines
    return [re.sub(r"\s+", " ", line.strip()) for line in lines]


def with_body(*lines: str) -> str:
    return PTX.replace("\tst.global.b32 \t[%rd1], %r2;\n", "".join(f"\t{x}\n" for x in lines))


def test_registers_have_names_that_no_compiler_gives() -> None:
    assert "setp.ge.s32 %%t_p1, %%t_r2, %%t_r1;" in rewritten()
    assert ".reg .b32 %%t_r<9>;" in rewritten()
    assert ".reg .b64 %%t_SP, %%t_rd<7>;" in rewritten()


def test_special_registers_stay() -> None:
    assert "mov.u32 %%t_r2, %%tid.x;" in rewritten()


def test_parameters_are_operands_in_the_order_of_their_use() -> None:
    statement = rewrite(read_entry(PTX, "add_kernel"), SIZES)

    assert [(item.kind, item.name) for item in statement.operands] == [
        ("parameter", "add_kernel_param_0"),
        ("parameter", "add_kernel_param_3"),
        ("shared", "global_smem"),
        ("table", "__cudart_i2opi_f"),
    ]
    assert "mov.b64 %%t_rd1, %0;" in rewritten()
    assert "mov.b32 %%t_r1, %1;" in rewritten()


def test_the_address_of_shared_memory_is_an_operand() -> None:
    lines = rewritten()

    assert "mov.b32 %%t_r3, %2;" in lines
    assert "add.s32 %%t_r4, %2, 64;" in lines
    assert "st.shared.b32 [%2+16], %%t_r2;" in lines


def test_a_return_leaves_the_statement_only() -> None:
    lines = rewritten()

    assert "@%%t_p1 bra L_end;" in lines
    assert "bra L_end;" in lines
    assert not any(re.search(r"\bret;", line) for line in lines)


def test_labels_are_legal_in_inline_assembly() -> None:
    lines = rewritten()

    assert "@%%t_p1 bra L__BB0_2;" in lines
    assert "L__BB0_2:" in lines
    assert not any("$" in line for line in lines)


def test_comments_lines_and_debug_sections_are_gone() -> None:
    text = "\n".join(rewritten())

    assert "//" not in text
    assert ".loc" not in text
    assert "debug_abbrev" not in text


def test_a_brace_of_inline_assembly_does_not_end_the_kernel() -> None:
    assert rewritten()[-2:] == ["bra L_end;", "L__func_end0:"]


def test_a_byte_is_widened_as_the_load_said() -> None:
    ptx = with_body("ld.param.s8 \t%r5, [add_kernel_param_1];")

    lines = rewrite(read_entry(ptx, "add_kernel"), SIZES | {"add_kernel_param_1": 1}).lines

    assert any("cvt.s32.s8 %%t_r5, %4;" in line for line in lines)


@pytest.mark.parametrize(
    ("load", "widened"),
    [
        ("ld.param.s32 \t%rd5, [add_kernel_param_3];", "cvt.s64.s32 %%t_rd5, %1;"),
        ("ld.param.b32 \t%rd5, [add_kernel_param_3];", "cvt.u64.u32 %%t_rd5, %1;"),
        ("ld.param.u8 \t%r5, [add_kernel_param_3];", "cvt.u32.u8 %%t_r5, %1;"),
    ],
)
def test_a_load_into_a_wider_register_widens(load: str, widened: str) -> None:
    assert widened in rewritten(with_body(load))


def test_a_call_is_named() -> None:
    with pytest.raises(NotExportable, match="calls the function __internal_accurate_pow"):
        rewritten(with_body("call.uni (retval0), __internal_accurate_pow, (param0, param1);"))


def test_the_address_of_a_tensor_map_is_an_operand() -> None:
    ptx = with_body(
        "mov.b32 \t%r5, add_kernel_param_1;",
        "cvt.u64.u32 \t%rd3, %r5;",
        "cvta.param.u64 \t%rd4, %rd3;",
    )

    statement = rewrite(read_entry(ptx, "add_kernel"), SIZES)

    assert Operand("map", "add_kernel_param_1", 8) in statement.operands
    assert any("mov.b64 %%t_rd4, %4;" in line for line in statement.lines)
    assert not any("%%t_rd3" in line for line in statement.lines)


def test_a_kernel_that_prints_cannot_be_exported() -> None:
    with pytest.raises(NotExportable, match="prints or asserts"):
        rewritten(with_body("call.uni (retval0), vprintf, (param0, param1);"))


def test_a_parameter_used_as_memory_cannot_be_exported() -> None:
    with pytest.raises(NotExportable, match="as memory"):
        rewritten(with_body("ld.param.v2.b32 \t{%r1, %r2}, [add_kernel_param_1+8];"))


def test_a_variable_of_the_module_cannot_be_exported() -> None:
    ptx = with_body("ld.global.b64 \t%rd3, [counter];").replace(
        ".visible .entry", ".visible .global .align 8 .u64 counter;\n.visible .entry"
    )

    with pytest.raises(NotExportable, match="variable counter"):
        read_entry(ptx, "add_kernel")


def test_a_table_that_nothing_reads_is_left_out() -> None:
    unused = ".global .align 1 .b8 _$_str[3] = {95, 95};\n.visible .entry"

    entry = read_entry(PTX.replace(".visible .entry", unused), "add_kernel")

    assert [table.name for table in entry.tables] == ["__cudart_i2opi_f"]


def test_two_entries_cannot_be_exported() -> None:
    with pytest.raises(NotExportable, match="2 times"):
        read_entry(PTX + PTX, "add_kernel")


def test_the_header_is_a_device_function_with_c_types() -> None:
    header = cuda_inline_header(kernel(VECTOR_ADD, shared=1024), PTX)

    assert "static __device__ __forceinline__ void add_kernel(" in header
    assert "int32_t n_elements,\n    void *shared)" in header
    assert '"l"(x_ptr),\n          "r"(n_elements),' in header
    assert '"r"((unsigned int)__cvta_generic_to_shared(shared))' in header
    assert "add_kernel_cudart_i2opi_f[8] = {\n    65, 144," in header
    assert '".pragma \\"nounroll\\";\\n"' in header


def test_the_header_says_how_it_must_be_launched() -> None:
    header = cuda_inline_header(kernel(VECTOR_ADD, shared=1024), PTX)

    assert "__launch_bounds__(128)" in header
    assert "#define ADD_KERNEL_SHARED_BYTES 1024" in header
    assert "compiled for sm_90a with a toolkit that knows PTX 8.7" in header


def test_what_one_architecture_has_alone_is_no_error_on_others() -> None:
    ptx = with_body("wgmma.fence.sync.aligned;")

    specific = cuda_inline_header(kernel(VECTOR_ADD, shared=1024), ptx)

    assert "#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)" in specific
    assert "FEAT_SM90_ALL" not in cuda_inline_header(kernel(VECTOR_ADD, shared=1024), PTX)


def test_parameters_that_the_record_does_not_have_are_an_error() -> None:
    with pytest.raises(NotExportable, match="has 6 parameters"):
        cuda_inline_header(kernel(EVERYTHING), PTX)
