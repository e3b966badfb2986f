"""What `launch` posts, how it waits and repeats, and what it gives back."""

from typing import Any

import httpx
import numpy as np
import pytest
from fake_tritond import KEY, FakeTritond, compilation, launch, output
from tritonc import (
    AsyncClient,
    Client,
    Compilation,
    LaunchFailed,
    ServerUnavailable,
    WaitExpired,
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

    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0]


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
