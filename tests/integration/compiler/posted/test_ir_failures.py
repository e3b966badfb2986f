"""Every kind of invalid IR is a named failure that points into the posted text."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.compiler.posted.test_ir_compiling import KEEP_ONE, ttir
from tests.integration.service.bodies import good
from tests.integration.service.conftest import Post

MISTAKES = {
    "not MLIR at all": ("module { hello }", "syntax_error", 1),
    "undeclared value": (KEEP_ONE.replace("%x, %one", "%y, %one"), "syntax_error", 4),
    "wrong type": (KEEP_ONE.replace("1.0 : f16", "1.0 : f32"), "syntax_error", 4),
    "unknown operation": (KEEP_ONE.replace("tt.store", "tt.stow"), "syntax_error", 4),
    "refused by the verifier": (
        KEEP_ONE.replace(
            "tt.return", "%r = tt.make_range {end = 0 : i32, start = 5 : i32} : tensor<8xi32>"
        ),
        "compile_error",
        5,
    ),
}


@pytest.mark.parametrize(("text", "slug", "line"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_shown_at_its_line_of_the_posted_text(
    post: Post, text: str, slug: str, line: int
) -> None:
    failed = post(ttir(text)).json()

    assert failed["state"] == "failed"
    assert failed["problem"]["slug"] == slug
    assert failed["problem"]["retryable"] is False
    error = failed["diagnostics"][0]
    assert (error["severity"], error["stage"], error["file"]) == ("error", "ttir", "user.ttir")
    assert error["line"] == line
    shown, carets = error["excerpt"].split("\n")
    assert shown == text.split("\n")[line - 1]
    assert carets.index("^") == error["column"] - 1


KERNELLESS = {
    "an empty module": "module {}",
    "blanks": "  \n",
    "private functions only": "module { tt.func private @f() { tt.return } }",
}


@pytest.mark.parametrize("text", KERNELLESS.values(), ids=KERNELLESS)
def test_a_module_without_a_public_function_is_refused_with_the_reason(
    post: Post, text: str
) -> None:
    failed = post(ttir(text)).json()

    assert failed["problem"]["slug"] == "unknown_kernel"
    assert "public tt.func" in failed["diagnostics"][0]["message"]


NAMES = ('"keep-it"', "keep.it", "_", '"1k"', '"größe"')


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_no_assembly_has_is_refused_with_the_reason(post: Post, name: str) -> None:
    body = ttir(KEEP_ONE.replace("@keep", f"@{name}"))

    failed = post(body).json()

    assert failed["problem"]["slug"] == "compile_error"
    assert failed["problem"]["retryable"] is False
    assert "ASCII letters, digits and underscores" in failed["diagnostics"][0]["message"]


@pytest.mark.parametrize(
    "how", [{"stop_after": "llir"}, {"target": "hip:gfx942"}], ids=["before PTX", "AMD"]
)
def test_a_name_is_refused_only_where_it_cannot_be_written(post: Post, how: dict[str, str]) -> None:
    made = post(ttir(KEEP_ONE.replace("@keep", "@keep.it"), **how)).json()

    assert made["state"] == "succeeded"


CALLING = """module {
  tt.func public @twice(%x: !tt.ptr<f32>) {
    %i = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %p = tt.addptr %s, %i : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %v = tt.load %p : tensor<32x!tt.ptr<f32>>
    %w = tt.call @double(%v) : (tensor<32xf32>) -> tensor<32xf32>
    tt.store %p, %w : tensor<32x!tt.ptr<f32>>
    tt.return
  }
  tt.func private @double(%v: tensor<32xf32>) -> tensor<32xf32> attributes {noinline = false} {
    %w = arith.addf %v, %v : tensor<32xf32>
    tt.return %w : tensor<32xf32>
  ^bb1:  // what Triton's front end leaves after a return
    %p = ub.poison : tensor<32xf32>
    tt.return %p : tensor<32xf32>
  }
}
"""


def test_a_call_before_the_first_passes_has_the_field_that_runs_them(post: Post) -> None:
    failed = post(ttir(CALLING)).json()

    assert failed["problem"]["slug"] == "lowering_failed"
    assert "`canonicalize` in `ir`" in failed["diagnostics"][0]["hint"]
    assert post(ttir(CALLING, canonicalize=True)).json()["state"] == "succeeded"


def test_two_public_functions_are_ambiguous(post: Post) -> None:
    two = "module { tt.func public @f() { tt.return } tt.func public @g() { tt.return } }"

    failed = post(ttir(two)).json()

    assert failed["problem"]["slug"] == "ambiguous_kernel"
    assert "f, g" in failed["problem"]["detail"]


def test_what_the_passes_refuse_names_the_line_of_the_posted_text(post: Post) -> None:
    returning = "module {\n  tt.func public @f(%x: i32) -> i32 {\n    tt.return %x : i32\n  }\n}\n"

    failed = post(ttir(returning)).json()

    assert failed["problem"]["slug"] == "lowering_failed"
    error = failed["diagnostics"][0]
    assert (error["file"], error["line"]) == ("user.ttir", 3)
    assert "ttgir" in failed["artifacts"]


def test_warps_of_another_size_than_the_targets_are_refused(post: Post) -> None:
    ttgir = post(good("vector_add", include=["ttgir"])).json()["included"]["ttgir"]
    text = ttgir.replace('"ttg.threads-per-warp" = 32', '"ttg.threads-per-warp" = 64')

    failed = post({"ir": {"language": "ttgir", "text": text}, "target": "cuda:90"}).json()

    assert failed["state"] == "failed"
    assert failed["problem"]["slug"] in {"compile_error", "syntax_error"}


def test_ir_that_carries_locations_is_reported_by_its_own_lines(post: Post) -> None:
    ttir_text = post(good("vector_add", include=["ttir"])).json()["included"]["ttir"]
    text = ttir_text.replace("end = 1024", "end = 1000")

    failed = post(ttir(text)).json()

    assert failed["problem"]["slug"] == "compile_error"
    error = failed["diagnostics"][0]
    assert error["file"] == "user.ttir"
    assert "tt.make_range {end = 1000" in text.split("\n")[error["line"] - 1]
    assert "tt.make_range {end = 1000" in error["excerpt"]


def test_ttir_posted_as_ttgir_is_refused_with_the_reason(post: Post) -> None:
    failed = post({"ir": {"language": "ttgir", "text": KEEP_ONE}, "target": "cuda:90"}).json()

    assert failed["problem"]["slug"] == "compile_error"
    assert '"language": "ttir"' in failed["problem"]["detail"]


@pytest.mark.parametrize("stop_after", ["ttgir", "llir"])
def test_what_a_module_says_otherwise_than_the_request_is_reported(
    post: Post, stop_after: str
) -> None:
    ttgir = post(good("vector_add", include=["ttgir"])).json()["included"]["ttgir"]
    ir = {"language": "ttgir", "text": ttgir}
    body = {"ir": ir, "target": "cuda:80", "stop_after": stop_after}

    made = post(body | {"options": {"num_warps": 8}}).json()

    assert made["state"] == "succeeded"
    assert made["metadata"]["num_warps"] == 4
    assert [(d["severity"], d["stage"]) for d in made["diagnostics"]] == [
        ("note", "ttgir"),
        ("warning", "ttgir"),
    ]
    note, warning = (d["message"] for d in made["diagnostics"])
    assert note.startswith("the module sets ttg.num-warps = 4, the options num_warps = 8")
    assert warning.startswith("the module was made for cuda:90 and is compiled for cuda:80")


def test_a_tensor_beyond_all_bounds_is_refused_before_any_pass(post: Post) -> None:
    huge = KEEP_ONE.replace("tt.return", "%c = arith.constant dense<0> : tensor<4194304xi32>")

    assert post(ttir(huge)).json()["problem"]["slug"] == "out_of_resources"


REFUSED = {
    "both": ({"source": "import triton"}, "/ir"),
    "a signature": ({"signature": {"x": "i32"}}, "/signature"),
    "constexprs": ({"constexprs": {"B": 1}}, "/constexprs"),
    "hints": ({"hints": {"x": ["divisible_by_16"]}}, "/hints"),
    "files": ({"files": {"a.py": ""}}, "/files"),
    "a kernel": ({"kernel": "keep"}, "/kernel"),
    "a stage before it": ({"stop_after": "source"}, "/stop_after"),
    "an artifact before it": ({"include": ["ptx", "source"]}, "/include/1"),
    "another language": ({"ir": {"language": "llir", "text": "x"}}, "/ir/language"),
    "no text": ({"ir": {"language": "ttir", "text": ""}}, "/ir/text"),
    "NUL": ({"ir": {"language": "ttir", "text": "\0"}}, "/ir/text"),
    "an unknown field": ({"ir": {"language": "ttir", "text": "x", "name": "y"}}, "/ir/name"),
    "TTGIR to canonicalize": (
        {"ir": {"language": "ttgir", "text": "x", "canonicalize": True}},
        "/ir/canonicalize",
    ),
    "neither": ({"ir": None}, "/source"),
}


@pytest.mark.parametrize(("changes", "pointer"), REFUSED.values(), ids=REFUSED)
def test_what_the_json_shows_to_be_wrong_is_422(
    post: Post, changes: dict[str, object], pointer: str
) -> None:
    refused: httpx.Response = post(ttir(KEEP_ONE) | changes, wait=0)

    assert refused.status_code == 422
    assert pointer in [error["pointer"] for error in refused.json()["errors"]]


def test_null_fields_are_absent_fields(post: Post) -> None:
    names = (
        "source files kernel signature hints constexprs triton stop_after options include refresh"
    )
    nulls = dict.fromkeys(names.split())

    assert post(ttir(KEEP_ONE) | nulls).json()["key"] == post(ttir(KEEP_ONE)).json()["key"]
