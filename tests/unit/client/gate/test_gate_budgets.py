"""Budgets: kept, broken and not judged."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.unit.client.gate.gate_service import MIX, GateService, gate, resources, write_gate


def checks(service: GateService, capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    """Run the gate; return its checks by metric."""
    capsys.readouterr()
    gate(service, "--json", *argv)
    return {check["metric"]: check for check in json.loads(capsys.readouterr().out)["checks"]}


@pytest.mark.parametrize(
    ("budget", "code"),
    [
        ("registers = 32", 0),
        ("registers = 31", 1),
        ("registers = '<= 32'", 0),
        ("registers = [64, '<= 16']", 1),
        ("registers = '>= 33'", 1),
        ("registers = 31\n[budgets.targets.'cuda:*']\nregisters = 32", 0),
        ("registers = 31\n[budgets.tritons.'3.9.*']\nregisters = 'any'", 0),
        ("registers = 32\n[budgets.targets.'cuda:8*']\nregisters = 1", 0),
        ("occupancy = 0.5", 0),
        ("occupancy = 0.51", 1),
        ("shared_bytes = 1_000", 1),
        ("spills = 'none'", 0),
        ("instructions = 20", 0),
        ("instructions = 19", 1),
        ("code_bytes = 319", 1),
        ("instruction_classes = {tensor = '>= 5', local = 0}", 0),
        ("instruction_classes = {tensor = '>= 6'}", 1),
        ("instruction_classes = 14", 1),
        ("opcodes = {HMMA = '>= 5'}", 0),
        ("opcodes = {HMM = '>= 1'}", 1),
        ("compile_ms = 45", 0),
        ("compile_ms = 44", 1),
    ],
)
def test_a_budget_decides_the_exit_code(service: GateService, budget: str, code: int):
    write_gate(f"[budgets]\n{budget}")

    assert gate(service) == code


def test_spills_name_the_line_with_local_memory(service: GateService, capsys: Any):
    write_gate("[budgets]\nspills = 'none'")
    service.compiled = lambda _: {"resources": resources(spill_store_bytes=8, spill_load_bytes=8)}
    line = {"file": "user.py", "line": 7, "total": 4, "by_class": {"local": 4}}
    service.mix = MIX | {"by_line": [*MIX["by_line"][:1], line]}

    check = checks(service, capsys)["spill_bytes"]

    assert (check["state"], check["told"], check["line"]) == ("broken", "16 is not <= 0", 7)


def test_spills_of_amd_are_registers(service: GateService, capsys: Any):
    write_gate("[budgets]\nspills = 'none'", targets='["hip:gfx942"]')
    spilled = resources("hip:gfx942", vgpr_spills=3, sgpr_spills=2)
    service.compiled = lambda _: {"resources": spilled}

    found = checks(service, capsys)
    assert found["spilled_registers"]["told"] == "3 is not <= 0"
    assert found["spilled_sgprs"]["told"] == "2 is not <= 0"


def test_the_kernels_own_budget_comes_before_that_of_all(service: GateService):
    write_gate("[budgets]\nregisters = 16", "budgets = {registers = 32}")

    assert gate(service) == 0


def test_another_triton_of_the_run_is_compared_with(service: GateService, capsys: Any):
    write_gate("tritons = ['3.6', '3.9']\n[budgets]\ninstructions = '<= 1.5 x triton 3.6'")
    grown = {"file": "user.py", "line": 6, "total": 30, "by_class": {"integer": 30}}
    service.mixes["cuda:90", "3.9.0"] = MIX | {"total": 35, "by_line": [grown, MIX["by_line"][1]]}

    check = checks(service, capsys)["instructions"]

    assert check["told"] == "35 is not <= 30 (1.5 x 20 of Triton 3.6.0)"
    assert check["lines"] == [
        {
            "file": "double.py",
            "line": 6,
            "text": "offsets = tl.arange(0, N)",
            "class": None,
            "before": 15,
            "now": 30,
        }
    ]


def test_a_triton_outside_the_matrix_is_compiled_for_comparison_only(
    service: GateService, capsys: Any
):
    write_gate("tritons = ['3.9']\n[budgets]\ninstructions = '<= triton 3.6'")
    service.mixes["cuda:90", "3.6.0"] = MIX | {"total": 19}

    assert checks(service, capsys)["instructions"]["told"] == (
        "20 is not <= 19 (19 of Triton 3.6.0)"
    )
    service.compiled = lambda posted: {"state": "failed"} if posted["triton"] == "3.6.0" else {}
    assert checks(service, capsys)["instructions"]["state"] == "new"


def test_slack_is_added_to_the_multiple(service: GateService):
    write_gate("tritons = ['3.6', '3.9']\n[budgets]\ninstructions = '<= triton 3.6.0 + 3'")
    service.mixes["cuda:90", "3.9.0"] = MIX | {"total": 23}
    assert gate(service) == 0

    service.mixes["cuda:90", "3.9.0"] = MIX | {"total": 24}
    assert gate(service) == 1


def test_a_kernel_that_does_not_compile_is_broken_at_its_line(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 32")
    diagnostic = {"severity": "error", "message": "no such name", "file": "user.py", "line": 6}
    problem = {"slug": "compile_error", "detail": "no such name"}
    service.compiled = lambda _: {
        "state": "failed",
        "diagnostics": [diagnostic],
        "problem": problem,
    }

    check = checks(service, capsys)["compiles"]

    assert (check["state"], check["told"], check["line"]) == ("failed", "no such name", 6)
    assert gate(service) == 1


def test_a_kernel_that_does_not_fit_is_broken(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 32")
    service.compiled = lambda _: {"resources": resources(fits=False, shared_bytes=70000)}

    assert "70000 of 65536 bytes" in checks(service, capsys)["compiles"]["told"]


def test_an_unreported_value_is_no_kept_budget(service: GateService):
    write_gate("[budgets]\noccupancy = 0.1")
    service.compiled = lambda _: {"resources": resources(occupancy=None)}

    assert gate(service) == 1


def test_a_launch_infers_types_and_its_verdict_counts(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 32")
    text = Path("kernels.toml").read_text().replace("signature = {x_ptr = '*fp32:16'}\n", "")
    launch = "launch = {grid = [1], arguments = {x_ptr = 'fp32[64]:ones:output'}}\n"
    Path("kernels.toml").write_text(text + launch)
    service.launched = lambda posted: {"verdict": "out_of_bounds"}

    check = checks(service, capsys)["verdict"]

    assert check["told"] == "verdict out_of_bounds on the CPU device"
    assert service.requests[0]["compilation"]["constexprs"] == {"N": 64}
    assert gate(service) == 1


def test_a_time_is_broken_only_beyond_both_intervals(service: GateService, capsys: Any):
    write_gate(
        "[budgets]\nmedian_us = '<= 1.05 x baseline'",
        "launch = {grid = [1], device = 'auto', arguments = {x_ptr = 'fp32[64]:ones:output'}}",
    )
    times = {"median_us": 100.0, "interval_us": [98.0, 102.0]}
    gpu = {"target": "cuda:90", "model": "NVIDIA H200"}
    service.launched = lambda _: {"timing": times, "device": gpu}
    assert gate(service, "--update-baseline") == 0

    times.update(median_us=109.0, interval_us=[107.0, 111.0])
    assert gate(service) == 0
    times.update(median_us=109.5, interval_us=[107.5, 111.5])
    assert checks(service, capsys)["median_us"]["told"] == (
        "107.5 is not <= 107.1 (1.05 x 102 of the baseline)"
    )
    gpu["model"] = "NVIDIA A100"
    assert checks(service, capsys)["median_us"]["state"] == "new"


def test_without_a_gpu_a_time_is_not_judged_and_its_baseline_is_kept(
    service: GateService, capsys: Any
):
    write_gate(
        "[budgets]\nmedian_us = '<= 1.05 x baseline'",
        "launch = {grid = [1], arguments = {x_ptr = 'fp32[64]:ones:output'}}",
    )
    on_gpu = {
        "timing": {"median_us": 100.0, "interval_us": [98.0, 102.0]},
        "device": {"target": "cuda:90", "model": "NVIDIA H200", "interpreter": False},
    }
    service.launched = lambda _: on_gpu
    gate(service, "--update-baseline")
    before = Path("kernels.baseline.json").read_bytes()

    service.launched = lambda _: {}
    check = checks(service, capsys)["median_us"]

    assert (check["state"], check["told"]) == (
        "skipped",
        "this ran on the CPU device, which has no times",
    )
    assert gate(service) == 0
    assert gate(service, "--strict") == 1
    assert gate(service, "--update-baseline") == 0
    assert Path("kernels.baseline.json").read_bytes() == before


def test_unreported_instructions_are_no_kept_budget(service: GateService, capsys: Any):
    write_gate("[budgets]\ninstructions = 1_000_000\ninstruction_classes = 9\nregisters = 32")
    service.mix = None

    found = checks(service, capsys)

    assert found["registers"]["state"] == "kept"
    assert found["instructions"]["told"] == "the service does not report instructions for this"
    assert found["instruction_classes.*"]["state"] == "failed"
    assert gate(service) == 1


def test_a_request_refused_by_a_full_queue_is_posted_again(service: GateService):
    write_gate("[budgets]\nregisters = 32", targets='["cuda:80", "cuda:90"]')
    service.refused = {"slug": "queue_full", "status": 503, "retryable": True}
    service.refusals = 3

    assert gate(service) == 0
    assert service.batches == 3


def test_a_request_that_is_always_refused_is_not_judged(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 32")
    service.refused = {"slug": "queue_full", "status": 503, "retryable": True, "detail": "full"}

    assert gate(service) == 2
    assert (
        "the service refused double for cuda:90 with Triton 3.9.0: full" in capsys.readouterr().err
    )


def test_a_lost_worker_is_no_broken_budget(service: GateService):
    write_gate("[budgets]\nregisters = 32")
    lost = {"state": "failed", "problem": {"slug": "worker_lost", "retryable": True}}
    answers = iter([lost, {}])
    service.compiled = lambda _: next(answers)

    assert gate(service) == 0


def test_an_item_too_large_for_a_batch_is_posted_alone(service: GateService):
    write_gate("[budgets]\nregisters = 32", targets='["cuda:80", "cuda:90"]')
    service.is_too_large = True

    assert gate(service) == 0
    assert len(service.made) == 2


def test_an_interrupted_gate_cancels_its_jobs(service: GateService, capsys: Any):
    write_gate("[budgets]\nregisters = 32")
    answer, asked = service.handler, []

    def interrupted(request: httpx.Request) -> httpx.Response:
        asked.append((request.method, request.url.path))
        if request.url.path.endswith("/events"):
            raise KeyboardInterrupt
        found = answer(request)
        if request.url.path.startswith("/v1/batches"):
            body = found.json()
            body["items"] = [item | {"status": 202, "result": None} for item in body["items"]]
            return httpx.Response(200, json=body)
        return found

    service.handler = interrupted

    assert gate(service) == 130
    assert asked[-1] == ("DELETE", "/v1/batches/b1")
    assert "nothing was judged, and pending work was cancelled" in capsys.readouterr().err


@pytest.mark.parametrize(
    "written",
    [
        "'ref.py'",
        "{source = 'ref.py'}",
        "{file = 'ref.py'}",
        "{language = 'torch', source = 'ref.py'}",
    ],
)
def test_a_reference_in_a_file_that_imports_torch_is_sent_as_torch(
    service: GateService, written: str
):
    text = "import torch\ndef reference(x_ptr): return {'x_ptr': torch.ones(64)}\n"
    Path("ref.py").write_text(text)
    write_gate("")
    launch = (
        "launch = {grid = [1], arguments = {x_ptr = 'fp32[64]:ones:output'}, "
        f"reference = {written}, cases = [{{name = 'a', reference = {written}}}]}}\n"
    )
    Path("kernels.toml").write_text(Path("kernels.toml").read_text() + launch)
    posted: list[dict[str, Any]] = []
    service.launched = lambda request: posted.append(request) or {}

    assert gate(service) == 0

    references = [posted[0]["reference"], posted[0]["cases"][0]["reference"]]
    assert references == [{"source": text, "language": "torch"}] * 2
