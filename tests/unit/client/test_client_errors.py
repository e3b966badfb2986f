"""Every way in which a call can fail, and the message for each."""

import httpx
import pytest
import tritonc
from tritonc import (
    Client,
    CompileFailed,
    ProblemError,
    ServerUnavailable,
    TritoncError,
    UnexpectedAnswer,
    errors,
)

from tests.unit.client.fake_tritond import FakeTritond, compilation, failure


def test_a_refused_request_says_where_it_is_wrong(client: Client, tritond: FakeTritond):
    errors = [{"pointer": "/options/num_warps", "message": "5 is not a power of two"}]
    tritond.will_refuse(422, "invalid_request", detail="1 error", errors=errors)

    with pytest.raises(ProblemError) as refused:
        client.compile("", target="cuda:90", options={"num_warps": 5})

    assert refused.value.status == 422
    assert refused.value.slug == "invalid_request"
    assert refused.value.errors[0].pointer == "/options/num_warps"
    assert str(refused.value) == (
        "422 invalid_request: 1 error\n  /options/num_warps: 5 is not a power of two"
    )


def test_a_problem_says_where_and_whose_fault_it_is(client: Client, tritond: FakeTritond):
    problem = {"slug": "not_recordable", "reason": "value_dependent", "fault": "source"}
    problem |= {"file": "user.py", "line": 8, "retryable": False}
    tritond.will_refuse(422, detail="it asks for a value", **problem)

    with pytest.raises(ProblemError) as refused:
        client.compile("", target="cuda:90")

    found = refused.value.problem
    assert (found.reason, found.fault, found.retryable) == ("value_dependent", "source", False)
    assert (found.file, found.line) == ("user.py", 8)


def will_refuse_for_now(tritond: FakeTritond, retry_after_s: int) -> None:
    problem = {"slug": "too_many_requests", "detail": "slow down"}
    tritond.will_answer(problem, status=429, headers={"Retry-After": str(retry_after_s)})


