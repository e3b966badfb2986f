"""Invalid JSON requests: 422, each error with its pointer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.service.launches import bodies

PATH = "/v1/launches"
BUFFER = {"shape": [4], "dtype": "fp32"}
NOBODYS = {"kind": "tensor", "digest": f"sha256:{'0' * 64}"}
IR = Path(bodies.KERNELS / "ir" / "vector_add_with_overflow_checks.ttir").read_text()


def with_x(**changes: Any) -> dict[str, Any]:
    return bodies.vector_add(arguments={"x_ptr": {**BUFFER, **changes}})


def with_init(**init: Any) -> dict[str, Any]:
    return with_x(init=init)


def compiled_as(**changes: Any) -> dict[str, Any]:
    body = bodies.vector_add()
    body["compilation"] |= changes
    return body


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "unknown field": ({"verdict": "passed"}, "/verdict"),
    "no compilation": ({"compilation": None}, ""),
    "two compilations": ({"compilation_key": "0" * 64}, ""),
    "key that is none": ({"compilation": None, "compilation_key": "abc"}, "/compilation_key"),
    "unknown key": ({"compilation": None, "compilation_key": "0" * 64}, "/compilation_key"),
    "unknown target": (compiled_as(target="cuda:7"), "/compilation/target"),
    "unknown option": (compiled_as(options={"num_warp": 4}), "/compilation/options/num_warp"),
    "unknown Triton": (compiled_as(triton="1.0.0"), "/compilation/triton"),
    "no source": (compiled_as(source=None), "/compilation/source"),
    "early end": (compiled_as(stop_after="ttir"), "/compilation/stop_after"),
    "unknown device": ({"device": "gpu"}, "/device"),
    "device that no worker has": ({"device": {"target": "cuda:90"}}, "/device"),
    "device of another target": ({"device": {"target": "cuda:80"}}, "/device/target"),
    "device with a typo": ({"device": {"target": "cuda:90", "modle": "H200"}}, "/device/modle"),
    "no grid": ({"grid": None}, "/grid"),
    "grid of four": ({"grid": [1, 1, 1, 1]}, "/grid"),
    "grid of nothing": ({"grid": [0]}, "/grid/0"),
    "grid of code": ({"grid": ["__import__('os').getpid()"]}, "/grid/0"),
    "grid of a giant": ({"grid": ["n_elements * 99999999999"]}, "/grid/0"),
    "grid that divides by zero": ({"grid": ["n_elements // 0"]}, "/grid/0"),
    "arguments by position": ({"arguments": [1]}, "/arguments"),
    "text as argument": (bodies.vector_add(arguments={"n_elements": "100"}), "/arguments/n_elements"),  # noqa: E501
    "scalar that does not fit": (
        bodies.vector_add(arguments={"n_elements": {"value": 300, "dtype": "i8"}}),
        "/arguments/n_elements/value",
    ),
    "buffer without contents": (with_x(), "/arguments/x_ptr"),
    "negative extent": (with_x(shape=[-1], output=True), "/arguments/x_ptr/shape/0"),
    "unknown dtype": (with_x(dtype="fp12", output=True), "/arguments/x_ptr/dtype"),
    "strides of another rank": (with_x(strides=[1, 1], output=True), "/arguments/x_ptr/strides"),
    "offset before the start": (with_x(strides=[-1], output=True), "/arguments/x_ptr/offset"),
    "odd alignment": (with_x(align_bytes=3, output=True), "/arguments/x_ptr/align_bytes"),
    "more than memory": (with_x(shape=[1 << 40], output=True), "/arguments"),
    "more output than travels": (with_x(shape=[1 << 26], output=True), "/arguments"),
    "unknown initialiser": (with_init(kind="gauss"), "/arguments/x_ptr/init/kind"),
    "initialiser with a typo": (with_init(kind="uniform", hi=1), "/arguments/x_ptr/init/hi"),
    "values of another shape": (with_init(kind="values", values=[1]), "/arguments/x_ptr/init/values"),  # noqa: E501
    "value that is none": (
        with_init(kind="values", values=[1, 2, 3, "x"]),
        "/arguments/x_ptr/init/values/3",
    ),
    "range that is empty": (
        with_init(kind="randint", low=3, high=3),
        "/arguments/x_ptr/init/high",
    ),
    "tensor that was not uploaded": (
        with_init(**NOBODYS),
        "/arguments/x_ptr/init/digest",
    ),
    "tensor in a tuple that was not uploaded": (
        bodies.vector_add(arguments={"n_elements": [BUFFER | {"init": NOBODYS}]}, grid=[1]),
        "/arguments/n_elements",
    ),
    "view of nothing": (
        bodies.vector_add(arguments={"x_ptr": {"view": {"of": "z_ptr"}}}),
        "/arguments/x_ptr/view/of",
    ),
    "view beyond the end": (
        bodies.vector_add(arguments={"x_ptr": {"view": {"of": "y_ptr", "offset": 1}}}),
        "/arguments/x_ptr/view",
    ),
    "reference of both kinds": (
        {"reference": {"source": "x", "compilation_key": "0" * 64}},
        "/reference",
    ),
    "reference of a language": ({"reference": {"source": "x", "language": "R"}}, "/reference/language"),  # noqa: E501
    "negative tolerance": ({"reference": {"source": "x", "rtol": -1}}, "/reference/rtol"),
    "reference with a grid": ({"reference": {"source": "x", "grid": [1]}}, "/reference/grid"),
    "too many cases": ({"cases": [{}] * 101}, "/cases"),
    "case with a typo": ({"cases": [{"argument": {}}]}, "/cases/0/argument"),
    "return of an input": ({"return": {"x_ptr": "values"}}, "/return/x_ptr"),
    "return of another kind": ({"return": {"output_ptr": "csv"}}, "/return/output_ptr"),
    "unknown check": ({"checks": ["memchek"]}, "/checks/0"),
    "timing below zero": ({"timing": {"max_ms": -1}}, "/timing/max_ms"),
    "trace of no program": ({"trace": {"programs": []}}, "/trace/programs"),
    "trace of a GPU": ({"device": {"target": "cuda:90"}, "trace": {}}, "/trace"),
    "profile of the CPU device": ({"profile": True}, "/profile"),
    "lines of the CPU device": ({"profile": "lines"}, "/profile"),
    "profile of another kind": ({"profile": "everything"}, "/profile"),
    "profile by number": ({"profile": 1}, "/profile"),
    "no time": ({"timeout_s": 0}, "/timeout_s"),
    "too much time": ({"deadline_s": 1e9}, "/deadline_s"),
    "unknown priority": ({"priority": "now"}, "/priority"),
    "unknown isolation": ({"isolation": "none"}, "/isolation"),
    "number as text": ({"stop_after_failures": "1"}, "/stop_after_failures"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused_with_its_pointer(http: httpx.Client, name: str) -> None:
    changes, pointer = WRONG[name]

    answer = http.post(PATH, json=bodies.vector_add() | changes)

    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["slug"] == "invalid_request"
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert answer.json()["errors"][0]["message"]


def test_several_faults_are_reported_at_once(http: httpx.Client) -> None:
    body = with_x(dtype="fp12", output=True) | {"grid": [0], "device": "tpu"}

    errors = http.post(PATH, json=body).json()["errors"]

    pointers = {error["pointer"] for error in errors}
    assert pointers == {"/arguments/x_ptr/dtype", "/grid/0", "/device"}


def test_a_launch_on_a_gpu_needs_a_target(http: httpx.Client) -> None:
    body = bodies.vector_add(device={"target": "cuda:90"})
    del body["compilation"]["target"]

    answer = http.post(PATH, json=body)

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["pointer"] == "/compilation/target"
    assert "a launch on a GPU needs the target" in error["message"]


def test_a_target_that_is_empty_is_none(http: httpx.Client) -> None:
    body = bodies.vector_add()
    body["compilation"]["target"] = ""

    answer = http.post(PATH, json=body)

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/compilation/target"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [({"fallback": "interpret"}, "/fallback"), ({"checks": ["differential"]}, "/checks/0")],
    ids=["fallback", "differential"],
)
def test_what_triton_s_interpreter_did_is_refused_with_what_to_do(
    http: httpx.Client, changes: dict[str, Any], pointer: str
) -> None:
    answer = http.post(PATH, json=bodies.vector_add(**changes))

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["pointer"] == pointer
    assert "was removed" in error["message"]
    assert "Leave it out" in error["message"]


@pytest.mark.parametrize(
    ("content", "content_type", "status"),
    [
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"[]", "application/json", 422),
        (b"null", "application/json", 422),
        (b"[" * 100_000, "application/json", 400),
        (b"{}", "application/json", 422),
        (b"{}", "text/plain", 415),
        (b" " * (8 << 20) + b"{}", "application/json", 413),
    ],
)
def test_a_body_that_is_no_launch_is_refused(
    http: httpx.Client, content: bytes, content_type: str, status: int
) -> None:
    answer = http.post(PATH, content=content, headers={"content-type": content_type})

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "number", ["1e400", "-1e400", "1" + "0" * 4000, "1e-400", "-0.0", "9" * 40]
)
@pytest.mark.parametrize("place", ["scalar", "full", "seed", "grid", "atol"])
def test_a_number_of_any_size_is_answered(http: httpx.Client, number: str, place: str) -> None:
    marked: dict[str, dict[str, Any]] = {
        "scalar": bodies.vector_add(arguments={"n_elements": "MARK"}),
        "full": with_init(kind="full", value="MARK"),
        "seed": with_init(kind="uniform", seed="MARK"),
        "grid": bodies.vector_add(grid=["MARK"]),
        "atol": bodies.vector_add(reference={"source": bodies.SUM, "atol": "MARK"}),
    }
    content = json.dumps(marked[place]).replace('"MARK"', number)

    answer = http.post(PATH, content=content, headers={"content-type": "application/json"})

    assert answer.status_code in {200, 202, 400, 422}
    if answer.is_success:
        done = http.get(answer.headers["location"], params={"wait": 30})
        assert done.json()["state"] in {"completed", "failed"}


@pytest.mark.parametrize("wait", ["x", "-1", "nan", ""])
def test_a_wait_that_is_no_number_of_seconds_is_refused(http: httpx.Client, wait: str) -> None:
    answer = http.post(PATH, params={"wait": wait}, json=bodies.vector_add())

    assert (answer.status_code, answer.json()["parameter"]) == (422, "wait")
