"""Missing and unknown parameters of a request: all are reported at their lines."""

from __future__ import annotations

from tests.integration.service.conftest import Post

SOURCE = """\
import triton
import triton.language as tl

@triton.heuristics({"IS_VARLEN": lambda args: args["offsets"] is not None})
@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def kernel(
    x_ptr, offsets, n,
    BLOCK: tl.constexpr, IS_VARLEN: tl.constexpr,
    SCALE: tl.constexpr = 1.0,
):
    tl.store(x_ptr, SCALE)
"""


def test_one_answer_names_all_that_is_missing(post: Post) -> None:
    answer = post({"source": SOURCE, "signature": {"n": "i32"}, "target": "cuda:90"}).json()

    assert answer["problem"]["slug"] == "missing_type"
    assert answer["problem"]["parameter"] == "x_ptr"
    reported = [
        (item["line"], item["column"], item["end_column"]) for item in answer["diagnostics"]
    ]
    assert reported == [(8, 5, 10), (8, 12, 19), (9, 5, 10), (9, 26, 35)]
    _, _, block, is_varlen = answer["diagnostics"]
    assert "@triton.autotune" in block["message"]
    assert "BLOCK = 64" in block["hint"]
    assert block["excerpt"].split("\n")[1] == "    ^^^^^"
    assert "`IS_VARLEN`" in is_varlen["message"]
    assert "@triton.heuristics" in is_varlen["message"]
    assert "`constexprs`" in is_varlen["hint"]


def test_a_misspelt_name_is_reported_once(post: Post) -> None:
    body = {
        "source": SOURCE,
        "signature": {"x_ptr": "*fp32", "offsets": "*i32", "n": "i32"},
        "constexprs": {"BLOK": 64, "IS_VARLEN": True},
        "target": "cuda:90",
    }

    answer = post(body).json()

    assert answer["problem"]["slug"] == "extra_argument"
    (reported,) = answer["diagnostics"]
    assert "Did you mean `BLOCK`?" in reported["message"]


def test_defaults_that_are_used_are_listed_as_assumed(post: Post) -> None:
    constexprs = {"BLOCK": 64, "IS_VARLEN": True}
    body = {
        "source": SOURCE,
        "signature": {"x_ptr": "*fp32", "offsets": "*i32", "n": "i32"},
        "constexprs": constexprs,
        "target": "cuda:90",
        "stop_after": "ttir",
    }

    answer = post(body).json()
    given = post(body | {"constexprs": {**constexprs, "SCALE": 1.0}}).json()

    default = {"parameter": "SCALE", "value": 1.0, "why": "is its default", "line": None}
    assert (answer["assumed"], given["assumed"]) == ([default], [])
