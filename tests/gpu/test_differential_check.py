"""The check `differential` where a GPU is asked for: three runs of one launch, compared."""

import pytest

from tests.gpu.serving import given, launch_body, out, running

N = 98_432
NOT = """
import triton
import triton.language as tl

@triton.jit
def negated(x_ptr, z_ptr):
    lanes = tl.arange(0, 8)
    x = tl.load(x_ptr + lanes)
    m = not (x > 0)
    tl.store(z_ptr + lanes, tl.where(m, x, -x))
"""
NEGATED = "import numpy\n\ndef reference(x_ptr, **_):\n    return -numpy.abs(x_ptr)\n"


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with running(tmp_path_factory.mktemp("up")) as client:
        yield client


def launched(http, body):
    answer = http.post("/v1/launches?wait=60", json=body | {"checks": ["differential"]})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_a_gpu_a_cpu_and_the_interpreter_make_alike_is_no_finding(http, figure):
    arguments = {
        "x_ptr": given(N, kind="uniform", seed=1), "y_ptr": given(N, kind="normal", seed=2),
        "output_ptr": out(N), "n_elements": N,
    }  # fmt: skip
    body = launch_body(
        "add_kernel",
        arguments,
        grid=["cdiv(n_elements, BLOCK_SIZE)"],
        constexprs={"BLOCK_SIZE": 1024},
    )

    answer = launched(http, body)

    figure(f"{answer['verdict']} {answer['findings']} {answer['timings_ms']}")
    assert not answer["device"]["interpreter"]
    assert (answer["verdict"], answer["findings"]) == ("not_checked", [])


def test_only_the_interpreter_disagrees_about_not(http, figure):
    arguments = {"x_ptr": given(8, kind="normal", seed=3), "z_ptr": out(8)}
    body = launch_body("negated", arguments, reference={"source": NEGATED})
    body["compilation"]["source"] = NOT

    answer = launched(http, body)

    found = [
        finding["message"] for finding in answer["findings"] if finding["kind"] == "disagreement"
    ]
    figure(f"{answer['verdict']} {found}")
    assert answer["verdict"] == "passed"
    assert found
    assert all("on Triton's interpreter" in message for message in found)
