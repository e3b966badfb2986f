"""What `launch` posts, how it waits and repeats, and what it gives back."""

from typing import Any

import httpx
import numpy as np
import pytest
from fake_tritond import KEY, OUT_OF_BOUNDS, FakeTritond, compilation, launch, output
from tritonc import (
    AsyncClient,
    Client,
    Compilation,
    LaunchFailed,
    ServerUnavailable,
    WaitExpired,
    array,
    buffers,
    launch_request,
)
from tritonc.launching import launch_and_wait, query

SOURCE = "import triton\n@triton.jit\ndef add(x_ptr, n): ...\n"
ADD: dict[str, Any] = {"arguments": {"n": 1000}, "grid": [1]}


def test_launch_posts_the_request_and_returns_the_launch(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch(outputs={"z": output()}))

    done = client.launch(
        SOURCE,
        kernel="add",
        constexprs={"BLOCK_SIZE": 1024},
        device="interpreter",
        arguments={"x": buffers.uniform(1000, seed=1), "z": buffers.output(1000), "n": 1000},
        grid=["cdiv(n, BLOCK_SIZE)"],
        reference="def reference(x, **_): return x",
        returns={"z": "values"},
    )

    assert done.good
    assert done.outputs["z"].matches
    assert tritond.posted == {
        "compilation": {
            "source": SOURCE,
            "target": "cuda:90",
            "kernel": "add",
            "constexprs": {"BLOCK_SIZE": 1024},
        },
        "device": "interpreter",
        "arguments": {
            "x": {
                "shape": [1000],
                "dtype": "fp32",
                "init": {"kind": "uniform", "low": 0, "high": 1, "seed": 1},
            },
            "z": {"shape": [1000], "dtype": "fp32", "output": True},
            "n": 1000,
        },
        "grid": ["cdiv(n, BLOCK_SIZE)"],
        "reference": {"source": "def reference(x, **_): return x"},
        "return": {"z": "values"},
    }


def test_a_compilation_made_before_is_named_by_its_key(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch())

    client.launch(Compilation.from_json(compilation()), **ADD)

    assert tritond.posted == {"compilation_key": KEY, "arguments": {"n": 1000}, "grid": [1]}


def test_how_to_compile_is_not_said_of_what_is_compiled(client: Client):
    with pytest.raises(TypeError, match="constexprs: only a source is compiled so"):
        client.launch(Compilation.from_json(compilation()), constexprs={"B": 1}, **ADD)


def test_a_function_is_a_reference_with_the_modules_it_uses():
    def double(x, **_):
        return np.multiply(x, 2)

    source = launch_request(SOURCE, **ADD, reference=double).body["reference"]["source"]

    made: dict[str, Any] = {}
    exec(source, made)
    assert list(made["reference"](np.arange(3))) == [0, 2, 4]


def test_a_lambda_is_refused_as_a_reference():
    with pytest.raises(TypeError, match="write the reference as a `def`"):
        launch_request(SOURCE, **ADD, reference=lambda x, **_: x)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, None),
        (0.5, 0.5),
        (2**60, {"int": str(2**60)}),
        (float("inf"), {"float": "inf"}),
        ((1, 2), {"tuple": [1, 2]}),
        (np.float32(0.5), 0.5),
        (np.int64(7), 7),
        (np.bool_(True), True),
        ({"value": 2**60, "dtype": "u64"}, {"value": str(2**60), "dtype": "u64"}),
        (
            buffers.full(2, float("-inf")),
            {"shape": [2], "dtype": "fp32", "init": {"kind": "full", "value": "-Infinity"}},
        ),
    ],
)
def test_an_argument_is_written_so_that_no_json_reader_loses_it(value: object, written: object):
    request = launch_request(SOURCE, arguments={"a": value}, grid=[1])

    assert request.body["arguments"] == {"a": written}


def test_an_argument_that_json_cannot_say_is_named(client: Client, tritond: FakeTritond):
    with pytest.raises(TypeError, match=r"argument 'a': .* is a object, which JSON cannot say"):
        client.launch(SOURCE, arguments={"a": object()}, grid=[1])

    assert tritond.requests == []


def test_an_array_is_uploaded_once(client: Client, tritond: FakeTritond):
    tritond.will_refuse(404, "not_found")
    tritond.will_send(b"", status=201)
    tritond.will_answer(launch())
    x = np.arange(4, dtype=np.float32)

    client.launch(SOURCE, arguments={"x": x, "again": x}, grid=[1])

    digest = array(x).digest
    asked = [(request.method, request.url.path) for request in tritond.requests]
    tensor = f"/v1/tensors/{digest}"
    assert asked == [("HEAD", tensor), ("PUT", tensor), ("POST", "/v1/launches")]
    assert tritond.requests[1].content == array(x).content
    assert tritond.sent(2)["arguments"]["x"] == {
        "shape": [4],
        "dtype": "fp32",
        "init": {"kind": "tensor", "digest": digest},
    }


