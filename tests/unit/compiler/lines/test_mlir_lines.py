"""Lines of TTIR and TTGIR, from the locations that MLIR prints."""

from __future__ import annotations

from compiler.lines.mlir import MlirLocations, map_mlir, trailing_location
from compiler.lines.source_location import SourceLine

USER = "/kernel/user.py"
TTIR = """\
#loc = loc("/kernel/user.py":7:1)
#loc3 = loc(unknown)
#loc10 = loc("x_ptr"(#loc))
module {
  tt.func public @add(%x_ptr: !tt.ptr<f32> loc("x_ptr"(#loc))) attributes {noinline = false} {
    %c1 = arith.constant 1 : i32 loc(#loc3)
    %total = scf.for %i = %c0 to %n step %c1 iter_args(%t = %zero) -> (f32)  : i32 {
      %v = tt.load %p {note = "a ) loc( b"} : !tt.ptr<f32> loc(#loc11)
      %w = arith.addi %v, %c1 : i32 loc(#loc12)
      scf.yield %w : f32 loc(#loc12)
    } loc(#loc13)
    tt.return loc(#loc9)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("/kernel/user.py":20:5)
#loc2 = loc("/triton/language/standard.py":43:13)
#loc4 = loc("/kernel/user.py":16:9)
#loc9 = loc("/kernel/user.py":18:1)
#loc11 = loc("v"(#loc5))
#loc5 = loc(callsite(#loc2 at #loc4))
#loc12 = loc(fused<"why">[#loc1, #loc4])
#loc13 = loc("/kernel/user.py":15:5 to :17:9)
"""


def lines_of(text: str) -> dict[int, list[int]]:
    return {n: [place.line for place in chain] for n, chain in map_mlir(text).chains.items()}


def number(words: str) -> int:
    return next(n for n, line in enumerate(TTIR.splitlines(), 1) if words in line)


def test_an_operation_has_the_line_of_its_location() -> None:
    assert lines_of(TTIR)[number("tt.return")] == [18]


def test_an_inlined_call_is_followed_innermost_first() -> None:
    chain = map_mlir(TTIR).chains[number("tt.load")]

    assert chain == (SourceLine("/triton/language/standard.py", 43), SourceLine(USER, 16))


def test_a_fused_location_has_all_its_members() -> None:
    assert lines_of(TTIR)[number("arith.addi")] == [20, 16]


def test_the_head_of_a_loop_has_the_location_behind_its_end() -> None:
    lines = lines_of(TTIR)

    assert lines[number("scf.for")] == [15]
    assert lines[number("} loc(#loc13)")] == [15]


def test_a_constant_without_a_place_stands_where_it_is_first_used() -> None:
    # above the loop that increments it
    assert lines_of(TTIR)[number("arith.constant")] == [15]


def test_every_operation_is_counted_and_nothing_else() -> None:
    mapped = map_mlir(TTIR)

    operations = ("tt.func", "arith.constant", "scf.for", "tt.load", "arith.addi", "scf.yield",
                  "tt.return")  # fmt: skip
    assert mapped.operations == {number(words) for words in operations}
    assert mapped.operations <= mapped.chains.keys()


def test_both_arms_of_a_condition_end_the_same_operation() -> None:
    text = (
        'scf.if %c {\n  a.b loc("f":2:1)\n} else {\n  a.c loc("f":4:1)\n} loc("f":1:1)\n'
        '%r = "tt.reduce"(%x) <{axis = 0 : i32}> ({\n^bb0(%a: f32 loc("f":8:1)):\n'
        '  tt.reduce.return %a loc("f":9:1)\n}) : (f32) -> f32 loc("f":7:1)\n'
    )

    lines = lines_of(text)

    assert (lines[1], lines[2], lines[4]) == ([1], [2], [4])
    assert (lines[6], lines[8]) == ([7], [9])


def test_a_location_that_names_itself_ends() -> None:
    assert MlirLocations("#loc1 = loc(#loc1)").resolve("#loc1") == ()
    assert MlirLocations("").resolve("#loc7") == ()


def test_only_the_location_at_the_end_counts() -> None:
    assert trailing_location('  x loc("a":1:1) {') is None
    assert trailing_location('  x {s = "loc(" } loc("a b":1:1)') == '"a b":1:1'
    assert trailing_location("  x : (i32)") is None


def test_places_that_are_fused_again_and_again_do_not_multiply() -> None:
    levels = [f"#loc{n} = loc(fused[{', '.join([f'#loc{n + 1}'] * 20)}])" for n in range(3)]
    text = "\n".join([*levels, '#loc3 = loc("/kernel/user.py":1:1)'])

    assert 1 <= len(MlirLocations(text).resolve("#loc0")) <= 64
