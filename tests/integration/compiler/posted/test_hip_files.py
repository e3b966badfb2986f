"""AMD assembly, part of which a user writes, cannot include files of this machine."""

from __future__ import annotations

import pytest

from tests.cases import slow_except
from tests.integration.service.conftest import Post

FILES = ("/etc/ld.so.cache", "/lib/x86_64-linux-gnu/libc.so.6", "/etc/passwd", "/proc/self/maps")
DIRECTIVES = {
    "incbin": '.incbin "{file}", 0, 64',
    "include": '.include "{file}"',
    "in capitals": '.INCBIN "{file}", 0, 64',
    "a macro": '.macro m d; .\\d "{file}", 0, 64; .endm; m incbin',
    "in pieces": '.macro m a b; .\\a\\()\\b "{file}", 0, 64; .endm; m inc bin',
}
SOURCE = """
import triton
import triton.language as tl

@triton.jit
def k(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    x = tl.inline_asm_elementwise({asm!r}, "=v,v", [x], tl.int32, True, 1)
    tl.store(x_ptr + tl.arange(0, 64), x)
"""


@pytest.mark.parametrize("file", slow_except(["/etc/passwd"], FILES))
@pytest.mark.parametrize("directive", DIRECTIVES.values(), ids=DIRECTIVES)
def test_no_directive_reads_a_file(post: Post, directive: str, file: str) -> None:
    asm = "v_mov_b32 $0, $1\n.section .data\n" + directive.replace("{file}", file) + "\n.text"
    body = {"source": SOURCE.format(asm=asm), "signature": {"x_ptr": "*i32"}}

    answer = post(body | {"target": "hip:gfx942"}).json()

    assert answer["state"] == "failed", answer["artifacts"]
    assert answer["problem"]["slug"] == "assembler_failed"
    assert "hsaco" not in answer["artifacts"]


def test_ordinary_data_of_inline_assembly_is_assembled(post: Post) -> None:
    asm = "v_mov_b32 $0, $1\n.section .data\n.long 7\n.text"
    body = {"source": SOURCE.format(asm=asm), "signature": {"x_ptr": "*i32"}}

    assert post(body | {"target": "hip:gfx942"}).json()["state"] == "succeeded"
