"""Memory of a module that outlives a run, read from ptxas' cubins and from malformed bytes."""

import contextlib
import importlib.util
import subprocess
from pathlib import Path
from struct import Struct

import pytest

from worker.gpu.timing_integrity.module_globals import (
    MAX_SYMBOLS,
    BadModule,
    ModuleGlobals,
    read_globals,
)

HEAD = ".version 8.7\n.target {target}\n.address_size 64\n"
COUNTER = """
.visible .entry k(.param .u64 p) {
    .reg .b64 %a; .reg .b32 %r;
    { .global .align 4 .u32 runs; mov.u64 %a, runs; atom.global.add.u32 %r, [%a], 1; }
    ret;
}
"""
HONEST = """
.global .align 1 .b8 printfFormat_0[4] = {120, 61, 10};
.global .align 4 .b8 __cudart_i2opi_f[8] = {65, 144, 67, 60, 153, 149, 98, 219};
.visible .entry k(.param .u64 p) {
    .reg .b64 %a, %p; .reg .b32 %r; ld.param.u64 %p, [p];
    mov.u64 %a, printfFormat_0; ld.global.u8 %r, [%a]; st.global.u32 [%p], %r;
    mov.u64 %a, __cudart_i2opi_f; ld.global.u32 %r, [%a]; st.global.u32 [%p+4], %r;
    ret;
}
"""
SHARED = """
.visible .entry k(.param .u64 p) {
    .reg .b64 %p; .reg .b32 %r; .shared .align 4 .b32 s[64]; ld.param.u64 %p, [p];
    st.shared.u32 [s], 1; ld.shared.u32 %r, [s+4]; st.global.u32 [%p], %r;
    ret;
}
"""
TENSOR_MEMORY = """
.visible .entry k(.param .u64 p) {
    .reg .b32 %t; .shared .align 4 .b32 s;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [s], 32;
    ld.shared.b32 %t, [s];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;
    ret;
}
"""
HEAP = """
.extern .func (.param .b64 r) malloc (.param .b64 n);
.visible .entry k(.param .u64 p) {
    .reg .b64 %p, %a; ld.param.u64 %p, [p];
    { .param .b64 n; .param .b64 r; st.param.b64 [n], %p; call.uni (r), malloc, (n);
      ld.param.b64 %a, [r]; st.global.u64 [%p], %a; }
    ret;
}
"""


def assembled(ptx: str, folder: Path, target: str = "sm_90") -> bytes:
    """Return the cubin of `ptx`, by Triton's ptxas."""
    spec = importlib.util.find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    ptxas = Path(spec.origin).parent / "backends/nvidia/bin/ptxas"
    (folder / "k.ptx").write_text(HEAD.format(target=target) + ptx)
    command = [str(ptxas), f"-arch={target}", str(folder / "k.ptx"), "-o", str(folder / "k.cubin")]
    subprocess.run(command, check=True)
    return (folder / "k.cubin").read_bytes()


@pytest.fixture
def found(request: pytest.FixtureRequest, tmp_path: Path) -> ModuleGlobals:
    return read_globals(assembled(request.param, tmp_path))


@pytest.mark.parametrize("found", [COUNTER], indirect=True)
def test_a_counter_in_inline_assembly_is_found_by_its_own_name(found: ModuleGlobals) -> None:
    [counter] = found.variables

    assert (counter.plain_name, counter.size_bytes) == ("runs", 4)
    assert not counter.is_initialised
    assert not counter.is_of_compiler


@pytest.mark.parametrize("found", [HONEST], indirect=True)
def test_strings_and_tables_of_compilers_are_known(found: ModuleGlobals) -> None:
    assert {one.name for one in found.variables} == {"printfFormat_0", "__cudart_i2opi_f"}
    assert all(one.is_of_compiler for one in found.variables)


@pytest.mark.parametrize("found", [COUNTER.replace("runs", "printfFormat_0")], indirect=True)
def test_a_compilers_name_does_not_hide_what_starts_as_nothing(found: ModuleGlobals) -> None:
    assert [one.is_of_compiler for one in found.variables] == [False]


@pytest.mark.parametrize("found", [SHARED], indirect=True)
def test_shared_memory_is_no_global(found: ModuleGlobals) -> None:
    assert found == ModuleGlobals((), 0, uses_heap=False)


def test_what_blackwell_reserves_for_a_block_is_no_global(tmp_path: Path) -> None:
    found = read_globals(assembled(TENSOR_MEMORY, tmp_path, "sm_100a"))

    assert found == ModuleGlobals((), 0, uses_heap=False)


@pytest.mark.parametrize("found", [HEAP], indirect=True)
def test_the_devices_heap_is_reported(found: ModuleGlobals) -> None:
    assert found.uses_heap


def test_a_module_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    cubin = assembled(COUNTER, tmp_path)
    sections_end = int.from_bytes(cubin[40:48], "little") + 64 * cubin[60]

    for size in range(0, sections_end, 7):
        with pytest.raises(BadModule):
            read_globals(cubin[:size])


def test_any_changed_byte_of_a_header_is_read_or_refused(tmp_path: Path) -> None:
    cubin = assembled(COUNTER, tmp_path)
    tables = int.from_bytes(cubin[40:48], "little")

    for at in [*range(64), *range(tables, len(cubin))]:
        changed = cubin[:at] + bytes([cubin[at] ^ 0xFF]) + cubin[at + 1 :]
        with contextlib.suppress(BadModule):
            read_globals(changed)


def test_more_symbols_than_modules_have_are_refused() -> None:
    header = Struct("<16sHHIQQQIHHHHHH")
    section = Struct("<IIQQQQIIQQ")
    size = 24 * (MAX_SYMBOLS + 1)
    sections = section.pack(0, 3, 0, 0, 0, 1, 0, 0, 1, 0)
    sections += section.pack(0, 2, 0, 0, header.size, size, 0, 0, 1, 24)
    start = header.pack(b"\x7fELF\x02\x01\x01", 2, 190, 1, 0, 0, header.size + size, 0, 64, 0, 0,
                        64, 2, 0)  # fmt: skip

    with pytest.raises(BadModule, match="too long"):
        read_globals(start + bytes(size) + sections)
