"""Artifacts made on demand (SASS, line tables, passes, exports), and inspections."""

import pytest
from tritonc import Client, ProblemError, UnexpectedAnswer, WaitExpired

from tests.unit.client.fake_tritond import KEY, FakeTritond

BELOW = f"/v1/compilations/{KEY}"


def test_sass_is_text(client: Client, tritond: FakeTritond):
    tritond.will_answer({}, status=202)
    tritond.will_send("MOV R1 // µ".encode(), content_type="text/plain; charset=utf-8")

    assert client.sass(KEY) == "MOV R1 // µ"
    assert [r.url.path for r in tritond.requests] == [f"{BELOW}/artifacts/sass"] * 2


def test_the_kernel_in_numpy_is_text(client: Client, tritond: FakeTritond):
    tritond.will_send(b"def add_kernel(x_ptr):", content_type="text/x-python; charset=utf-8")

    assert client.numpy(KEY) == "def add_kernel(x_ptr):"
    assert tritond.requests[0].url.path == f"{BELOW}/artifacts/numpy"


def test_lines_passes_layouts_and_request_are_documents(client: Client, tritond: FakeTritond):
    tritond.will_answer({"lines": []})
    tritond.will_answer({"passes": []})
    tritond.will_answer({"layouts": [], "truncated": False})
    tritond.will_answer({"total": 7})
    tritond.will_answer({"target": "cuda:90"})

    assert client.lines(KEY) == {"lines": []}
    assert client.passes(KEY) == {"passes": []}
    assert client.layouts(KEY) == {"layouts": [], "truncated": False}
    assert client.instructions(KEY) == {"total": 7}
    assert client.request(KEY) == {"target": "cuda:90"}
    asked = [request.url.path for request in tritond.requests]
    assert asked == [
        f"{BELOW}/lines",
        f"{BELOW}/passes",
        f"{BELOW}/layouts",
        f"{BELOW}/instructions",
        f"{BELOW}/request",
    ]


def test_a_document_that_is_none_is_unexpected(client: Client, tritond: FakeTritond):
    tritond.will_send(b"<html>", content_type="text/html")

    with pytest.raises(UnexpectedAnswer, match="is the URL right"):
        client.lines(KEY)


def test_an_export_is_bytes(client: Client, tritond: FakeTritond):
    tritond.will_send(b"/* add_kernel */")

    assert client.export(KEY, "cuda-inline") == b"/* add_kernel */"
    assert tritond.requests[0].url.path == f"{BELOW}/exports/cuda-inline"


def test_an_export_that_does_not_exist_says_which_do(client: Client, tritond: FakeTritond):
    tritond.will_refuse(
        404, "no_such_stage", detail="There is no export 'go'; the exports are c, rust"
    )

    with pytest.raises(ProblemError, match="the exports are c, rust"):
        client.export(KEY, "go")


def test_what_is_not_made_in_time_raises(client: Client, tritond: FakeTritond):
    tritond.will_answer({}, status=202)

    with pytest.raises(WaitExpired, match="passes is not ready"):
        client.passes(KEY, wait_s=0)


def test_an_inspection_is_posted_again_until_it_is_there(client: Client, tritond: FakeTritond):
    tritond.will_answer({"state": "queued", "kernels": None}, status=202)
    tritond.will_answer({"state": "succeeded", "kernels": [{"name": "add"}]})

    reported = client.inspect("import triton\n", files={"helpers.py": "A = 1\n"})

    assert reported["kernels"] == [{"name": "add"}]
    assert tritond.sent(1) == {"source": "import triton\n", "files": {"helpers.py": "A = 1\n"}}


def test_an_inspection_that_takes_too_long_raises(client: Client, tritond: FakeTritond):
    tritond.will_answer({"state": "queued"}, status=202)

    with pytest.raises(WaitExpired, match=r"the inspection is queued .* ask again, or"):
        client.inspect("import triton\n", wait_s=0)


def test_ir_is_compiled_as_source_is(client: Client, tritond: FakeTritond):
    tritond.will_answer({"key": KEY, "state": "succeeded"})

    client.compile_ir("module {}", target="cuda:90", canonicalize=True, include=["ptx"])

    assert tritond.posted == {
        "ir": {"language": "ttir", "text": "module {}", "canonicalize": True},
        "target": "cuda:90",
        "include": ["ptx"],
    }
