"""Assembly in Compiler Explorer's shape: its filters, and source lines."""

from adapters.compiler_explorer.compile_result import SourcePlace, assembly, sources_of

PTX = """\
.entry k()
{
\t// a comment
\t.loc 1 7 3
\tret;
}
\t.section\t.debug_abbrev
\t{
.b8 1
\t}
\t.section\t.debug_macinfo\t{\t}
.func f()
"""


def texts(**filters: bool) -> list[str]:
    return [line.text.strip() for line in assembly(PTX, "ptx", {}, filters)]


def test_without_filters_all_lines_are_left():
    assert [line.text for line in assembly(PTX, "ptx", {}, {})] == PTX.splitlines()


def test_directives_leave_out_what_is_there_for_debuggers():
    assert texts(directives=True) == [".entry k()", "{", "// a comment", "ret;", "}", ".func f()"]


def test_comments_are_left_out_by_themselves():
    assert "// a comment" not in texts(commentOnly=True)
    assert ".loc 1 7 3" in texts(commentOnly=True)


def test_what_is_left_keeps_its_place():
    place = SourcePlace(file=None, line=7)

    kept = assembly(PTX, "ptx", {5: place}, {"commentOnly": True, "directives": True})

    assert [line.text.strip() for line in kept if line.source == place] == ["ret;"]


def test_an_inlined_line_stems_from_the_line_that_fewest_do():
    rows = [
        {"file": "user.py", "line": 20, "ptx": [1, 2, 3]},
        {"file": "user.py", "line": 4, "ptx": [2]},
        {"file": "helpers.py", "line": 1, "ptx": [3, 4]},
    ]

    places = {number: (place.file, place.line) for number, place in sources_of(rows, "ptx").items()}

    assert places == {
        1: (None, 20),
        2: (None, 4),
        3: ("helpers.py", 1),
        4: ("helpers.py", 1),
    }
