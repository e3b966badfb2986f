"""References in torch: tensors of every type, effectively read-only, in a sandboxed child."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.bodies import good
from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import output
from tests.integration.service.launches.fuzzed import fuzzed, rows

DTYPES = {
    "i1": "bool", "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32",
    "u32": "uint32", "i64": "int64", "u64": "uint64", "fp16": "float16", "bf16": "bfloat16",
    "fp32": "float32", "fp64": "float64", "fp8e4nv": "float8_e4m3fn",
    "fp8e4b8": "float8_e4m3fnuz", "fp8e5": "float8_e5m2", "fp8e5b16": "float8_e5m2fnuz",
}  # fmt: skip
COPY = """
@triton.jit
def kernel(x_ptr, out_ptr):
    lanes = tl.arange(0, 8)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))
"""


def launched(client: httpx.Client, body: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/launches", params={"wait": 60}, json=body)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def in_torch(code: str) -> dict[str, str]:
    return {"language": "torch", "source": "import torch\n" + code}


OF_AMD = {"fp8e4b8", "fp8e5b16"}
"""Types that NVIDIA's GPUs lack, so Triton compiles no kernel with them for one."""


def adding(code: str) -> dict[str, Any]:
    """Return a vector add whose reference runs `code` before it adds."""
    function = f"def reference(x_ptr, y_ptr, n_elements, BLOCK_SIZE):\n    {code}\n"
    return bodies.vector_add(reference=in_torch(function + "    return x_ptr + y_ptr\n"))


def test_torch_is_offered(client: httpx.Client) -> None:
    [toolchain] = client.get("/v1/targets").json()["toolchains"]

    assert toolchain["references"] == ["numpy", "torch"]


def test_a_reference_gets_tensors_and_plain_numbers(client: httpx.Client) -> None:
    code = "assert isinstance(x_ptr, torch.Tensor) and (n_elements, BLOCK_SIZE) == (100, 32)"

    assert launched(client, adding(code))["verdict"] == "passed"


def test_a_reference_in_numpy_still_gets_arrays(client: httpx.Client) -> None:
    assert launched(client, bodies.vector_add())["verdict"] == "passed"


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_tensor_has_its_own_type(client: httpx.Client, dtype: str) -> None:
    x = {"shape": [8], "dtype": dtype, "init": {"kind": "values", "values": [0, 1] * 4}}
    code = f"def reference(x_ptr):\n    assert x_ptr.dtype is torch.{DTYPES[dtype]}\n"
    body = bodies.written(COPY, {"x_ptr": x, "out_ptr": output(8, dtype=dtype)})
    if dtype in OF_AMD:
        body["compilation"]["target"] = "hip:gfx942"

    answer = launched(client, body | {"reference": in_torch(code + "    return x_ptr\n")})

    assert answer["verdict"] == "passed", answer["problem"] or answer["findings"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x_ptr += 1", "changed its input 'x_ptr' in place"),
        ("return x_ptr.view(10, 10)", "shape [10, 10]"),
        ("return torch.complex(x_ptr, y_ptr)", "return booleans, integers or floats"),
        ("return x_ptr.nothing", "no attribute 'nothing'"),
        ("torch.save(x_ptr, '/tmp/x')", "Error"),
        ("torch.compile(torch.sin)(x_ptr)", "Error"),
    ],
)
def test_what_is_wrong_is_reported(client: httpx.Client, code: str, said: str) -> None:
    answer = launched(client, adding(code))

    assert answer["verdict"] == "invalid_reference"
    assert said in answer["findings"][-1]["message"]


