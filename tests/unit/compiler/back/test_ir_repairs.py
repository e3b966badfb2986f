"""Repairs of posted IR that barely fails to parse."""

import pytest

from compiler.back.posted_ir import attempts, without_locations

WHOLE = """module {
  tt.return loc(#loc1)
} loc(#loc)
#loc = loc(unknown)
#loc1 = loc("a.py":1:2)
"""

NEW = """tt.func @f(%d: !tt.tensordesc<64x32xf16>, %p: !tt.ptr<f16>) {
  %m = tt.make_tensor_descriptor %p, [%a, %b], [%c, %e] : <f16>, <64x32xf16>
  %t = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<64x32xf16> -> tensor<64x32xf16>
  tt.descriptor_store %m[%i, %i], %t : !tt.tensordesc<64x32xf16>, tensor<64x32xf16>
"""
OLD = """tt.func @f(%d: !tt.tensordesc<tensor<64x32xf16>>, %p: !tt.ptr<f16>) {
  %m = tt.make_tensor_descriptor %p, [%a, %b], [%c, %e] : <f16>, <tensor<64x32xf16>>
  %t = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<64x32xf16>> -> tensor<64x32xf16>
  tt.descriptor_store %m[%i, %i], %t : !tt.tensordesc<tensor<64x32xf16>>, tensor<64x32xf16>
"""


def test_the_text_is_tried_as_it_is_first():
    assert next(attempts(WHOLE)).text == WHOLE
    assert next(attempts(WHOLE)).notes == ()


def test_a_whole_text_has_no_second_attempt():
    assert len(list(attempts(WHOLE))) == 1


def test_references_to_missing_aliases_are_dropped_and_reported():
    text = "module {\n  tt.return loc(#loc13)\n} loc(#loc)\n"

    [_, mended] = attempts(text)

    assert mended.text == "module {\n  tt.return\n}\n"
    [note] = mended.notes
    assert "#loc, #loc13" in note


def test_aliases_that_are_defined_stay():
    text = 'module {\n  tt.return loc(#loc1)\n} loc(#loc)\n#loc1 = loc("a.py":1:2)\n'

    [_, mended] = attempts(text)

    assert mended.text == 'module {\n  tt.return loc(#loc1)\n}\n#loc1 = loc("a.py":1:2)\n'


def test_a_missing_alias_inside_another_is_unknown():
    text = "module {\n  tt.return loc(#loc1)\n}\n#loc1 = loc(callsite(#loc7 at #loc8))\n"

    [_, mended] = attempts(text)

    assert mended.text.endswith("#loc1 = loc(callsite(unknown at unknown))\n")


def test_lines_stay_where_they_are():
    text = "module {\n  a loc(#loc3)\n\n  b loc(#loc4)\n}\n"

    [_, mended] = attempts(text)

    assert mended.text.split("\n").index("  b") == 3


def test_descriptors_of_a_newer_triton_are_written_the_older_way():
    assert [attempt.text for attempt in attempts(NEW)] == [NEW, OLD]


def test_descriptors_of_an_older_triton_are_written_the_newer_way():
    assert [attempt.text for attempt in attempts(OLD)] == [OLD, NEW]


def test_pointers_to_constant_memory_are_plain_pointers_to_an_older_triton():
    text = 'tt.func @f(%x: !tt.ptr<f32, "constant">, %y: !tt.ptr<f32>)'

    [_, mended] = attempts(text)

    assert mended.text == "tt.func @f(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>)"


LOCATED = """#loc = loc("/kernel/user.py":4:1)
  tt.func public @k(%x: !tt.ptr<f32> loc("a.py":1:2), %n: i32 loc("b"(#loc))) {
    %0 = tt.get_program_id x : i32 loc(callsite("f"("a.py":1:2) at "g"("b (.py":3:4)))
    tt.return loc(fused["a.py":1:2, #loc])
  } loc(#loc)
"""


def test_all_locations_but_the_table_can_be_taken_out():
    assert (
        without_locations(LOCATED)
        == """#loc = loc("/kernel/user.py":4:1)
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {
    %0 = tt.get_program_id x : i32
    tt.return
  }
"""
    )


OLD_BUFFERS = """  %a = amdg.buffer_load %p[%o], %m {contiguity = 8 : i32} : tensor<128x128xf16, #b>
  amdg.buffer_store %v, %q[%o] : tensor<64xf32>
"""
NEW_BUFFERS = (
    "  %a = amdg.buffer_load %p[%o], %m {contiguity = 8 : i32} : !tt.ptr<f16> -> "
    """tensor<128x128xf16, #b>
  amdg.buffer_store %v, %q[%o] : !tt.ptr<f32> -> tensor<64xf32>
"""
)


@pytest.mark.parametrize(
    ("posted", "mended"),
    [(OLD_BUFFERS, NEW_BUFFERS), (NEW_BUFFERS, OLD_BUFFERS)],
    ids=["of an older Triton", "of a newer Triton"],
)
def test_buffer_accesses_of_amd_are_written_the_other_way(posted: str, mended: str):
    last = list(attempts(posted))[-1]

    assert last.text == mended
    assert "amdg.buffer_load" in last.notes[-1]


@pytest.mark.parametrize(("posted", "mended"), [("0", "none"), ("non_mem_non_sideeffect", "1")])
def test_the_mask_of_scheduling_barriers_is_written_the_other_way(posted: str, mended: str):
    last = list(attempts(f"    rocdl.sched.barrier {posted}\n"))[-1]

    assert last.text == f"    rocdl.sched.barrier {mended}\n"
