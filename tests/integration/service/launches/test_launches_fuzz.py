"""The check `fuzz` finds faults at inputs that the launch did not try."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output, uniform
from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.fuzzed import (
    SOFTMAX,
    TWICE,
    WRONG,
    elements,
    fuzzed,
    of_rows,
    rows,
)
from tests.integration.service.launches.puzzles import matmul
from tests.integration.service.launches.test_launches_compiled import TTIR, ir_launch


def test_a_scalar_is_infinite_for_the_reference_where_it_is_for_the_kernel(launch: Launch) -> None:
    text = "@triton.jit\ndef kernel(x_ptr, z_ptr, n, factor, BLOCK: tl.constexpr):\n"
    text += "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    text += "    scaled = tl.load(x_ptr + at, at < n) * factor\n"  # 0 times infinity is NaN
    text += "    tl.store(z_ptr + at, tl.where(scaled == scaled, 1.0, 2.0), at < n)\n"
    scaled = "import numpy as np\n\ndef reference(x_ptr, factor, **_):\n"
    scaled += "    return np.where(np.isnan(x_ptr * factor), 2.0, 1.0)\n"
    arguments = {"x_ptr": uniform(200), "z_ptr": output(200), "n": 200, "factor": 1e308}
    body = bodies.written(
        text, arguments, constexprs={"BLOCK": 64}, grid=["cdiv(n, BLOCK)"], reference=scaled
    )

    assert launch(fuzzed(body, seed=3))["verdict"] == "passed"


def test_the_same_seed_tries_the_same_cases(launch: Launch) -> None:
    body = rows("largest_from_zero", of_rows("max"), n_columns=200, arguments={"z_ptr": output(16)})
    chosen = launch(body | {"checks": ["fuzz"]})

    again = launch(fuzzed(body, chosen["fuzz"]["seed"]))

    assert (again["fuzz"], again["findings"]) == (chosen["fuzz"], chosen["findings"])


def test_the_smallest_case_that_fails_is_reported(launch: Launch) -> None:
    body, _ = WRONG["softmax without maximum"]

    [finding] = launch(fuzzed(body))["findings"]

    changed = finding["case"]["arguments"]
    assert changed["n_columns"] == 1
    assert changed["x_ptr"]["shape"] == changed["z_ptr"]["shape"] == [changed["n_rows"], 1]
    assert finding["argument"] == "z_ptr"
    assert finding["message"].endswith("compared elements do not match.")


def test_what_was_varied_and_what_was_not_is_reported(launch: Launch) -> None:
    arguments = {"x_ptr": uniform(4, 60), "z_ptr": output(4, 60), "n": 60, "stride": 60}
    text = "@triton.jit\ndef kernel(x_ptr, z_ptr, n, stride, BLOCK: tl.constexpr):\n"
    text += "    lanes = tl.arange(0, BLOCK)\n    at = tl.program_id(0) * stride + lanes\n"
    text += "    x = tl.load(x_ptr + at, lanes < n)\n    tl.store(z_ptr + at, 2 * x, lanes < n)\n"
    body = bodies.written(
        text, arguments, constexprs={"BLOCK": 64}, grid=[4], reference=TWICE
    )  # fmt: skip

    reported = launch(fuzzed(body, cases=6))["fuzz"]

    assert (reported["cases"], reported["skipped"]) == (6, {})
    assert set(reported["kinds"]) == {"values", "alignment"}
    assert reported["varied"][0].startswith("values of x_ptr: ")
    assert reported["not_varied"][0].startswith("shapes: the grid is a literal")
    assert "strides of x_ptr: no scalars are certain to pass all of them" in reported["not_varied"]


def test_hints_that_were_compiled_in_are_kept(launch: Launch) -> None:
    body, _ = WRONG["one size"]
    hints = {"signature": {"x_ptr": "*fp32:16", "z_ptr": "*fp32:16", "n": "i32:16"}}
    promised = body | {"compilation": body["compilation"] | hints}

    answer = launch(fuzzed(promised))

    assert answer["verdict"] == "mismatch"
    assert answer["findings"][0]["case"]["arguments"]["n"] % 16 == 0


def test_a_promise_of_whole_blocks_of_16_hides_what_is_between(launch: Launch) -> None:
    body = elements("no_mask_at_the_tail", TWICE, 4096)
    body["compilation"] |= {
        "signature": {"x_ptr": "*fp32:16", "z_ptr": "*fp32:16", "n": "i32:16"},
        "constexprs": {"BLOCK": 16},
    }

    answer = launch(fuzzed(body))

    assert answer["verdict"] == "passed"
    assert "alignment" not in answer["fuzz"]["kinds"]


def test_arguments_must_keep_the_promises_of_a_compilation(
    http: httpx.Client, launch: Launch
) -> None:
    body = dict(WRONG["one size"][0])
    signature = {"x_ptr": "*fp32:16", "z_ptr": "*fp32:16", "n": "i32:16"}
    source = body["compilation"] | {"signature": signature}
    compiled = http.post("/v1/compilations", params={"wait": 60}, json=source).json()
    del body["compilation"]

    answer = launch(fuzzed(body | {"compilation_key": compiled["key"]}))

    assert answer["verdict"] == "mismatch"
    assert answer["findings"][0]["case"]["arguments"]["n"] % 16 == 0


@pytest.mark.slow
def test_posted_ir_is_fuzzed_by_position(launch: Launch) -> None:
    right = ir_launch()
    wrong = ir_launch(TTIR.replace("arith.addf", "arith.maximumf"))
    largest = "import numpy as np\n\ndef reference(arg0, arg1, **_):\n"
    wrong["reference"] = {"source": largest + "    return np.maximum(arg0, np.abs(arg1))\n"}

    passed, failed = launch(fuzzed(right)), launch(fuzzed(wrong))

    assert (passed["verdict"], passed["fuzz"]["cases"]) == ("passed", 24)
    assert failed["verdict"] == "mismatch"
    changed = failed["findings"][0]["case"]
    assert "arg1" in changed["arguments"]
    assert launch(wrong | {"cases": [changed]})["verdict"] == "mismatch"


def test_arguments_that_are_fixed_stay(launch: Launch) -> None:
    body = elements("no_mask_at_the_tail", TWICE)

    answer = launch(fuzzed(body, fixed=["n"]))

    assert answer["verdict"] == "passed"
    assert answer["fuzz"]["not_varied"] == ["n: n is fixed"]


def test_a_kernel_without_masks_reads_past_the_end(launch: Launch) -> None:
    [finding] = launch(fuzzed(matmul({})))["findings"]

    assert (finding["kind"], finding["line"] is not None) == ("out_of_bounds", True)
    assert finding["message"].startswith("With M = 1, N = 1, K = 1, ")


@pytest.mark.slow
def test_nan_are_tried_where_the_reference_says_what_they_mean(launch: Launch) -> None:
    text = "@triton.jit\ndef kernel(x_ptr, z_ptr, n, BLOCK: tl.constexpr):\n"
    text += "    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    text += "    x = tl.load(x_ptr + at, at < n)\n"
    text += "    tl.store(z_ptr + at, tl.maximum(x, 0.0), at < n)\n"
    relu = "import numpy\n\ndef reference(x_ptr, **_):\n    return numpy.maximum(x_ptr, 0)\n"
    arguments = {"x_ptr": uniform(1000), "z_ptr": output(1000), "n": 1000}
    body = bodies.written(text, arguments, constexprs={"BLOCK": 128}, grid=["cdiv(n, BLOCK)"])
    plain = body | {"reference": {"source": relu}}
    meant = body | {"reference": {"source": relu, "equal_nan": True}}

    assert launch(fuzzed(plain, cases=60))["verdict"] == "passed"
    answer = launch(fuzzed(meant, cases=60))
    assert answer["verdict"] == "mismatch"
    assert "NaN" in answer["findings"][0]["message"]


def test_a_launch_that_has_not_passed_is_not_fuzzed(launch: Launch) -> None:
    wrong = elements("no_mask_at_the_tail", "def reference(x_ptr, **_):\n    return x_ptr\n")

    answer = launch(fuzzed(wrong))

    assert (answer["verdict"], answer["fuzz"]["cases"]) == ("mismatch", 0)
    assert answer["fuzz"]["not_varied"] == ["anything: the launch itself did not pass"]


def test_a_reference_that_refuses_a_case_says_nothing_of_the_kernel(launch: Launch) -> None:
    picky = "def reference(x_ptr, n, **_):\n    assert n % 128 == 0\n    return 2 * x_ptr\n"

    answer = launch(fuzzed(elements("no_mask_at_the_tail", picky)))

    assert answer["verdict"] == "passed"
    assert answer["fuzz"]["skipped"]["the reference refuses it"] > 0


def test_a_reference_that_takes_its_time_takes_half_of_the_launchs_at_most(launch: Launch) -> None:
    slow = "import time\n\ndef reference(x_ptr, **_):\n    end = time.monotonic() + 1.5\n"
    slow += "    while x_ptr.dtype.itemsize == 8 and time.monotonic() < end:\n        pass\n"
    body = elements("no_mask_at_the_tail", slow + "    return 2 * x_ptr\n", deadline_s=6)

    answer = launch(fuzzed(body))

    [finding] = answer["findings"]
    assert (answer["verdict"], finding["kind"]) == ("not_checked", "check_incomplete")
    assert "there was no time for it" in finding["message"]


def test_with_cases_the_first_one_is_fuzzed(launch: Launch) -> None:
    body, _ = WRONG["one size"]
    cases = [
        {"name": "as posted"},
        {"name": "other numbers", "arguments": {"x_ptr": uniform(98432, seed=3)}},
    ]

    answer = launch(fuzzed(body | {"cases": cases}))

    first, second = answer["cases"]
    assert (answer["verdict"], first["verdict"], second["verdict"]) == (
        "mismatch", "mismatch", "passed",
    )  # fmt: skip
    assert first["fuzz"]["cases"] == 1
    assert second["fuzz"] is None


@pytest.mark.parametrize(
    ("changes", "at"),
    [
        ({"checks": ["memcheck", "fuzz"]}, "/checks/1"),
        ({"checks": ["fuzz"], "reference": {"compilation_key": "0" * 64}}, "/checks/0"),
        ({"fuzz": {"seed": 1}}, "/fuzz"),
        ({"checks": ["fuzz"], "fuzz": {"cases": 101}}, "/fuzz/cases"),
        ({"checks": ["fuzz"], "reference": SOFTMAX, "fuzz": {"fixed": ["m"]}}, "/fuzz/fixed/0"),
    ],
)
def test_what_cannot_be_fuzzed_is_refused_at_its_place(
    http: httpx.Client, changes: dict[str, Any], at: str
) -> None:
    body = bodies.vector_add()
    del body["reference"]
    if isinstance(changes.get("reference"), str):
        changes = changes | {"reference": {"source": changes["reference"]}}

    answer = http.post("/v1/launches", json=body | changes)

    assert answer.status_code == 422
    assert at in [fault["pointer"] for fault in answer.json()["errors"]]


def test_every_device_can_fuzz(http: httpx.Client) -> None:
    schema = http.get("/openapi.json").json()["components"]["schemas"]

    assert "fuzz" in schema["LaunchRequest"]["properties"]["checks"]["items"]["enum"]
    assert "case" in schema["Finding"]["properties"]
    assert schema["Fuzzed"]["properties"]["seed"]
