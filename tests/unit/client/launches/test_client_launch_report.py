"""Launch reports look like compiler output, at lines of the kernel or its reference."""

from typing import Any

import pytest
from tritonc import Client, LaunchFailed

from tests.unit.client.fake_tritond import OUT_OF_BOUNDS, FakeTritond, failure, launch, output

SOURCE = "import triton\n@triton.jit\ndef add(x_ptr, n): ...\n"


ADD: dict[str, Any] = {"arguments": {"n": 1000}, "grid": [1]}


def test_a_report_reads_like_a_compilers_output(client: Client, tritond: FakeTritond):
    reported = launch(
        verdict="out_of_bounds",
        findings=[OUT_OF_BOUNDS],
        outputs={"z": output(mismatched=9, unwritten=8)},
        seeds={"x": 5},
    )
    tritond.will_answer(reported)

    assert client.launch(SOURCE, **ADD).render("add.py") == (
        "add.py:2: out_of_bounds: program (0, 0, 0) reads x_ptr[1000], 1 element past its end\n"
        "    @triton.jit\n"
        "z: 9 of 1000 elements differ; first at [3]: 1.5, expected 2; "
        "largest error 0.5 (rtol 0.0001, atol 1e-05)\n"
        "z: never written: 8 of 1000 elements\n"
        "seeds: x 5\n"
        "verdict: out_of_bounds on the CPU device (61 ms)"
    )


def test_a_store_out_of_bounds_explains_what_is_never_written(client: Client, tritond: FakeTritond):
    outside = OUT_OF_BOUNDS | {"access": "write"}
    outputs = {"z": output(mismatched=8, unwritten=8)}
    reported = launch(verdict="out_of_bounds", findings=[outside], outputs=outputs)
    tritond.will_answer(reported)

    assert "never written" not in client.launch(SOURCE, **ADD).render("add.py")


def test_a_report_names_the_file_of_a_reference(client: Client, tritond: FakeTritond):
    wrong = {"kind": "invalid_reference", "message": "line 2: ValueError", "line": 2}
    findings = [wrong | {"file": "reference.py"}]
    tritond.will_answer(launch(verdict="invalid_reference", findings=findings))

    report = client.launch(SOURCE, **ADD, reference="def reference(x, **_):\n    return x\n")

    assert report.render("add.py", "sum.py").startswith("sum.py:2: invalid_reference: ValueError")


def test_a_report_shows_the_line_of_a_reference_that_failed(client: Client, tritond: FakeTritond):
    said = {"kind": "invalid_reference", "message": "ValueError: shapes", "line": 2}
    reported = launch(verdict="invalid_reference", findings=[said | {"file": "reference.py"}])
    tritond.will_answer(reported)
    reference = "def reference(x, **_):\n    return x + y\n"

    assert str(client.launch(SOURCE, **ADD, reference=reference)).startswith(
        "reference.py:2: invalid_reference: ValueError: shapes\n    return x + y\n"
    )


def test_a_report_shows_each_case(client: Client, tritond: FakeTritond):
    case = {"index": 0, "name": None, "verdict": "passed", "outputs": {}, "findings": []}
    bad = case | {"name": "odd", "verdict": "mismatch", "outputs": {"z": output(mismatched=1)}}
    counts = {"passed": 1, "mismatch": 1}
    tritond.will_answer(launch(verdict="mismatch", cases=[case, bad], counts=counts))

    lines = str(client.launch(SOURCE, **ADD)).splitlines()

    assert lines[0] == "case 0: passed"
    assert lines[1] == "case 1 (odd): mismatch"
    assert lines[2].startswith("  z: 1 of 1000 elements differ")
    assert lines[3] == "verdict: mismatch on the CPU device (61 ms); 1 passed, 1 mismatch"


def test_a_report_shows_the_measured_time(client: Client, tritond: FakeTritond):
    timing = {"median_us": 9.8, "p20_us": 9.5, "p80_us": 10, "repeats": 100, "noisy": True}
    device = {"target": "cuda:90", "model": "NVIDIA H200", "interpreter": False}
    tritond.will_answer(launch(device=device, timing=timing | {"bytes_per_s": 1.2e11}))

    assert str(client.launch(SOURCE, **ADD)).splitlines() == [
        "time: median 9.8 us, p20 9.5 us, p80 10 us, 120 GB/s (100 repeats; noisy)",
        "verdict: passed on the NVIDIA H200 (61 ms)",
    ]


