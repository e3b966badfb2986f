"""How a launch is printed: like a compiler would, at the line of the kernel or of its reference."""

from typing import Any

from tritonc import (
    Client,
)

from tests.unit.client.fake_tritond import OUT_OF_BOUNDS, FakeTritond, launch, output

SOURCE = "import triton\n@triton.jit\ndef add(x_ptr, n): ...\n"


ADD: dict[str, Any] = {"arguments": {"n": 1000}, "grid": [1]}


def test_a_report_reads_like_a_compilers_output(client: Client, tritond: FakeTritond):
    told = launch(
        verdict="out_of_bounds",
        findings=[OUT_OF_BOUNDS],
        outputs={"z": output(mismatched=9, unwritten=8)},
        seeds={"x": 5},
    )
    tritond.will_answer(told)

    assert client.launch(SOURCE, **ADD).render("add.py") == (
        "add.py:2: out_of_bounds: program (0, 0, 0) reads x_ptr[1000], 1 element past its end\n"
        "    @triton.jit\n"
        "z: 9 of 1000 elements differ; first at [3]: 1.5, expected 2; "
        "largest error 0.5 (rtol 0.0001, atol 1e-05)\n"
        "z: never written: 8 of 1000 elements\n"
        "seeds: x 5\n"
        "verdict: out_of_bounds on the interpreter (61 ms)"
    )


def test_a_report_shows_the_line_of_a_reference_that_failed(client: Client, tritond: FakeTritond):
    said = {"kind": "invalid_reference", "message": "ValueError: shapes", "line": 2}
    told = launch(verdict="invalid_reference", findings=[said | {"file": "reference.py"}])
    tritond.will_answer(told)
    reference = "def reference(x, **_):\n    return x + y\n"

    assert str(client.launch(SOURCE, **ADD, reference=reference)).startswith(
        "reference.py:2: invalid_reference: ValueError: shapes\n    return x + y\n"
    )


def test_a_report_tells_each_case(client: Client, tritond: FakeTritond):
    case = {"index": 0, "name": None, "verdict": "passed", "outputs": {}, "findings": []}
    bad = case | {"name": "odd", "verdict": "mismatch", "outputs": {"z": output(mismatched=1)}}
    counts = {"passed": 1, "mismatch": 1}
    tritond.will_answer(launch(verdict="mismatch", cases=[case, bad], counts=counts))

    lines = str(client.launch(SOURCE, **ADD)).splitlines()

    assert lines[0] == "case 0: passed"
    assert lines[1] == "case 1 (odd): mismatch"
    assert lines[2].startswith("  z: 1 of 1000 elements differ")
    assert lines[3] == "verdict: mismatch on the interpreter (61 ms); 1 passed, 1 mismatch"


def test_a_report_tells_the_time_that_was_measured(client: Client, tritond: FakeTritond):
    timing = {"median_us": 9.8, "p20_us": 9.5, "p80_us": 10, "repeats": 100, "noisy": True}
    device = {"target": "cuda:90", "model": "NVIDIA H200", "interpreter": False}
    tritond.will_answer(launch(device=device, timing=timing | {"bytes_per_s": 1.2e11}))

    assert str(client.launch(SOURCE, **ADD)).splitlines() == [
        "time: median 9.8 us, p20 9.5 us, p80 10 us, 120 GB/s (100 repeats; noisy)",
        "verdict: passed on the NVIDIA H200 (61 ms)",
    ]
