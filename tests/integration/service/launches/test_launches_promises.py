"""Promises of a signature, a compilation or a JIT hook, checked against the arguments."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.conftest import Launch


def test_a_positional_signature_with_constants_is_understood(launch: Launch) -> None:
    body = bodies.vector_add(100)
    del body["compilation"]["constexprs"]
    body["compilation"]["signature"] = "*fp32:16, *fp32:16, *fp32:16, i32, 32"

    assert launch(body)["verdict"] == "passed"


@pytest.mark.parametrize(
    ("signature", "slug", "said"),
    [
        ("*fp32, *fp32, *fp32, i32:16, 32", "hint_violated", "n_elements"),
        ("*fp16, *fp32, *fp32, i32, 32", "invalid_argument", "x_ptr: must be of type *fp16"),
        ("*fp32, *fp32, *fp32, i32, 32, 7", "extra_argument", "6 entries"),
    ],
)
def test_a_positional_signature_that_arguments_break_is_the_launchs_problem(
    launch: Launch, signature: str, slug: str, said: str
) -> None:
    body = bodies.vector_add(100)
    del body["compilation"]["constexprs"]
    body["compilation"]["signature"] = signature

    answer = launch(body)

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == slug
    assert said in answer["problem"]["detail"]


def test_a_finished_compilation_is_launched_by_its_key(launch: Launch, post: Any) -> None:
    compilation = bodies.vector_add(128)["compilation"]
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), "*fp32:16")
    compiled = post(compilation | {"signature": pointers | {"n_elements": "i32:16"}}).json()
    body = bodies.vector_add(128)
    del body["compilation"]

    answer = launch(body | {"compilation_key": compiled["key"]})

    assert compiled["state"] == "succeeded"
    assert answer["verdict"] == "passed"


def test_arguments_that_break_a_hint_of_a_compilation_are_refused(http: Any, post: Any) -> None:
    compilation = bodies.vector_add(128)["compilation"]
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), "*fp32:16")
    compiled = post(compilation | {"signature": pointers | {"n_elements": "i32:16"}}).json()
    body = bodies.vector_add(100) | {"compilation_key": compiled["key"]}
    del body["compilation"]

    answer = http.post("/v1/launches", json=body)

    assert (answer.status_code, answer.json()["slug"]) == (422, "hint_violated")
    assert answer.json()["errors"][0]["pointer"] == "/arguments/n_elements"


def hooked(**changes: Any) -> dict[str, Any]:
    """Return a vector add with the specialization that a JIT hook printed for 128 elements."""
    names = ["x_ptr", "y_ptr", "output_ptr", "n_elements", "BLOCK_SIZE"]
    data = {
        "name": "user.add_kernel",
        "signature": dict(zip(names, ["*fp32", "*fp32", "*fp32", "i32", "constexpr"], strict=True)),
        "constant_keys": [[4]],
        "constant_vals": [32],
        "attrs_keys": [[3]],
        "attrs_vals": [[["tt.divisibility", 16]]],
        "options": {"num_warps": 4},
    }
    body = bodies.vector_add(**changes)
    del body["compilation"]["constexprs"]
    body["compilation"]["specialization_data"] = data
    return body


def test_what_a_jit_hook_printed_is_a_specialization_too(launch: Launch) -> None:
    assert launch(hooked(elements=128))["verdict"] == "passed"


def test_what_a_jit_hook_printed_is_a_promise(http: Any) -> None:
    answer = http.post("/v1/launches", json=hooked(elements=100))

    assert (answer.status_code, answer.json()["slug"]) == (422, "hint_violated")
    assert "/arguments/n_elements: is 100, not a multiple of 16" in answer.json()["detail"]


def test_the_hints_of_a_signature_by_position_are_checked_once_the_source_is_read(
    launch: Launch,
) -> None:
    body = bodies.vector_add(100)
    del body["compilation"]["constexprs"]
    body["compilation"]["signature"] = "*fp32:16, *fp32:16, *fp32:16, i32:16, 32"

    problem = launch(body)["problem"]

    assert problem["slug"] == "hint_violated"
    assert "n_elements: is 100" in problem["detail"]