def test_an_array_that_is_there_is_not_sent(client: Client, tritond: FakeTritond):
    tritond.will_send(b"")
    tritond.will_answer(launch())

    client.launch(SOURCE, arguments={"x": np.zeros(3)}, grid=[1])

    assert [request.method for request in tritond.requests] == ["HEAD", "POST"]


def test_arrays_in_cases_are_uploaded_too(client: Client, tritond: FakeTritond):
    tritond.will_send(b"")
    tritond.will_answer(launch())

    client.launch(SOURCE, **ADD, cases=[{"name": "zeros", "arguments": {"x": np.zeros(3)}}])

    (case,) = tritond.sent(1)["cases"]
    assert case["arguments"]["x"]["init"]["digest"] == array(np.zeros(3)).digest


def test_a_lost_answer_is_asked_for_again_under_the_same_key(client: Client, tritond: FakeTritond):
    tritond.answers.append(httpx.ReadError("reset by peer"))
    tritond.will_answer(launch())

    client.launch(SOURCE, **ADD)

    first, second = tritond.requests
    assert first.content == second.content
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_two_launches_have_different_keys(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch())
    tritond.will_answer(launch())

    client.launch(SOURCE, **ADD)
    client.launch(SOURCE, **ADD)

    keys = {request.headers["idempotency-key"] for request in tritond.requests}
    assert len(keys) == 2


def test_an_idempotency_key_may_be_given(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch())

    client.launch(SOURCE, **ADD, idempotency_key="nightly-7")

    assert tritond.requests[0].headers["idempotency-key"] == "nightly-7"


def test_a_service_that_stays_away_is_reported_after_some_repetitions():
    talk = launch_and_wait(launch_request(SOURCE, **ADD), 60, check=True, idempotency_key=None)
    question = next(talk)
    pauses = []

    with pytest.raises(ServerUnavailable, match="gone"):  # noqa: PT012
        while True:
            question = talk.throw(ServerUnavailable("gone"))
            pauses.append(question.pause_s)

    assert pauses == [0.25, 1.0, 2.0]


def test_a_service_that_wants_much_patience_is_reported_at_once():
    talk = launch_and_wait(launch_request(SOURCE, **ADD), 60, check=True, idempotency_key=None)
    next(talk)

    with pytest.raises(ServerUnavailable):
        talk.throw(ServerUnavailable("closed for today", retry_after_s=3600))


def test_retry_after_is_obeyed_while_waiting():
    talk = launch_and_wait(launch_request(SOURCE, **ADD), 60, check=True, idempotency_key=None)
    next(talk)
    unfinished = httpx.Response(202, json=launch("running"), headers={"Retry-After": "3"})

    following = talk.send(unfinished)

    assert (following.method, following.path) == ("GET", "/v1/launches/ab12")
    assert 2.9 < following.pause_s <= 3


def test_a_verdict_that_is_not_good_is_an_answer_not_an_exception(
    client: Client, tritond: FakeTritond
):
    tritond.will_answer(launch(verdict="mismatch", outputs={"z": output(mismatched=7)}))

    done = client.launch(SOURCE, **ADD)

    assert (done.verdict, done.good) == ("mismatch", False)
    with pytest.raises(LaunchFailed, match="7 of 1000 elements differ"):
        done.raise_unless_good()


def test_a_launch_is_not_good_when_a_case_could_not_run(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch(verdict="not_checked", counts={"passed": 1, "failed": 1}))

    assert not client.launch(SOURCE, **ADD).good


def test_a_launch_without_a_verdict_raises(client: Client, tritond: FakeTritond):
    problem = {"slug": "compile_error", "detail": "user.py:3: name 'tl' is not defined"}
    tritond.will_answer(launch("failed", problem=problem))

    with pytest.raises(LaunchFailed) as failed:
        client.launch(SOURCE, **ADD)

    assert str(failed.value) == (
        "user.py:3: error: name 'tl' is not defined\n"
        "    def add(x_ptr, n): ...\n"
        "failed: compile_error (61 ms)"
    )


def test_waiting_in_vain_raises_and_names_the_launch(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch("queued"), status=202)

    with pytest.raises(WaitExpired, match="it is queued after waiting 0 s") as expired:
        client.launch(SOURCE, **ADD, wait_s=0)

    assert expired.value.key == "ab12"


