"""The table of lines that is answered."""

from __future__ import annotations

from compiler.lines.table import MAPS, table

TTIR = """\
%a = x.one loc(#loc1)
%b = x.two loc(#loc2)
%c = x.three loc(#loc3)
#lib = loc("/triton/language/standard.py":43:1)
#helper = loc("/kernel/user.py":30:1)
#other = loc("/kernel/lib/helper.py":2:1)
#call = loc("/kernel/user.py":12:1)
#loc1 = loc(callsite(#lib at #call))
#loc2 = loc(callsite(#helper at #call))
#loc3 = loc(callsite(#other at #call))
"""


def row(file: str, line: int, **lines: list[int]) -> dict[str, object]:
    return {"file": file, "line": line, **{stage: lines.get(stage, []) for stage in MAPS}}


def test_lines_stand_under_every_line_of_the_user_on_their_way() -> None:
    assert table({"ttir": TTIR.replace("#helper", "#loc20").replace("#other", "#loc21")
                  .replace("#call", "#loc22").replace("#lib", "#loc23")}) == [
        row("lib/helper.py", 2, ttir=[3]),
        row("user.py", 12, ttir=[1, 2, 3]),
        row("user.py", 30, ttir=[2]),
    ]  # fmt: skip


def test_every_stage_is_always_there() -> None:
    sass = '	//## File "/kernel/user.py", line 3\n        /*0000*/                   EXIT ;\n'

    assert table({"sass": sass}) == [row("user.py", 3, sass=[2])]


def test_nothing_gives_nothing() -> None:
    assert table({}) == []
    assert table({"ttir": "", "llir": "not LLVM IR at all", "ptx": "\0\n", "sass": "//##"}) == []


def test_a_place_met_twice_on_the_way_stands_once() -> None:
    twice = '%a = x.one loc(callsite("/kernel/user.py":5:1 at "/kernel/user.py":5:9))\n'

    assert table({"ttir": twice}) == [row("user.py", 5, ttir=[1])]
