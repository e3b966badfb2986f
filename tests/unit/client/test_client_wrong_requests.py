"""A result that failed by a mistake in its request names the flag to change."""

from argparse import Namespace

import pytest
from tritonc.cli.refusal_words import flag_line, in_flags, is_wrong_request, place
from tritonc.diagnostic import FieldError, Problem


@pytest.mark.parametrize(
    ("problem", "flag"),
    [
        ({"slug": "unknown_kernel"}, "--kernel"),
        ({"slug": "not_recordable", "reason": "no_entry", "program": "program"}, "--entry"),
        (
            {"slug": "not_recordable", "reason": "no_entry", "program": "reference"},
            "--reference-entry",
        ),
        ({"slug": "not_recordable", "reason": "bad_inputs"}, None),
        ({"slug": "compile_error"}, None),
    ],
)
def test_a_mistake_of_the_request_is_told_from_one_of_the_kernel(
    problem: dict[str, str], flag: str | None
) -> None:
    read = Problem.from_json(problem | {"detail": "it is missing"})

    assert is_wrong_request(read) == (flag is not None)
    assert flag_line(read, Namespace()) == (
        "" if flag is None else f"tritonc: {flag}: it is missing"
    )


@pytest.mark.parametrize(
    ("problem", "line", "detail"),
    [
        (
            {
                "slug": "invalid_argument",
                "detail": '/grid/0: "m": unknown; /arguments/n: too large',
            },
            "tritonc: change --grid, --argument n",
            '--grid: "m": unknown; --argument n: too large',
        ),
        (
            {"slug": "extra_argument", "detail": "kernel `add` has no parameter `m`"},
            "tritonc: change --argument",
            "kernel `add` has no parameter `m`",
        ),
        (
            {"slug": "extra_argument", "detail": "kernel `add` has no parameter `B`"},
            "tritonc: change --signature, --constexpr",
            "kernel `add` has no parameter `B`",
        ),
        (
            {"slug": "not_recordable", "reason": "no_entry", "detail": "no 'f': set `entry`"},
            "tritonc: change --entry",
            "no 'f': set --entry",
        ),
        (
            {"slug": "not_recordable", "reason": "no_entry", "detail": "no 'f' in `inputs`"},
            "tritonc: change --inputs",
            "no 'f' in --inputs",
        ),
        (
            {"slug": "compile_error", "detail": "/dev/null: it cannot be read"},
            "",
            "/dev/null: it cannot be read",
        ),
    ],
)
def test_the_members_of_a_mistake_are_named_by_their_flags(
    problem: dict[str, str], line: str, detail: str
) -> None:
    read = Problem.from_json(problem)
    given = Namespace(argument=[("m", "4"), ("n", "5")], constexpr=[("B", "64")])

    shown = in_flags(read, given)

    assert flag_line(read, given, is_reported=True) == line
    assert shown is not None
    assert shown.detail == detail


@pytest.mark.parametrize(
    ("pointer", "shown"),
    [
        ("/tolerance/rtol", "--rtol"),
        ("/reference/atol", "--atol"),
        ("/space/target/1", "--target"),
        ("/options/num_warps", "--before, --after num_warps"),
        ("/options/num_stages", "--option num_stages"),
        ("/target", "--before target"),
    ],
)
def test_a_field_is_named_by_the_flag_that_gives_it(pointer: str, shown: str) -> None:
    before, after = [("num_warps", "5"), ("target", "sm_x")], [("num_warps", "6")]
    given = Namespace(before=before, after=after, option=[("num_stages", "9")])

    assert place(FieldError(pointer, "is wrong"), given) == shown


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ({"sources": ["add.py"]}, "add.py"),
        ({"sources": ["add.py", "mul.py"]}, "/source"),
        ({"key": "add.py"}, "add.py"),
        ({"a": "add.py", "b": None}, "add.py"),
        ({"a": "add.py", "b": "mul.py"}, "/source"),
    ],
)
def test_an_error_in_the_only_file_has_its_name(words: dict[str, object], shown: str) -> None:
    assert place(FieldError("/source", "is too large"), Namespace(**words)) == shown