def test_several_launches_are_asked_for_in_one_question():
    talk = query(["a", "b"], 20)
    question = next(talk)
    answer = {"launches": [launch(id="a"), launch("running", id="b")]}

    again = talk.send(httpx.Response(200, json=answer))

    assert question.params == {}
    assert question.json == {"ids": ["a", "b"], "wait_s": 20}
    assert again.json is not None
    assert 19 < again.json["wait_s"] < 20


def test_outputs_and_traces_are_fetched_by_launch(client: Client, tritond: FakeTritond):
    tritond.will_send(b"\x93NUMPY")
    tritond.will_answer({"accesses": [], "truncated": False})

    assert client.launches.output("ab12", "z", case=3) == b"\x93NUMPY"
    assert client.launches.trace("ab12")["truncated"] is False
    assert str(tritond.requests[0].url).endswith("/v1/launches/ab12/outputs/z?case=3")


async def test_the_async_client_launches_too(tritond: FakeTritond):
    tritond.answers.append(httpx.ConnectError("refused"))
    tritond.will_answer(launch("running"), status=202)
    tritond.will_answer(launch())
    tritond.will_answer(launch("cancelled"))

    async with AsyncClient(transport=tritond) as client:
        done = await client.launch(SOURCE, **ADD)
        cancelled = await client.launches.cancel(done.id)

    assert done.good
    assert cancelled.state == "cancelled"
    assert [request.method for request in tritond.requests] == ["POST", "POST", "GET", "DELETE"]


def test_a_report_reads_like_a_compilers_output(client: Client, tritond: FakeTritond):
    told = launch(
        verdict="out_of_bounds",
        findings=[OUT_OF_BOUNDS],
        outputs={"z": output(mismatched=9, unwritten=8)},
        seeds={"x": 5},
    )
    tritond.will_answer(told)

    assert client.launch(SOURCE, **ADD).render("add.py") == (
        "add.py:2: out_of_bounds: program (0, 0, 0) reads x_ptr[1000], 1 element past its end\n"
        "    @triton.jit\n"
        "z: 9 of 1000 elements differ; first at [3]: 1.5, expected 2; "
        "largest error 0.5 (rtol 0.0001, atol 1e-05)\n"
        "z: never written: 8 of 1000 elements\n"
        "seeds: x 5\n"
        "verdict: out_of_bounds on the interpreter (61 ms)"
    )


def test_a_report_shows_the_line_of_a_reference_that_failed(client: Client, tritond: FakeTritond):
    said = {"kind": "invalid_reference", "message": "ValueError: shapes", "line": 2}
    told = launch(verdict="invalid_reference", findings=[said | {"file": "reference.py"}])
    tritond.will_answer(told)
    reference = "def reference(x, **_):\n    return x + y\n"

    assert str(client.launch(SOURCE, **ADD, reference=reference)).startswith(
        "reference.py:2: invalid_reference: ValueError: shapes\n    return x + y\n"
    )


def test_a_report_tells_each_case(client: Client, tritond: FakeTritond):
    case = {"index": 0, "name": None, "verdict": "passed", "outputs": {}, "findings": []}
    bad = case | {"name": "odd", "verdict": "mismatch", "outputs": {"z": output(mismatched=1)}}
    counts = {"passed": 1, "mismatch": 1}
    tritond.will_answer(launch(verdict="mismatch", cases=[case, bad], counts=counts))

    lines = str(client.launch(SOURCE, **ADD)).splitlines()

    assert lines[0] == "case 0: passed"
    assert lines[1] == "case 1 (odd): mismatch"
    assert lines[2].startswith("  z: 1 of 1000 elements differ")
    assert lines[3] == "verdict: mismatch on the interpreter (61 ms); 1 passed, 1 mismatch"


def test_a_report_tells_the_time_that_was_measured(client: Client, tritond: FakeTritond):
    timing = {"median_us": 9.8, "p20_us": 9.5, "p80_us": 10, "repeats": 100, "noisy": True}
    device = {"target": "cuda:90", "model": "NVIDIA H200", "interpreter": False}
    tritond.will_answer(launch(device=device, timing=timing | {"bytes_per_s": 1.2e11}))

    assert str(client.launch(SOURCE, **ADD)).splitlines() == [
        "time: median 9.8 us, p20 9.5 us, p80 10 us, 120 GB/s (100 repeats; noisy)",
        "verdict: passed on the NVIDIA H200 (61 ms)",
    ]