@pytest.mark.parametrize(
    "code",
    [
        "a = torch.randn(65, 64) @ torch.randn(64, 65)",
        "a = torch.nn.functional.conv2d(torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3))",
        "a = torch.nn.functional.scaled_dot_product_attention(*torch.randn(3, 1, 8, 8))",
        "a = torch.linalg.svd(torch.randn(8, 8)), torch.fft.fft(x_ptr), torch.sort(x_ptr)",
        "torch.softmax(torch.randn(4, 4, requires_grad=True), -1).sum().backward()",
        "print(x_ptr)",
    ],
)
def test_what_references_use_works_in_its_child(client: httpx.Client, code: str) -> None:
    answer = launched(client, adding(code))

    assert answer["verdict"] == "passed", answer["findings"]


def test_a_case_may_change_the_language(client: httpx.Client) -> None:
    in_tensors = in_torch("def reference(x_ptr, y_ptr, **_):\n    return torch.add(x_ptr, y_ptr)\n")

    answer = launched(client, bodies.vector_add(cases=[{}, {"reference": in_tensors}]))

    assert answer["counts"] == {"passed": 2}


def test_a_source_that_imports_torch_is_compiled_as_everywhere(client: httpx.Client) -> None:
    answer = client.post("/v1/compilations", params={"wait": 60}, json=good("torch_annotations"))

    assert answer.json()["state"] == "succeeded", answer.json()["diagnostics"]


def test_a_kernel_does_not_see_torch(client: httpx.Client) -> None:
    seen = "import sys\nassert 'torch._C' not in sys.modules"

    assert launched(client, bodies.loading(seen))["verdict"] == "not_checked"


def test_a_case_finds_torch_as_in_a_new_process(client: httpx.Client) -> None:
    """One child serves all cases, with no state from earlier ones."""
    text = """
FIRST = torch.rand(2, generator=torch.Generator().manual_seed(torch.initial_seed()))

def reference(x_ptr, y_ptr, **_):
    is_new = torch.get_default_dtype() is torch.float32 and torch.equal(torch.rand(2), FIRST)
    torch.set_default_dtype(torch.float64)
    return x_ptr + y_ptr + (0 if is_new else 1)
"""
    cases = [
        {"arguments": {"x_ptr": {"init": {"kind": "uniform", "seed": seed}}}} for seed in (5, 6, 7)
    ]

    answer = launched(client, bodies.vector_add(reference=in_torch(text), cases=cases))

    assert answer["counts"] == {"passed": 3}, [case["findings"] for case in answer["cases"]]


SOFTMAX = "def reference(x_ptr, **_):\n    return torch.softmax(x_ptr, dim=1)\n"
MIXED = """
def reference(x_ptr, **_):
    same = torch.eye(x_ptr.shape[1], dtype=torch.float16)
    return torch.softmax(x_ptr, dim=1) @ same
"""


def softmax(kernel: str, code: str, dtype: str = "fp32") -> dict[str, Any]:
    arguments = {
        "x_ptr": bodies.uniform(16, 200, dtype=dtype), "z_ptr": output(16, 200, dtype=dtype)
    }  # fmt: skip
    return fuzzed(rows(kernel, in_torch(code), n_columns=200, arguments=arguments))


def test_a_reference_is_fuzzed_in_float64(client: httpx.Client) -> None:
    answer = launched(client, softmax("softmax_without_maximum", SOFTMAX))

    assert (answer["verdict"], answer["fuzz"]["reference"]) == ("mismatch", "float64")
    assert "x_ptr of" in answer["findings"][0]["message"]


@pytest.mark.parametrize("dtype", ["fp32", "fp16", "bf16"])
def test_nothing_is_found_in_a_right_kernel(client: httpx.Client, dtype: str) -> None:
    answer = launched(client, softmax("softmax", SOFTMAX, dtype))

    assert (answer["verdict"], answer["fuzz"]["reference"]) == ("passed", "float64")
    assert answer["fuzz"]["cases"] == 24


def test_a_reference_that_takes_one_type_alone_gets_that(client: httpx.Client) -> None:
    answer = launched(client, softmax("softmax", MIXED, "fp16"))

    assert (answer["verdict"], answer["fuzz"]["reference"]) == ("passed", "as_given")
    assert answer["fuzz"]["cases"] == 24
