"""Uploaded tensors: accepted files, their owners, and their use in launches."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.conftest import Launch

PATH = "/v1/tensors"


def npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def url_of(data: bytes) -> str:
    return f"{PATH}/sha256:{hashlib.sha256(data).hexdigest()}"


def put(http: httpx.Client, data: bytes) -> httpx.Response:
    return http.put(url_of(data), content=data)


def of_tensor(data: bytes, shape: list[int], dtype: str = "fp32") -> dict[str, Any]:
    digest = url_of(data).rpartition("/")[2]
    return {"shape": shape, "dtype": dtype, "init": {"kind": "tensor", "digest": digest}}


@pytest.mark.parametrize("coding", ["zstd", "identity"])
@pytest.mark.parametrize("rows", [2, 500_000])  # 6 MB are sent in pieces
def test_a_tensor_is_put_looked_at_and_deleted(http: httpx.Client, rows: int, coding: str) -> None:
    data = npy(np.random.default_rng(1).normal(size=(rows, 3)).astype(np.float32))
    url = url_of(data)
    accepted = {"accept-encoding": coding}

    made, again = put(http, data), put(http, data)
    assert (made.status_code, made.headers["location"], again.status_code) == (201, url, 200)
    got = http.get(url, headers=accepted)
    assert (got.content, got.headers["content-type"]) == (data, "application/x-npy")
    looked_at = http.head(url, headers=accepted)
    assert (looked_at.status_code, looked_at.content) == (200, b"")
    assert looked_at.headers["content-length"] == got.headers["content-length"]
    known = accepted | {"if-none-match": got.headers["etag"]}
    assert (http.get(url, headers=known).status_code, got.headers["etag"]) == (
        304, looked_at.headers["etag"],
    )  # fmt: skip
    assert [http.delete(url).status_code, http.delete(url).status_code] == [204, 404]
    assert (http.get(url).status_code, http.head(url).status_code) == (404, 404)


def test_a_tensor_is_no_blob_that_others_may_read(http: httpx.Client) -> None:
    data = npy(np.arange(7, dtype=np.float32))
    put(http, data)

    assert http.get(url_of(data).replace("tensors", "blobs")).status_code == 404


def test_a_launch_reads_an_uploaded_tensor(launch: Launch, http: httpx.Client) -> None:
    x = np.random.default_rng(1).normal(size=100).astype(np.float32)
    put(http, npy(x))

    answer = launch(bodies.vector_add(arguments={"x_ptr": of_tensor(npy(x), [100])}))

    assert answer["verdict"] == "passed"


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(8, dtype=np.uint16), "bf16"),
        (np.arange(8, dtype=np.uint8), "fp8e4nv"),
        (np.array([True, False] * 4), "i1"),
        (np.arange(8, dtype=">i4"), "i32"),
        (np.asfortranarray(np.arange(8, dtype=np.float64).reshape(2, 4)), "fp64"),
    ],
)
def test_the_elements_of_a_file_are_those_of_the_argument(
    launch: Launch, http: httpx.Client, array: Any, dtype: str
) -> None:
    data = npy(array)
    put(http, data)
    code = "@triton.jit\ndef kernel(x_ptr, out_ptr):\n    lanes = tl.arange(0, 8)\n"
    code += "    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))\n"
    arguments = {
        "x_ptr": of_tensor(data, [8], dtype),
        "out_ptr": bodies.output(8, dtype=dtype),
    }

    answer = launch(bodies.written(code, arguments, **{"return": {"out_ptr": "tensor"}}))

    stored = np.load(io.BytesIO(http.get(answer["outputs"]["out_ptr"]["url"]).content))
    assert stored.tolist() == array.reshape(-1).astype(stored.dtype).tolist()


@pytest.mark.parametrize(
    ("shape", "dtype", "said"), [([100], "fp16", "float32"), ([99], "fp32", "99 elements")]
)
def test_a_file_that_does_not_fit_its_argument_is_the_launchs_problem(
    launch: Launch, http: httpx.Client, shape: list[int], dtype: str, said: str
) -> None:
    data = npy(np.zeros(100, np.float32))
    put(http, data)

    answer = launch(bodies.vector_add(arguments={"x_ptr": of_tensor(data, shape, dtype)}))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "invalid_argument")
    assert said in answer["problem"]["detail"]


@pytest.mark.slow
def test_a_file_of_80_megabytes_is_used(launch: Launch, http: httpx.Client) -> None:
    data = npy(np.zeros(20_000_000, np.float32))
    put(http, data)

    answer = launch(
        bodies.vector_add(arguments={"x_ptr": of_tensor(data, [20_000_000])}, reference=None)
    )

    assert http.delete(url_of(data)).status_code == 204
    assert answer["verdict"] == "not_checked"


def test_a_digest_that_is_not_the_bodys_is_refused(http: httpx.Client) -> None:
    data = npy(np.zeros(3))

    answer = http.put(f"{PATH}/sha256:{'0' * 64}", content=data)

    assert (answer.status_code, answer.json()["parameter"]) == (422, "digest")
    assert url_of(data).rpartition("/")[2] in answer.json()["detail"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "does not begin with the magic bytes of a .npy file"),
        (b"PK\x03\x04 a zip of arrays", "does not begin with the magic bytes of a .npy file"),
        (npy(np.array([{}], dtype=object)), "'|O'"),
        (npy(np.zeros(3, np.complex64)), "'<c8'"),
        (npy(np.array(["text"])), "'<U4'"),
        (npy(np.zeros(3, [("a", "f4")])), "[('a', '<f4')]"),
        (npy(np.zeros(4))[:-1], "takes 32 bytes, but the file holds 31"),
        (npy(np.zeros(4)) + b"\0", "takes 32 bytes, but the file holds 33"),
    ],
)
def test_a_file_that_is_not_a_tensor_is_refused(http: httpx.Client, data: bytes, said: str) -> None:
    answer = put(http, data)

    assert (answer.status_code, answer.json()["slug"]) == (422, "invalid_request")
    assert said in answer.json()["detail"]


def test_another_caller_s_tensor_is_not_there(callers: dict[str, httpx.Client]) -> None:
    data = npy(np.zeros(100, np.float32))
    put(callers["alice"], data)
    body = bodies.vector_add(arguments={"x_ptr": of_tensor(data, [100])})

    assert callers["bob"].get(url_of(data)).status_code == 404
    assert callers["bob"].delete(url_of(data)).status_code == 404
    refused = callers["bob"].post("/v1/launches", json=body)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/arguments/x_ptr/init/digest"
    assert callers["alice"].post("/v1/launches", json=body).status_code == 202


def test_an_unknown_tensor_of_a_case_is_refused_at_its_place(http: httpx.Client) -> None:
    missing = {"init": {"kind": "tensor", "digest": f"sha256:{'1' * 64}"}}
    cases = [{}, {"arguments": {"x_ptr": missing}}]

    answer = http.post("/v1/launches", json=bodies.vector_add(cases=cases))

    assert answer.json()["errors"][0]["pointer"] == "/cases/1/arguments/x_ptr/init/digest"


def test_a_file_that_is_too_large_is_refused_while_it_comes(
    callers: dict[str, httpx.Client],
) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(6):
            yield b"x" * 1024

    answer = callers["alice"].put(f"{PATH}/sha256:{'0' * 64}", content=chunks())

    assert (answer.status_code, answer.json()["slug"]) == (413, "too_large")
    assert answer.json()["limit"] == 4096


def test_a_callers_tensors_together_have_a_limit(callers: dict[str, httpx.Client]) -> None:
    files = [npy(np.full(800, fill, np.float32)) for fill in (1, 2)]
    bob = callers["bob"]

    answers = [put(bob, data) for data in files]
    freed = bob.delete(url_of(files[0]))

    assert [answer.status_code for answer in answers] == [201, 413]
    assert answers[1].json()["limit"] == 6000
    assert "DELETE /v1/tensors" in answers[1].json()["detail"]
    assert (freed.status_code, put(bob, files[1]).status_code) == (204, 201)
    assert put(callers["alice"], files[0]).status_code == 201
