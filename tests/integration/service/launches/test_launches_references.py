"""References: their arguments, allowed results, and errors."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.cases import slow_except
from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output
from tests.integration.service.launches.conftest import Launch

TWO = """
@triton.jit
def kernel(x_ptr, n, double_ptr, square_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    tl.store(double_ptr + lanes, x * n)
    tl.store(square_ptr + lanes, x * x)
"""


def two_outputs(reference: str | None, **changes: Any) -> dict[str, Any]:
    arguments = {"x_ptr": arange(8), "n": 2, "double_ptr": output(8), "square_ptr": output(8)}
    body = bodies.written(TWO, arguments, reference=reference, **changes)
    body["compilation"]["constexprs"] = {"BLOCK": 8}
    return body


def test_a_reference_returns_a_dict_of_several_outputs(launch: Launch) -> None:
    reference = """
def reference(x_ptr, n, BLOCK):
    assert (n, BLOCK) == (2, 8)
    return {"double_ptr": x_ptr * n, "square_ptr": x_ptr**2}
"""
    assert launch(two_outputs(reference))["verdict"] == "passed"


def test_one_wrong_output_of_two_is_a_mismatch(launch: Launch) -> None:
    reference = "def reference(x_ptr, **_):\n"
    reference += "    return {'double_ptr': x_ptr, 'square_ptr': x_ptr**2}\n"

    answer = launch(two_outputs(reference))

    matches = {name: it["comparison"]["matches"] for name, it in answer["outputs"].items()}
    assert answer["verdict"] == "mismatch"
    assert matches == {"double_ptr": False, "square_ptr": True}


@pytest.mark.parametrize(
    ("equal_nan", "verdict"), [(False, "invalid_reference"), (True, "mismatch")]
)
def test_a_reference_of_only_nan_is_to_blame_unless_nan_is_expected(
    launch: Launch, equal_nan: bool, verdict: str
) -> None:
    source = "def reference(x_ptr, **_):\n"
    source += "    return {'square_ptr': x_ptr**2, 'double_ptr': x_ptr * np.nan}\n"
    reference = {"source": source, "equal_nan": equal_nan}

    answer = launch(two_outputs(None) | {"reference": reference})

    assert answer["verdict"] == verdict
    said = [found["message"] for found in answer["findings"]]
    assert any("only NaN for double_ptr" in each for each in said) is not equal_nan


def test_a_reference_with_some_nan_can_be_missed(launch: Launch) -> None:
    reference = "def reference(x_ptr, **_):\n    some = np.where(x_ptr > 3, np.nan, x_ptr)\n"
    reference += "    return {'square_ptr': some, 'double_ptr': None}\n"

    assert launch(two_outputs(reference))["verdict"] == "mismatch"


def test_an_output_that_the_reference_leaves_out_is_not_compared(launch: Launch) -> None:
    reference = "def reference(x_ptr, **_):\n"
    reference += "    return {'square_ptr': x_ptr**2, 'double_ptr': None}\n"

    answer = launch(two_outputs(reference))

    assert answer["verdict"] == "passed"
    assert answer["outputs"]["double_ptr"]["comparison"] is None


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("def reference(x_ptr, **_):\n    return x_ptr\n", "must return a dict"),
        ("def reference(x_ptr, **_):\n    return {'z': x_ptr}\n", "not an output"),
        ("def reference(x_ptr, **_):\n    return {'double_ptr': x_ptr[:3]}\n", "shape [3]"),
        ("def reference(z_ptr):\n    return {}\n", "'z_ptr', which is not an input"),
        ("def reference(x_ptr, **_):\n    return {'double_ptr': 'x'}\n", "return booleans"),
        (
            "def reference(x_ptr, **_):\n    return {'double_ptr': x_ptr}\n",
            "a dict without the output",
        ),
        ("def other():\n    pass\n", "defines no function 'reference'"),
        ("def reference(:\n", "invalid syntax"),
        ("def reference(x_ptr, **_):\n    x_ptr[0] = 1\n", "read-only"),
        ("def reference(**_):\n    raise SystemExit\n", "SystemExit"),
        (
            "import numpy\ndef reference(x_ptr, **_):\n"
            "    return {'double_ptr': numpy.ma.masked_less(x_ptr, 4), 'square_ptr': None}\n",
            "with 4 masked elements",
        ),
    ],
)
def test_a_wrong_reference_is_reported_with_the_reason(
    launch: Launch, reference: str, said: str
) -> None:
    answer = launch(two_outputs(reference))

    found = answer["findings"][-1]
    assert answer["verdict"] == "invalid_reference"
    assert found["kind"] == "invalid_reference"
    assert said in found["message"]


def test_the_line_of_an_error_in_a_reference_is_its_own(launch: Launch) -> None:
    reference = "def reference(**_):\n    rows = []\n    return rows[0]\n"

    found = launch(two_outputs(reference))["findings"][-1]

    assert (found["file"], found["line"]) == ("reference.py", 3)
    assert found["message"] == "IndexError: list index out of range"


def test_a_reference_that_takes_too_long_is_ended(launch: Launch) -> None:
    endless = "import threading\n\ndef reference(**_):\n    threading.Event().wait()\n"

    answer = launch(two_outputs(endless, timeout_s=2))

    assert answer["verdict"] == "invalid_reference"
    assert "still running" in answer["findings"][-1]["message"]


def test_torch_is_refused_where_no_worker_has_it(http: httpx.Client) -> None:
    in_torch = {"source": "def reference(**_):\n    return {}\n", "language": "torch"}
    body = bodies.vector_add(cases=[{}, {"reference": in_torch}])

    answer = http.post("/v1/launches", json=body)

    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["pointer"] == "/cases/1/reference/language"
    assert "no worker has torch" in error["message"]
    assert "`make torch`" in error["message"]


@pytest.mark.parametrize("statement", ["import torch", "from torch.nn import functional"])
def test_a_numpy_reference_that_imports_torch_learns_where_torch_is_offered(
    launch: Launch, statement: str
) -> None:
    found = launch(two_outputs(f"{statement}\n\ndef reference(**_):\n    return {{}}\n"))[
        "findings"
    ][-1]

    assert (found["kind"], found["line"]) == ("invalid_reference", 1)
    assert '"language": "torch"' in found["message"]
    assert "no worker has torch: write the reference with NumPy, or install" in found["message"]
    assert "GET /v1/targets" in found["message"]
    assert "Absent" not in found["message"]


def test_a_library_that_references_do_not_have_is_reported_with_those_they_have(
    launch: Launch,
) -> None:
    text = "def reference(**_):\n    import scipy.special\n    return {}\n"

    found = launch(two_outputs(text))["findings"][-1]

    assert found["line"] == 2
    assert "No module named 'scipy" in found["message"]
    assert "only NumPy and the standard library" in found["message"]


def test_targets_say_what_references_may_be_written_with(http: httpx.Client) -> None:
    [toolchain] = http.get("/v1/targets").json()["toolchains"]

    assert toolchain["references"] == ["numpy"]


@pytest.mark.parametrize(
    ("more", "verdict"),
    [
        ({}, "mismatch"),
        ({"atol": 1}, "passed"),
        ({"rtol": 0.5}, "passed"),
        ({"max_mismatched_ratio": 0.125}, "passed"),
        ({"max_mismatched_ratio": 0.1}, "mismatch"),
    ],
)
def test_an_output_may_differ_within_its_tolerance(
    launch: Launch, more: dict[str, float], verdict: str
) -> None:
    one_off = """
def reference(x_ptr, **_):
    expected = x_ptr * 2
    expected[7] += 1
    return {"double_ptr": expected, "square_ptr": None}
"""
    body = two_outputs(one_off)
    body["reference"] |= more

    assert launch(body)["verdict"] == verdict


def test_nan_matches_nan_only_if_that_is_wanted(launch: Launch) -> None:
    code = "@triton.jit\ndef kernel(out_ptr):\n    tl.store(out_ptr, float('nan'))\n"
    code += "    tl.store(out_ptr + 1, 1.0)\n"
    nan = {"source": "import numpy\n\ndef reference():\n    return numpy.array([numpy.nan, 1])\n"}
    body = bodies.written(code, {"out_ptr": output(2)})

    assert launch(body | {"reference": nan})["verdict"] == "mismatch"
    assert launch(body | {"reference": nan | {"equal_nan": True}})["verdict"] == "passed"


def compiled_adder(post: Any, operator: str) -> str:
    """Return the key of a finished compilation of a kernel like the vector add."""
    text = bodies.source("vector_add").replace("x + y", f"x {operator} y")
    text = text.replace("def add_kernel", "def simple_kernel").replace("BLOCK_SIZE", "SIZE")
    pointers = dict.fromkeys(("x_ptr", "y_ptr", "output_ptr"), "*fp32:16")
    request = {"source": text, "target": "cuda:90", "constexprs": {"SIZE": 64}}
    answer = post(request | {"signature": pointers | {"n_elements": "i32"}}).json()
    assert answer["state"] == "succeeded", answer["problem"]
    key: str = answer["key"]
    return key


@pytest.mark.parametrize(("operator", "verdict"), [("+", "passed"), ("-", "mismatch")])
def test_another_kernel_may_be_the_reference(
    launch: Launch, post: Any, operator: str, verdict: str
) -> None:
    reference = {
        "compilation_key": compiled_adder(post, operator),
        "grid": ["cdiv(n_elements, SIZE)"],
    }

    answer = launch(bodies.vector_add(100, reference=reference))

    assert answer["verdict"] == verdict
    assert answer["outputs"]["output_ptr"]["comparison"]["matches"] is (verdict == "passed")


@pytest.mark.parametrize("dtype", slow_except(["fp8e5"], ["bf16", "fp8e5", "i32", "i1"]))
def test_a_kernel_is_a_reference_for_every_dtype(launch: Launch, post: Any, dtype: str) -> None:
    code = bodies.HEADER + "@triton.jit\ndef kernel(x_ptr, out_ptr):\n"
    code += "    lanes = tl.arange(0, 8)\n"
    code += "    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))\n"
    signature = {"x_ptr": f"*{dtype}", "out_ptr": f"*{dtype}"}
    compiled = post({"source": code, "signature": signature, "target": "cuda:90"}).json()
    x = {"shape": [8], "dtype": dtype, "init": {"kind": "values", "values": [0, 1] * 4}}
    body = bodies.launch(code, "kernel", {"x_ptr": x, "out_ptr": output(8, dtype=dtype)})

    answer = launch(body | {"reference": {"compilation_key": compiled["key"]}})

    assert answer["verdict"] == "passed", answer


def test_a_reference_kernel_that_goes_wrong_is_no_reference(launch: Launch, post: Any) -> None:
    reference = {"compilation_key": compiled_adder(post, "+"), "grid": [1]}

    unwritten = launch(bodies.vector_add(100, reference=reference))
    small = bodies.vector_add(
        100, reference=reference, arguments={"x_ptr": arange(10), "n_elements": 100}
    )

    assert unwritten["verdict"] == "mismatch"
    assert launch(small)["verdict"] == "invalid_reference"


def test_a_reference_kernel_must_be_able_to_take_the_arguments(
    http: httpx.Client, post: Any
) -> None:
    reference = {"compilation_key": compiled_adder(post, "+")}
    arguments = {"x_ptr": arange(100, dtype="fp16")}

    answer = http.post(
        "/v1/launches", json=bodies.vector_add(reference=reference, arguments=arguments)
    )

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/reference/compilation_key"
    assert "/arguments/x_ptr" in answer.json()["detail"]


def test_a_reference_kernel_must_exist(http: httpx.Client) -> None:
    reference = {"compilation_key": "0" * 64}

    answer = http.post("/v1/launches", json=bodies.vector_add(reference=reference))

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/reference/compilation_key"
