"""`compile` posts a request, waits, and returns a compilation."""

import base64
from typing import Any

import pytest
from tritonc import Client, CompileFailed, WaitExpired

from tests.unit.client.fake_tritond import KEY, FakeTritond, compilation, failure

SOURCE = "import triton\n"


def test_compile_posts_the_request_and_returns_the_compilation(
    client: Client, tritond: FakeTritond
):
    tritond.will_answer(compilation())

    made = client.compile(
        SOURCE,
        kernel="add_kernel",
        signature={"x_ptr": "*fp32:16", "n_elements": "i32"},
        constexprs={"BLOCK_SIZE": 1024},
        target="cuda:90",
        options={"num_warps": 4},
    )

    assert made.succeeded
    assert made.resources["registers"] == 32
    assert tritond.posted == {
        "source": SOURCE,
        "kernel": "add_kernel",
        "signature": {"x_ptr": "*fp32:16", "n_elements": "i32"},
        "constexprs": {"BLOCK_SIZE": 1024},
        "target": "cuda:90",
        "options": {"num_warps": 4},
        "include": [],
    }


def test_the_api_key_is_sent_as_bearer(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation())

    client.compile(SOURCE, target="cuda:90")

    assert tritond.requests[0].headers["authorization"] == "Bearer secret"


def test_without_an_api_key_none_is_sent(tritond: FakeTritond):
    tritond.will_answer(compilation())

    with Client(transport=tritond) as client:
        client.compile(SOURCE, target="cuda:90")

    assert "authorization" not in tritond.requests[0].headers


def test_the_service_may_live_below_a_path(tritond: FakeTritond):
    tritond.will_answer(compilation())

    with Client("http://gateway.test/tritond/", transport=tritond) as client:
        client.compile(SOURCE, target="cuda:90")

    assert tritond.requests[0].url.path == "/tritond/v1/compilations"


def test_rarer_members_are_passed_on(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation())

    client.compile(SOURCE, target="cuda:90", refresh=True, files={"helpers.py": "x = 1\n"})

    assert tritond.posted["refresh"] is True
    assert tritond.posted["files"] == {"helpers.py": "x = 1\n"}


def test_compile_asks_again_by_key_until_it_is_finished(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("queued", cache="join"), status=202)
    tritond.will_answer(compilation("running", cache=None))
    tritond.will_answer(compilation(cache=None, included={"ptx": "//ptx"}))

    made = client.compile(SOURCE, target="cuda:90", include=["ptx"])

    asked = [(r.method, r.url.path, r.url.params.get("include")) for r in tritond.requests]
    again = ("GET", f"/v1/compilations/{KEY}", "ptx")
    assert asked == [("POST", "/v1/compilations", None), again, again]
    assert made.included == {"ptx": "//ptx"}


def test_cache_describes_the_first_post_even_after_a_repetition(
    client: Client, tritond: FakeTritond
):
    tritond.will_answer(compilation("running", cache="join"), status=202)
    tritond.will_answer(compilation(cache=None))

    assert client.compile(SOURCE, target="cuda:90").cache == "join"


def test_no_request_waits_longer_than_proxies_allow(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation())

    client.compile(SOURCE, target="cuda:90", wait_s=3600)

    assert tritond.requests[0].url.params["wait"] == "30.000"
    assert tritond.requests[0].extensions["timeout"]["read"] == 40


def test_a_service_that_answers_at_once_is_not_polled_in_a_hot_loop(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    tritond.will_answer(compilation("running"), status=202)
    tritond.will_answer(compilation("running"))
    tritond.will_answer(compilation())

    client.compile(SOURCE, target="cuda:90")

    assert pauses == [0.25, 0.25]


def test_waiting_in_vain_raises_and_names_the_key(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("queued"), status=202)

    with pytest.raises(WaitExpired, match="it is queued after waiting 0 s") as expired:
        client.compile(SOURCE, target="cuda:90", wait_s=0)

    assert expired.value.key == KEY


def test_submitting_only_returns_the_queued_compilation(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("queued", queue_position=7), status=202)

    queued = client.compile(SOURCE, target="cuda:90", wait_s=0, check=False)

    assert not queued.finished
    assert queued.queue_position == 7
    assert "wait" not in tritond.requests[0].url.params


def test_a_failed_compilation_raises(client: Client, tritond: FakeTritond):
    tritond.will_answer(failure())

    with pytest.raises(CompileFailed) as failed:
        client.compile(SOURCE, target="cuda:90")

    assert failed.value.problem is not None
    assert failed.value.problem.slug == "compile_error"
    assert failed.value.diagnostics[0].line == 12
    assert list(failed.value.compilation.artifacts) == ["source"]


def test_unchecked_a_failed_compilation_is_returned(client: Client, tritond: FakeTritond):
    tritond.will_answer(failure())

    assert client.compile(SOURCE, target="cuda:90", check=False).state == "failed"


def test_a_cancelled_compilation_raises_too(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("cancelled", artifacts={}))

    with pytest.raises(CompileFailed, match="the compilation is cancelled"):
        client.compile(SOURCE, target="cuda:90")


def test_included_text_is_str_and_included_binary_is_bytes(client: Client, tritond: FakeTritond):
    written = {"ptx": ".version 8.7", "cubin": base64.b64encode(b"\x7fELF").decode()}
    tritond.will_answer(compilation(included=written))

    made = client.compile(SOURCE, target="cuda:90", include=["ptx", "cubin"])

    assert made.included == {"ptx": ".version 8.7", "cubin": b"\x7fELF"}


def test_unknown_fields_and_states_are_accepted(client: Client, tritond: FakeTritond):
    note = {"severity": "remark", "stage": "sass", "message": "m", "colour": "red"}
    tritond.will_answer(compilation("archived", shelf=3, diagnostics=[note]))

    made = client.compile(SOURCE, target="cuda:90", check=False)

    assert made.state == "archived"
    assert made.finished
    assert made.diagnostics[0].severity == "remark"
    assert made.raw["shelf"] == 3


def test_an_early_state_without_results_is_readable(client: Client, tritond: FakeTritond):
    bare: dict[str, Any] = {"key": KEY, "state": "queued", "target": "cuda:90"}
    tritond.will_answer(bare, status=202)

    queued = client.compile(SOURCE, target="cuda:90", wait_s=0, check=False)

    assert queued.artifacts == {}
    assert queued.resources == {}
    assert queued.problem is None
