"""Operations without a NumPy form are refused by name, at their line."""

from __future__ import annotations

import pytest

from tests.integration.compiler.children import Children
from tests.integration.compiler.kernels import KERNELS
from tests.integration.compiler.ttir_to_numpy.translated import (
    FLOATS,
    refusal,
    stages_of,
)

DEEP = "scf.if %c {\n"


def function(body: str, parameters: str = "%p: !tt.ptr<i32>, %c: i1, %v: i32") -> bytes:
    """Return TTIR of one kernel."""
    return f"module {{ tt.func public @k({parameters}) {{\n{body}\ntt.return\n}} }}".encode()


def test_inline_assembly_is_refused_with_its_line(children: Children) -> None:
    path = KERNELS / "numpy" / "operations.py"
    request = {"kernel": "inline_assembly", "signature": {"x": FLOATS}, "constexprs": {"B": 16}}
    line = 1 + [
        text.strip() for text in path.read_text().splitlines()
    ].index("r = tl.inline_asm_elementwise(")  # fmt: skip

    words = refusal(children, stages_of(children, path, request)["source"], "source")

    assert (
        words == f"the kernel cannot be translated to NumPy: user.py, line {line}: inline assembly"
    )


REFUSED = {
    "regions": (function(DEEP * 70 + "}" * 70), "regions are nested more than 60 deep"),
    "types": (
        function("%x = arith.extsi %v : i32 to i128\n%y = arith.trunci %x : i128 to i32\n"
                 "tt.store %p, %y : !tt.ptr<i32>"),
        "NumPy has no elements of type i128",
    ),
    "externals": (
        function('%x = tt.extern_elementwise %v {libname = "", libpath = "", pure = true, '
                 'symbol = "__nv_nothing"} : (i32) -> i32\ntt.store %p, %x : !tt.ptr<i32>'),
        "a call of the external function '__nv_nothing'",
    ),
    "switches": (
        function("cf.switch %v : i32, [\ndefault: ^a,\n1: ^b\n]\n^a:\ncf.br ^b\n^b:"),
        "the operation cf.switch",
    ),
    "regions of several blocks": (
        function("%r = scf.execute_region -> i32 {\n cf.cond_br %c, ^a, ^b\n^a:\n"
                 " scf.yield %v : i32\n^b:\n scf.yield %v : i32\n}\n"
                 "tt.store %p, %r : !tt.ptr<i32>"),
        "scf.execute_region of several blocks",
    ),
    "circles of calls": (
        b"module { tt.func private @f(%x: i32) -> i32 { %r = tt.call @g(%x) : (i32) -> i32 "
        b"tt.return %r : i32 } tt.func private @g(%x: i32) -> i32 { "
        b"%r = tt.call @f(%x) : (i32) -> i32 tt.return %r : i32 }\n"
        + function("%r = tt.call @f(%v) : (i32) -> i32\ntt.store %p, %r : !tt.ptr<i32>")[8:],
        "the function f, which calls itself",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_lacks_is_refused_by_name(children: Children, name: str) -> None:
    ir, wanted = REFUSED[name]

    assert wanted in refusal(children, ir)
