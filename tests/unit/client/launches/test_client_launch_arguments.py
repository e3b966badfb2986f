"""Launch arguments in JSON, and uploads of arrays."""

from typing import Any

import numpy as np
import pytest
from tritonc import (
    Client,
    array,
    buffers,
    launch_request,
)

from tests.unit.client.fake_tritond import FakeTritond, launch

SOURCE = "import triton\n@triton.jit\ndef add(x_ptr, n): ...\n"


ADD: dict[str, Any] = {"arguments": {"n": 1000}, "grid": [1]}


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
    with pytest.raises(TypeError, match=r"argument 'a': .* is a object, which JSON lacks"):
        client.launch(SOURCE, arguments={"a": object()}, grid=[1])

    assert tritond.requests == []


def test_an_array_is_uploaded_once(client: Client, tritond: FakeTritond):
    tritond.will_send(b"", status=404)  # an answer to HEAD has no body
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
