"""The line table of an answer."""

from __future__ import annotations

from compiler.lines.line_map import MAPS, line_maps, table

TTIR = """\
%a = x.one loc(#loc1)
%b = x.two loc(#loc2)
%c = x.three loc(#loc3)
#loc10 = loc("/triton/language/standard.py":43:1)
#loc11 = loc("/kernel/user.py":30:1)
#loc12 = loc("/kernel/lib/helper.py":2:1)
#loc13 = loc("/kernel/user.py":12:1)
#loc1 = loc(callsite(#loc10 at #loc13))
#loc2 = loc(callsite(#loc11 at #loc13))
#loc3 = loc(callsite(#loc12 at #loc13))
"""


def row(file: str, line: int, **lines: list[int]) -> dict[str, object]:
    return {"file": file, "line": line, **{stage: lines.get(stage, []) for stage in MAPS}}


def test_lines_stand_under_every_line_of_the_user_on_their_way() -> None:
    assert table(line_maps({"ttir": TTIR})) == [
        row("lib/helper.py", 2, ttir=[3]),
        row("user.py", 12, ttir=[1, 2, 3]),
        row("user.py", 30, ttir=[2]),
    ]


def test_every_stage_is_always_there() -> None:
    sass = '	//## File "/kernel/user.py", line 3\n        /*0000*/                   EXIT ;\n'

    assert table(line_maps({"sass": sass})) == [row("user.py", 3, sass=[2])]


def test_nothing_gives_nothing() -> None:
    assert table(line_maps({})) == []
    assert (
        table(line_maps({"ttir": "", "llir": "not LLVM IR at all", "ptx": "\0\n", "sass": "//##"}))
        == []
    )


def test_a_place_met_twice_on_the_way_stands_once() -> None:
    twice = '%a = x.one loc(callsite("/kernel/user.py":5:1 at "/kernel/user.py":5:9))\n'

    assert table(line_maps({"ttir": twice})) == [row("user.py", 5, ttir=[1])]