def test_a_report_shows_an_impossible_time(client: Client, tritond: FakeTritond):
    timing = {"median_us": 3.5, "repeats": 100, "plausible": False, "floor_us": 35.4}
    device = {"target": "cuda:90", "model": "NVIDIA H200", "interpreter": False}
    tritond.will_answer(launch(device=device, timing=timing))

    assert str(client.launch(SOURCE, **ADD)).splitlines()[0] == (
        "time: median 3.5 us (100 repeats; impossible: 35.4 us is the minimum)"
    )


def test_a_report_names_the_cpu_device(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch())

    reported = str(client.launch(SOURCE, **ADD)).splitlines()[-1]

    assert reported == "verdict: passed on the CPU device (61 ms)"


def test_what_the_compiler_said_is_reported_once(client: Client, tritond: FakeTritond):
    why = {"slug": "compile_error", "detail": "user.py:12: name 'maks' is not defined"}
    tritond.will_answer(launch("failed", problem=why, compilation=failure()))

    with pytest.raises(LaunchFailed) as failed:
        client.launch(SOURCE, **ADD)

    assert failed.value.launch.render("add.py") == (
        "add.py:12:40: error: name 'maks' is not defined\n"
        "        x = tl.load(x_ptr + offsets, mask=maks)\n"
        f"    {' ' * 39}^\n"
        "  hint: did you mean 'mask'?\n"
        "compile_error (stages reached: source)\n"
        "failed: compile_error (61 ms)"
    )


def test_what_the_compiler_said_of_a_case_is_reported_once(client: Client, tritond: FakeTritond):
    why = {"slug": "compile_error", "detail": "user.py:12: name 'maks' is not defined"}
    said = {
        "kind": "does_not_compile",
        "message": "name 'maks' is not defined",
        "file": "user.py",
        "line": 2,
        "diagnostics": failure()["diagnostics"],
    }
    cases = [{"verdict": "passed"}, {"verdict": None, "problem": why, "findings": [said]}]
    counts = {"passed": 1, "failed": 1}
    reported = launch(verdict="passed", cases=cases, counts=counts, compilation=failure())
    tritond.will_answer(reported)

    report = client.launch(SOURCE, **ADD).render("add.py")

    assert report.splitlines()[:3] == [
        "case 0: passed",
        "case 1: did not run",
        "  add.py:12:40: error: name 'maks' is not defined",
    ]
    assert report.count("is not defined") == 1


def test_another_problem_than_the_compilers_is_reported_beside_it(
    client: Client, tritond: FakeTritond
):
    why = {"slug": "worker_lost", "detail": "its worker is gone"}
    tritond.will_answer(launch("failed", problem=why, compilation=failure()))

    with pytest.raises(LaunchFailed, match=r"^error: its worker is gone\nuser\.py:12:"):
        client.launch(SOURCE, **ADD)


def test_a_report_shows_the_lines_that_take_the_time(client: Client, tritond: FakeTritond):
    def hot(line: int | None, percent: float, stall: str | None) -> dict[str, Any]:
        file = None if line is None else "user.py"
        return {"file": file, "line": line, "samples_percent": percent, "top_stall": stall}

    lines = [hot(3, 90.5, "long_scoreboard"), hot(None, 9.0, None), hot(2, 0.5, "wait")]
    tritond.will_answer(launch(verdict="passed", profile={"samples": 318, "lines": lines}))

    reported = client.launch(SOURCE, **ADD).render("add.py").splitlines()

    assert reported[:3] == [
        "hot lines (318 samples):",
        "   90.5 %  add.py:3  def add(x_ptr, n): ...  [long_scoreboard]",
        "    9.0 %  no line of the source",
    ]
    assert len(reported) == 4


def test_a_profile_without_lines_says_nothing_of_them(client: Client, tritond: FakeTritond):
    tritond.will_answer(launch(verdict="passed", profile={"registers": 26, "lines": None}))

    assert "hot lines" not in str(client.launch(SOURCE, **ADD))


def test_a_report_says_how_a_launch_was_fuzzed(client: Client, tritond: FakeTritond):
    fuzz = {
        "seed": 7, "cases": 24, "kinds": {"shapes": 11, "values": 9}, "varied": ["n: 1, 129"],
        "not_varied": ["K: it equals the constexpr D = 64 and may depend on it"],
        "skipped": {"the reference refuses it": 2},
    }  # fmt: skip
    tritond.will_answer(launch(verdict="passed", fuzz=fuzz))

    assert str(client.launch(SOURCE, **ADD)).splitlines()[:-1] == [
        "fuzz: 24 cases, shapes in 11, values in 9 (seed 7; 2 more are inconclusive)",
        "  varied: n: 1, 129",
        "  not varied: K: it equals the constexpr D = 64 and may depend on it",
    ]