def test_a_request_beyond_a_limit_is_repeated_when_the_service_says(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    for retry_after_s in (3, 4):
        will_refuse_for_now(tritond, retry_after_s)
    tritond.will_answer({"targets": []})

    assert client.targets() == {"targets": []}
    assert pauses == [3, 4]


def test_a_refused_request_runs_once_even_if_it_may_not_be_posted_twice(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    will_refuse_for_now(tritond, 1)
    tritond.will_answer(compilation())

    assert client.compile("", target="cuda:90", refresh=True).succeeded
    assert (len(tritond.requests), pauses) == (2, [1])


def test_refusals_are_not_waited_for_beyond_the_timeout(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    for retry_after_s in (6, 5):
        will_refuse_for_now(tritond, retry_after_s)

    with pytest.raises(ProblemError) as refused:
        client.targets()

    assert refused.value.retry_after_s == 5
    assert pauses == [6]


def test_the_wait_of_a_call_and_its_timeout_bound_refusals_together(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    will_refuse_for_now(tritond, 20)
    will_refuse_for_now(tritond, 21)

    with pytest.raises(ProblemError):
        client.compile("", target="cuda:90", wait_s=30)

    assert pauses == [20]
    assert [request.url.params["wait"] for request in tritond.requests] == ["30.000", "10.000"]


def test_a_queue_that_stays_full_is_a_service_that_is_unavailable(
    client: Client, tritond: FakeTritond
):
    problem = {"slug": "queue_full", "detail": "10000 jobs are waiting"}
    for _ in range(6):
        tritond.will_answer(problem, status=503, headers={"Retry-After": "5"})

    with pytest.raises(ServerUnavailable, match="10000 jobs are waiting") as unavailable:
        client.compile("", target="cuda:90")

    assert unavailable.value.problem is not None
    assert unavailable.value.problem.slug == "queue_full"
    assert unavailable.value.retry_after_s == 5


def test_a_compilation_is_posted_again_when_the_service_restarts(
    client: Client, tritond: FakeTritond
):
    tritond.will_be_down()
    tritond.will_answer({"slug": "stopping", "detail": "stopping"}, 503)
    tritond.will_answer(compilation("succeeded"))

    assert client.compile("", target="cuda:90").state == "succeeded"
    assert [request.method for request in tritond.requests] == ["POST"] * 3


def test_a_service_that_is_lost_for_long_is_asked_until_the_wait_is_over(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    tritond.will_answer(compilation("queued"), 202)
    for _ in range(20):
        tritond.answers.append(httpx.ConnectError("down"))
    tritond.will_answer(compilation("succeeded"))

    assert client.compile("", target="cuda:90", wait_s=200).succeeded
    assert 60 < sum(pauses) < 80


def test_a_service_that_stays_lost_is_unavailable_when_the_wait_is_over(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    for _ in range(20):
        tritond.answers.append(httpx.ConnectError("down"))

    with pytest.raises(ServerUnavailable, match="down"):
        client.compile("", target="cuda:90", wait_s=30)

    assert sum(pauses) == pytest.approx(30)


def test_a_refresh_is_not_posted_again(client: Client, tritond: FakeTritond):
    tritond.will_be_down()

    with pytest.raises(ServerUnavailable):
        client.compile("", target="cuda:90", refresh=True)

    assert len(tritond.requests) == 1


def test_a_refresh_is_polled_through_a_restart(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("queued"), 202)
    tritond.will_be_down()
    tritond.will_answer(compilation())

    assert client.compile("", target="cuda:90", refresh=True).succeeded
    assert [request.method for request in tritond.requests] == ["POST", "GET", "GET"]


def test_a_compilation_that_the_service_lost_is_posted_again(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation("queued"), 202)
    tritond.will_refuse(404, "not_found", detail="There is no such compilation")
    tritond.will_answer(compilation("succeeded"))

    assert client.compile("", target="cuda:90").state == "succeeded"
    assert [request.method for request in tritond.requests] == ["POST", "GET", "POST"]


def test_no_connection_names_the_url_and_what_to_check(client: Client, tritond: FakeTritond):
    tritond.will_be_down()

    with pytest.raises(
        ServerUnavailable, match=r"no answer from http://tritond.test:8000.*refused"
    ):
        client.system()


def refused() -> httpx.ConnectError:
    """Return the error that httpx raises when a connection is refused."""
    error = httpx.ConnectError("[Errno 111] Connection refused")
    error.__cause__ = ConnectionRefusedError(111, "Connection refused")
    return error


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"]
)
def test_a_refused_connection_on_this_machine_is_reported_at_once(
    tritond: FakeTritond, pauses: list[float], url: str
):
    tritond.answers.append(refused())

    with Client(url, transport=tritond) as client, pytest.raises(ServerUnavailable):
        client.compile("", target="cuda:90")

    assert pauses == []


def test_a_service_on_this_machine_that_has_answered_is_waited_for(
    tritond: FakeTritond, pauses: list[float]
):
    tritond.will_answer({"targets": []})
    tritond.answers.append(refused())
    tritond.will_answer(compilation("succeeded"))

    with Client("http://127.0.0.1:8000", transport=tritond) as client:
        client.targets()
        assert client.compile("", target="cuda:90").succeeded
    assert len(pauses) == 1


def test_a_service_elsewhere_that_refuses_may_be_starting(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    tritond.answers.append(refused())
    tritond.will_answer(compilation("succeeded"))

    assert client.compile("", target="cuda:90").succeeded
    assert len(pauses) == 1


def test_every_network_error_of_httpx_becomes_ours(client: Client, tritond: FakeTritond):
    for kind in (httpx.ReadTimeout, httpx.RemoteProtocolError, httpx.ReadError, httpx.ProxyError):
        tritond.answers.append(kind("broken"))
        with pytest.raises(ServerUnavailable, match="broken"):
            client.system()


def test_a_web_page_instead_of_json_hints_at_the_url(client: Client, tritond: FakeTritond):
    tritond.will_send(b"<html>", content_type="text/html")

    with pytest.raises(UnexpectedAnswer, match=r"\(text/html\); is the URL right\?"):
        client.compile("", target="cuda:90")


def test_json_that_is_no_compilation_is_unexpected(client: Client, tritond: FakeTritond):
    tritond.will_answer({"hello": "world"})

    with pytest.raises(UnexpectedAnswer):
        client.get("k")


@pytest.mark.parametrize(
    ("status", "error"),
    [(200, r"did not answer like tritond .* is the URL right\?"), (404, "404 Not Found")],
)
def test_json_too_deep_to_read_is_as_none(
    client: Client, tritond: FakeTritond, status: int, error: str
):
    tritond.will_send(100_000 * b"[", status, content_type="application/json")

    with pytest.raises(TritoncError, match=error):
        client.system()


@pytest.mark.parametrize(
    "problem", [{}, {"slug": "not_found", "detail": "GET: Not Found", "instance": "/x/v1/targets"}]
)
def test_a_path_that_is_not_there_hints_at_the_url(
    client: Client, tritond: FakeTritond, problem: dict[str, str]
):
    tritond.will_answer(problem, 404)

    with pytest.raises(UnexpectedAnswer, match=r"/v1/targets answered 404 .* by TRITOND_URL"):
        client.targets()


def test_the_first_loss_of_a_request_is_told(tritond: FakeTritond, pauses: list[float]):
    told: list[ServerUnavailable] = []
    for _ in range(2):
        tritond.answers.append(httpx.ConnectError("Name or service not known"))
    tritond.will_answer(compilation())

    with Client("http://nowhere.test", transport=tritond, on_loss=told.append) as client:
        client.compile("", target="cuda:90")

    assert ["Name or service not known" in str(error) for error in told] == [True]


def test_a_redirect_is_not_followed_with_the_api_key(client: Client, tritond: FakeTritond):
    tritond.will_answer({}, status=307, headers={"Location": "http://elsewhere.test/"})

    with pytest.raises(UnexpectedAnswer, match="307"):
        client.targets()

    assert len(tritond.requests) == 1


def test_an_error_page_of_a_proxy_is_reported_by_its_status(client: Client, tritond: FakeTritond):
    tritond.will_send(b"<html>", status=403, content_type="text/html")

    with pytest.raises(ProblemError, match="403 Forbidden") as refused:
        client.targets()

    assert refused.value.slug == ""


def test_a_failed_compilation_reads_like_a_compilers_output(client: Client, tritond: FakeTritond):
    tritond.will_answer(failure())

    with pytest.raises(CompileFailed) as failed:
        client.compile("", target="cuda:90")

    assert str(failed.value) == (
        "user.py:12:40: error: name 'maks' is not defined\n"
        "        x = tl.load(x_ptr + offsets, mask=maks)\n"
        "                                           ^\n"
        "  hint: did you mean 'mask'?\n"
        "compile_error (stages reached: source)"
    )


def test_a_failure_without_diagnostics_says_its_problem(client: Client, tritond: FakeTritond):
    problem = {"slug": "compile_timeout", "detail": "stopped after 60 s", "retryable": True}
    tritond.will_answer(compilation("failed", artifacts={}, problem=problem))

    with pytest.raises(CompileFailed) as failed:
        client.compile("", target="cuda:90")

    assert str(failed.value) == (
        "error: stopped after 60 s\n"
        "compile_timeout (stages reached: none; may work when tried again)"
    )


def test_a_message_cannot_drive_the_terminal(client: Client, tritond: FakeTritond):
    note = {"severity": "error", "stage": "ptx", "message": "\x1b]0;owned\x07", "file": None}
    tritond.will_answer(failure() | {"diagnostics": [note]})

    with pytest.raises(CompileFailed) as failed:
        client.compile("", target="cuda:90")

    assert "\x1b" not in str(failed.value)
    assert str(failed.value).startswith("ptx: error: ")


def test_every_error_is_a_tritonc_error_and_drawn_in_the_docstring():
    named = [getattr(tritonc, name) for name in tritonc.__all__]
    ours = [c for c in named if isinstance(c, type) and issubclass(c, Exception)]

    assert len(ours) == 8
    for error in ours:
        assert issubclass(error, TritoncError)
        assert error.__name__ in (errors.__doc__ or "")
