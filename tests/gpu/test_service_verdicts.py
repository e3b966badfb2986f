"""Kernels that earn every verdict of a launch on a GPU, over HTTP.

test_faults earns `out_of_memory`: a request may not ask for that much.
"""

import json
import re

import pytest

from tests.gpu.serving import ROOT, given, launch_body, out, running

BLOCK = {"BLOCK_SIZE": 1024}
SUM = {"source": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"}
TTIR = ROOT / "tests" / "kernels" / "ir" / "vector_add_with_overflow_checks.ttir"
N = 98_432


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with running(tmp_path_factory.mktemp("up")) as client:
        yield client


@pytest.fixture
def launch(http, figure):
    """Return a function that posts a launch and returns its answer."""

    def post(body, wait=60):
        answer = http.post(f"/v1/launches?wait={wait}", json=body)
        assert answer.status_code == 200, answer.text
        launched = answer.json()
        said = [(one["kind"], one["line"], one["message"]) for one in launched["findings"] or []]
        figure(f"{launched['verdict']} {launched['problem'] or ''} {said}"[:600])
        return launched

    return post


def add(**more):
    arguments = {
        "x_ptr": given(N, kind="uniform", seed=1), "y_ptr": given(N, kind="normal", seed=2),
        "output_ptr": out(N), "n_elements": N,
    }  # fmt: skip
    grid = ["cdiv(n_elements, BLOCK_SIZE)"]
    return launch_body("add_kernel", arguments, grid=grid, **{"constexprs": BLOCK} | more)


def store_at(index, **more):
    return launch_body("store_at", {"output_ptr": out(8), "index": index}, **more)


def matmul(m, n, k, stages):
    arguments = {
        "a_ptr": given(m, 2 * k, dtype="fp16"), "b_ptr": given(2 * k, n, dtype="fp16"),
        "c_ptr": out(m, n), "K": 2 * k,
    }  # fmt: skip
    options = {"num_stages": stages, "num_warps": 8}
    return launch_body(
        "matmul", arguments, constexprs={"M": m, "N": n, "BLOCK_K": k}, options=options
    )


EARNED = {
    "passed": add(reference=SUM),
    "not_checked": add(),
    "mismatch": add(reference={"source": "def reference(x_ptr, **_):\n    return x_ptr\n"}),
    "invalid_reference": add(reference={"source": "def reference(**_):\n    return 1 / 0\n"}),
    "does_not_fit": matmul(256, 128, 128, 4),
    "illegal_access": store_at(8),
    "out_of_bounds": store_at(-1),
    "misaligned_access": launch_body("misaligned", {"output_ptr": out(8)}),
    "assertion_failed": launch_body(
        "assertion", {"x_ptr": given(1, kind="zeros")}, options={"debug": True}
    ),
    "timeout": launch_body(
        "endless",
        {"x_ptr": given(1, kind="zeros", dtype="i32"), "output_ptr": out(1, dtype="i32")},
        timeout_s=1,
    ),
    "crashed": launch_body("trapped", {"output_ptr": out(1, dtype="i32")}),
    "race": launch_body(
        "race_in_shared",
        {"output_ptr": out(128, dtype="i32")},
        constexprs={"BLOCK_SIZE": 128},
        checks=["racecheck"],
    ),
    "uninitialized": launch_body(
        "read_unwritten", {"x_ptr": out(8), "output_ptr": out(1)}, checks=["initcheck"]
    ),
    "input_modified": launch_body("spoil_input", {"x_ptr": given(4), "output_ptr": out(1)}),
    "nondeterministic": launch_body(
        "tickets",
        {
            "counter_ptr": given(1, kind="zeros", dtype="i32"),
            "output_ptr": out(20_000, dtype="i32"),
        },
        grid=[20_000],
        checks=["determinism"],
    ),
}
EARNED["nondeterministic"]["arguments"]["counter_ptr"]["output"] = True


@pytest.mark.parametrize("verdict", EARNED)
def test_a_kernel_earns(launch, verdict):
    launched = launch(EARNED[verdict])

    assert launched["verdict"] == verdict, launched
    if verdict == "nondeterministic":
        assert [one["argument"] for one in launched["findings"]] == ["output_ptr"]
    if verdict in {"race", "uninitialized", "assertion_failed"}:
        assert launched["findings"][0]["line"] is not None


def test_memcheck_names_the_line_of_an_illegal_access(launch):
    launched = launch(store_at(8, checks=["memcheck"]))

    assert launched["verdict"] == "illegal_access"
    first = launched["findings"][0]
    assert (first["kind"], first["argument"], first["index"]) == (
        "out_of_bounds",
        "output_ptr",
        [8],
    )
    assert first["line"] is not None


def test_the_line_of_a_fault_follows_as_an_event_and_in_the_record(http, launch):
    launched = launch(store_at(8))
    assert launched["findings"][0]["line"] is None

    reported = http.get(f"{launched['url']}/events").text
    (data,) = re.findall(r"event: finding\ndata: (.*)\n", reported)
    found = json.loads(data)
    again = http.get(launched["url"]).json()

    assert reported.index("event: finished") < reported.index("event: finding")
    assert (found["argument"], found["index"], found["case"]) == ("output_ptr", [8], None)
    assert again["findings"][0]["line"] == found["line"] is not None
    assert again["verdict"] == "illegal_access"


def test_the_case_of_a_fault_is_named(http, launch):
    body = store_at(3) | {"cases": [{"arguments": {"index": 4}}, {"arguments": {"index": 9}}]}
    launched = launch(body)

    reported = http.get(f"{launched['url']}/events").text
    (data,) = re.findall(r"event: finding\ndata: (.*)\n", reported)

    assert launched["counts"] == {"not_checked": 1, "illegal_access": 1}
    assert (json.loads(data)["case"], json.loads(data)["index"]) == (1, [9])


@pytest.mark.usefixtures("counters")
def test_a_profile_comes_with_the_launch(launch, figure):
    profile = launch(add(profile=True, reference=SUM))["profile"]
    figure(f"{profile}")

    assert profile["registers"] > 0
    assert profile["stalls"]


def test_fresh_inputs_are_counted(launch):
    body = add(reference=SUM) | {"timing": {"fresh_inputs": True, "min_repeats": 10, "max_ms": 50}}
    launched = launch(body)

    assert (launched["verdict"], launched["timing"]["input_sets"]) == ("passed", 10)


def test_the_device_says_what_can_be_asked_of_it(http):
    (device,) = http.get("/v1/devices").json()["devices"]

    everywhere, tools = (
        {"determinism", "fuzz", "proof"},
        {"memcheck", "racecheck", "initcheck"},
    )
    assert set(device["checks"]) == everywhere | tools
    assert device["profile"] is True


def test_the_walls_of_the_launcher_are_reported(http):
    reports = http.get("/v1/system").json()["sandbox"]
    (launcher,) = [one for one in reports.values() if one.get("level") == "launcher"]

    assert {"landlock", "seccomp", "capabilities", "no_new_privs"} <= set(launcher["layers"])


def test_the_vector_add_of_the_tutorial_is_right_to_the_last_bit(launch):
    body = add(reference=SUM | {"rtol": 0, "atol": 0})
    comparison = launch(body)["outputs"]["output_ptr"]["comparison"]

    assert (comparison["matches"], comparison["max_abs_error"]) == (True, 0)


def test_posted_ttir_adds_two_vectors(launch):
    body = add()
    body["compilation"] = {
        "ir": {"language": "ttir", "text": TTIR.read_text()}, "target": "cuda:90"
    }  # fmt: skip
    named = body["arguments"]
    body |= {
        "grid": [97],
        "arguments": list(named.values()),
        "reference": {
            "source": "def reference(arg0, arg1, **_):\n    return arg0 + arg1\n",
            "rtol": 0, "atol": 0,
        },
    }  # fmt: skip
    launched = launch(body)

    assert launched["verdict"] == "passed", launched
    assert launched["outputs"]["arg2"]["comparison"]["max_abs_error"] == 0


def test_a_kernel_is_a_reference_for_another(http, launch):
    first = launch(add(reference=SUM))
    body = add(reference={"compilation_key": first["compilation"]["key"]})

    assert launch(body)["verdict"] == "passed"


NAN = "import numpy\n\ndef reference(**_):\n    return numpy.full(8, numpy.nan)\n"
POISON = "import numpy\n\ndef reference(x_ptr, **_):\n    return x_ptr\n"


def test_what_was_not_written_is_no_nan_that_was_expected(launch):
    launched = launch(store_at(3, reference={"source": NAN, "equal_nan": True}))

    comparison = launched["outputs"]["output_ptr"]["comparison"]
    assert launched["verdict"] == "mismatch"
    assert (comparison["unwritten"], comparison["mismatched"]) == (7, 8)


@pytest.mark.parametrize(("written", "verdict"), [(8, "passed"), (5, "mismatch")])
def test_a_byte_that_equals_the_poison_matches_where_it_was_written(launch, written, verdict):
    arguments = {
        "x_ptr": given(8, kind="full", value=-85, dtype="i8"), "output_ptr": out(8, dtype="i8"),
        "n_elements": written,
    }  # fmt: skip
    reference = {"source": POISON, "atol": 1e300, "max_mismatched_ratio": 1}

    launched = launch(launch_body("copy_bytes", arguments, reference=reference))

    assert launched["verdict"] == verdict
    assert launched["outputs"]["output_ptr"]["summary"]["unwritten"] == 8 - written


def test_an_output_without_elements_has_not_passed(launch):
    arguments = {
        "x_ptr": given(0, kind="zeros", dtype="i8"), "output_ptr": out(0, dtype="i8"),
        "n_elements": 0,
    }  # fmt: skip

    launched = launch(launch_body("copy_bytes", arguments, reference={"source": POISON}))

    assert launched["verdict"] == "not_checked"
    assert launched["findings"][0]["kind"] == "not_checked"
