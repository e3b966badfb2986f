"""Hot lines and precision loss, over HTTP on a GPU."""

import pytest

from tests.gpu.serving import ROOT, SOURCE, given, launch_body, out, running
from tests.integration.service.launches.precision_bodies import IMPRECISE, PRECISE

N = 98_432
NOTEBOOK = ROOT / "tests" / "kernels" / "good" / "matmul_notebook.py"
SUM = {"source": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"}


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with running(tmp_path_factory.mktemp("up")) as client:
        yield client


@pytest.fixture
def launch(http, figure):
    """Return a function that posts a launch and returns its answer."""

    def post(body):
        answer = http.post("/v1/launches?wait=100", json=body)
        assert answer.status_code == 200, answer.text
        launched = answer.json()
        assert launched["problem"] is None, launched["problem"]
        figure(f"{launched['verdict']} {[one['message'] for one in launched['findings']]}"[:600])
        return launched

    return post


def add(**more):
    arguments = {
        "x_ptr": given(N, kind="uniform", seed=1), "y_ptr": given(N, kind="normal", seed=2),
        "output_ptr": out(N), "n_elements": N,
    }  # fmt: skip
    grid = ["cdiv(n_elements, BLOCK_SIZE)"]
    return launch_body(
        "add_kernel", arguments, grid=grid, constexprs={"BLOCK_SIZE": 1024}, reference=SUM, **more
    )


def notebook_matmul(n):
    strides = {"am": n, "ak": 1, "bk": n, "bn": 1, "cm": n, "cn": 1}
    arguments = {
        "A_ptr": given(n, n, kind="normal", seed=1), "B_ptr": given(n, n, kind="normal", seed=2),
        "C_ptr": out(n, n), "M": n, "N": n, "K": n,
        **{f"stride_{name}": stride for name, stride in strides.items()},
    }  # fmt: skip
    body = launch_body("matmul_kernel", arguments, grid=[n // 64, n // 64],
                       constexprs={"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64})  # fmt: skip
    body["compilation"]["source"] = NOTEBOOK.read_text()
    return body


def test_a_matmul_that_fails_for_its_precision_alone_says_so(launch):
    body = notebook_matmul(128)
    body["reference"] = {
        "source": "def reference(A_ptr, B_ptr, **_):\n    return A_ptr @ B_ptr\n",
        "rtol": 1e-5, "atol": 1e-8,
    }  # fmt: skip
    launched = launch(body)
    comparison = launched["outputs"]["C_ptr"]["comparison"]
    (found,) = launched["findings"]

    assert launched["verdict"] == "mismatch"
    assert found["kind"] == "precision_downgrade"
    assert "TF32" in found["message"]
    assert "tl.dot" in NOTEBOOK.read_text().splitlines()[found["line"] - 1]
    assert "precision_downgrade" in comparison["note"]
    body["reference"] |= {"atol": 1.01 * comparison["max_abs_error"]}
    assert launch(body)["verdict"] == "passed"


@pytest.mark.parametrize("name", [*IMPRECISE, *PRECISE])
def test_precision_is_judged_on_a_gpu_as_on_the_cpu_device(launch, figure, name):
    body = IMPRECISE[name][0] if name in IMPRECISE else PRECISE[name]
    launched = launch(body | {"device": {"target": "cuda:90"}})
    findings = launched["findings"]
    figure(f"{name}: {[one['measure'] for one in findings]}")

    assert launched["verdict"] == "passed"
    assert [one["kind"] for one in findings] == ["precision_downgrade"] * (name in IMPRECISE)
    if findings:
        assert IMPRECISE[name][1] in findings[0]["message"]


def line_of(text):
    lines = SOURCE.splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if text in line]
    return number


@pytest.mark.usefixtures("counters")
def test_the_lines_of_a_profile_are_those_that_take_the_time(launch, figure):
    launched = launch(add(profile="lines"))
    profile = launched["profile"]
    figure(f"{profile['samples']} samples: {profile['lines']}")
    own = [row for row in profile["lines"] if row["line"] is not None]

    assert [one["kind"] for one in launched["findings"]] == []
    assert profile["registers"] > 0
    assert {row["file"] for row in own} == {"user.py"}
    assert sum(row["instructions"] for row in own) > 0.9 * sum(
        row["instructions"] for row in profile["lines"]
    )
    # four warps for each of 97 programs, and 1024 elements for 128 threads
    store = next(row for row in profile["sass"] if "STG" in row["text"])
    assert store["instructions"] == 97 * 4
    assert store["line"] == line_of("tl.store(output_ptr + offsets, x + y, mask=mask)")


@pytest.mark.usefixtures("counters")
def test_a_matmul_waits_in_its_loop(launch, figure):
    body = notebook_matmul(1024) | {"profile": "lines"}
    profile = launch(body)["profile"]
    figure(f"{profile['samples']} samples: {profile['lines'][:4]}")
    first = profile["lines"][0]
    text = NOTEBOOK.read_text().splitlines()

    assert profile["samples"] > 100
    assert first["samples_percent"] > 20
    assert first["top_stall"]
    assert any(word in text[first["line"] - 1] for word in ("tl.load(", "tl.dot("))
