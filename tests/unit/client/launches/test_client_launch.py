"""`launch` posts a request, waits, retries and returns the result."""

from typing import Any

import httpx
import numpy as np
import pytest
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

from tests.unit.client.fake_tritond import KEY, FakeTritond, compilation, launch, output

SOURCE = "import triton\n@triton.jit\ndef add(x_ptr, n): ...\n"
ADD: dict[str, Any] = {"arguments": {"n": 1000}, "grid": [1]}


def test_launch_posts_the_request_and_returns_the_launch(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch(outputs={"z": output()}))

    done = client.launch(
        SOURCE,
        kernel="add",
        constexprs={"BLOCK_SIZE": 1024},
        device="cpu",
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
            "kernel": "add",
            "constexprs": {"BLOCK_SIZE": 1024},
        },
        "device": "cpu",
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


def test_compile_arguments_are_refused_with_a_compilation_key(client: Client):
    with pytest.raises(TypeError, match="constexprs: only allowed with a source"):
        client.launch(Compilation.from_json(compilation()), constexprs={"B": 1}, **ADD)


def test_a_function_is_a_reference_with_the_modules_it_uses():
    def double(x, **_):
        return np.multiply(x, 2)

    source = launch_request(SOURCE, **ADD, reference=double).body["reference"]["source"]

    made: dict[str, Any] = {}
    exec(source, made)
    assert list(made["reference"](np.arange(3))) == [0, 2, 4]


@pytest.mark.parametrize(
    "text",
    [
        "import torch",
        "import torch.nn.functional as F",
        "from torch import nn",
        "def reference(x):\n    import numpy, torch\n    return torch.sin(x)",
    ],
)
def test_a_reference_that_imports_torch_is_sent_as_torch(text: str):
    body = launch_request(SOURCE, **ADD, reference=text).body

    assert body["reference"] == {"source": text, "language": "torch"}


@pytest.mark.parametrize(
    "reference",
    [
        {"source": "'import torch'"},
        {"source": "from .torch import f"},
        {"source": "import torchvision"},
        {"source": "import torch", "language": "numpy"},
        {"source": "import torch ("},
        {"compilation_key": "k"},
    ],
)
def test_other_references_keep_their_language(reference: dict[str, Any]):
    assert launch_request(SOURCE, **ADD, reference=reference).body["reference"] == reference


def test_a_numpy_reference_of_a_case_is_sent_as_numpy_next_to_one_in_torch():
    cases = [{"name": "a", "reference": "f = 1"}, {"name": "b", "reference": {"rtol": 1}}]

    inferred = launch_request(SOURCE, **ADD, reference="import torch", cases=cases).body
    written = {"source": "f = 2", "language": "torch"}
    stated = launch_request(SOURCE, **ADD, reference=written, cases=cases).body

    of_cases = [case["reference"] for case in inferred["cases"]]
    assert of_cases == [{"language": "numpy", "source": "f = 1"}, {"rtol": 1}]
    assert stated["cases"][0]["reference"] == {"source": "f = 1"}


def test_the_modules_of_annotations_are_imported():
    def double(x: np.ndarray, **_):
        return x

    source = launch_request(SOURCE, **ADD, reference=double).body["reference"]["source"]

    assert source.startswith("import numpy as np\n")


SCALE = 3


def test_a_reference_that_uses_values_from_around_it_is_refused():
    offset = 4

    def scaled(x, **_):
        return SCALE * x + offset

    with pytest.raises(TypeError, match="scaled uses SCALE, offset from outside"):
        launch_request(SOURCE, **ADD, reference=scaled)


@pytest.mark.parametrize("grid", [8, "cdiv(n, B)"])
def test_a_grid_of_one_dimension_needs_no_list(grid: int | str):
    assert launch_request(SOURCE, arguments={"n": 1000}, grid=grid).body["grid"] == [grid]


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


def test_a_service_that_stays_away_is_reported_after_some_repetitions(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    for _ in range(6):
        tritond.will_be_down()

    with pytest.raises(ServerUnavailable, match="refused"):
        client.launch(SOURCE, **ADD, wait_s=0)

    assert pauses == [0.25, 0.5, 1.0, 2.0, 4.0]


def test_a_service_that_wants_much_patience_is_reported_at_once(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    closed = {"slug": "stopping", "detail": "closed for today"}
    tritond.will_answer(closed, status=503, headers={"Retry-After": "3600"})

    with pytest.raises(ServerUnavailable, match="closed for today"):
        client.launch(SOURCE, **ADD)

    assert pauses == []


def test_retry_after_is_obeyed_while_waiting(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    tritond.will_answer(launch("running"), status=202, headers={"Retry-After": "3"})
    tritond.will_answer(launch())

    client.launch(SOURCE, **ADD)

    asked = [(request.method, request.url.path) for request in tritond.requests]
    assert asked == [("POST", "/v1/launches"), ("GET", "/v1/launches/ab12")]
    assert pauses == [3]


def test_a_launch_is_polled_beyond_a_limit_of_requests(
    client: Client, tritond: FakeTritond, pauses: list[float]
):
    tritond.will_answer(launch("running"), status=202)
    tritond.will_answer({"slug": "too_many_requests"}, status=429, headers={"Retry-After": "1"})
    tritond.will_answer(launch())

    assert client.launch(SOURCE, **ADD).good
    assert pauses == [0.25, 1]


@pytest.mark.parametrize("said", ["soon", "-1", "\u00b2", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_retry_after_that_is_no_number_of_seconds_is_as_none(
    client: Client, tritond: FakeTritond, pauses: list[float], said: str
):
    unfinished = httpx.Response(
        202, json=launch("running"), headers=[(b"Retry-After", said.encode("latin-1"))]
    )
    tritond.answers.append(unfinished)
    tritond.will_answer(launch())

    client.launch(SOURCE, **ADD)

    assert pauses == [0.25]


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


def test_several_launches_are_asked_for_in_one_request(client: Client, tritond: FakeTritond):
    tritond.will_answer({"launches": [launch(id="a"), launch("running", id="b")]})
    tritond.will_answer({"launches": [launch(id="a"), launch(id="b")]})

    found = client.launches.query(["a", "b"], wait_s=20)

    assert [each.id for each in found] == ["a", "b"]
    assert tritond.requests[0].url.query == b""
    assert tritond.sent(0) == {"ids": ["a", "b"], "wait_s": 20}
    assert tritond.sent(1)["wait_s"] == 19.75


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
