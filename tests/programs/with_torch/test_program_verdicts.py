"""From POST to verdict with a real worker: right and wrong programs in all forms."""

from __future__ import annotations

import httpx
import pytest

from programs.program_request import EXAMPLE, FUNCTION_EXAMPLE
from tests.programs.with_torch.evaluating import evaluate

SOURCE = EXAMPLE["source"]
REFERENCE = EXAMPLE["reference"]["source"]
LOAD = "y = tl.load(y_ptr + offsets, mask=mask)"
UNMASKED = "y = tl.load(y_ptr + offsets)"
ONES = {"source": "import torch\n\ndef get_inputs():\n    return [torch.ones(7), torch.ones(7)]\n"}


def line_of(source: str, words: str) -> int:
    return next(at for at, line in enumerate(source.split("\n"), 1) if words in line)


def test_a_model_that_does_what_its_reference_does_has_passed(programs: httpx.Client) -> None:
    program = evaluate(programs, SOURCE, REFERENCE)
    assert (program["state"], program["verdict"]) == ("completed", "passed"), program
    assert program["flags"] == []
    assert program["outputs"]["0"]["comparison"]["matches"]
    assert program["reward"] == {
        "compiled": True, "correct": True, "speedup": None, "coverage": 1.0, "flags": [],
        "serious": [],
    }  # fmt: skip
    [kernel] = program["kernels"]
    assert (kernel["name"], kernel["launches"], kernel["problem"]) == ("add_kernel", 1, None)
    compilation = programs.get(kernel["compilation_url"]).json()
    assert compilation["parameters"][0]["hints"] == ["divisible_by_16"]


def test_a_model_that_does_something_else_does_not_match(programs: httpx.Client) -> None:
    program = evaluate(programs, SOURCE.replace("x + y, mask", "x - y, mask"), REFERENCE)
    assert program["verdict"] == "mismatch", program
    assert program["reward"]["compiled"]
    assert not program["reward"]["correct"]


def test_a_function_is_called_with_inputs_that_neither_program_says(programs: httpx.Client) -> None:
    answer = programs.post("/v1/programs?wait=60", json=FUNCTION_EXAMPLE, timeout=90).json()
    assert answer["verdict"] == "passed", answer


def test_without_a_reference_nothing_is_compared(programs: httpx.Client) -> None:
    program = evaluate(programs, SOURCE, inputs=ONES)
    assert program["verdict"] == "not_checked", program
    assert program["outputs"]["0"]["summary"]["mean"] == 2.0


def test_inputs_that_hide_a_kept_result_are_reported(programs: httpx.Client) -> None:
    equal = evaluate(programs, SOURCE, REFERENCE, inputs=ONES)
    drawn = evaluate(programs, SOURCE, REFERENCE)
    assert (equal["verdict"], drawn["verdict"]) == ("passed", "passed"), equal
    assert "Both calls get the same inputs" in equal["warnings"][0]
    assert drawn["warnings"] == []


def test_a_script_runs_as_it_stands(programs: httpx.Client) -> None:
    script = SOURCE + ("\n\nx = torch.arange(100.0, device='cuda')\ndoubled = ModelNew()(x, x)\n")
    entry = {"kind": "script", "outputs": ["doubled"]}
    program = evaluate(programs, script, entry=entry)
    assert program["verdict"] == "not_checked", program
    assert program["outputs"]["doubled"]["summary"]["max"] == 198.0


def test_an_access_out_of_bounds_is_found_at_the_kernel_s_line(programs: httpx.Client) -> None:
    source = SOURCE.replace(LOAD, UNMASKED)
    program = evaluate(programs, source, REFERENCE)
    assert program["verdict"] == "out_of_bounds", program
    finding = program["findings"][0]
    assert (finding["file"], finding["line"]) == ("user.py", line_of(source, "y = tl.load"))


def test_a_kernel_that_does_not_compile_is_a_problem_at_its_line(programs: httpx.Client) -> None:
    source = SOURCE.replace("x + y, mask", "x + tl.nothing(y), mask")
    program = evaluate(programs, source, REFERENCE)
    assert (program["state"], program["verdict"]) == ("failed", None), program
    problem = program["problem"]
    assert (problem["slug"], problem["program"]) == ("compile_error", "candidate")
    assert (problem["file"], problem["line"]) == ("user.py", line_of(source, "tl.nothing"))
    assert program["kernels"][0]["problem"]["slug"] == "compile_error"
    assert program["reward"] == {
        "compiled": False, "correct": False, "speedup": None, "coverage": None, "flags": [],
        "serious": [],
    }  # fmt: skip


def test_a_kernel_that_does_not_compile_has_the_hint_in_its_problem(
    programs: httpx.Client,
) -> None:
    program = evaluate(programs, SOURCE.replace("tl.arange", "tl.arnge"), REFERENCE)
    assert program["problem"]["detail"].endswith("'arnge'. Did you mean tl.arange?"), program


def test_what_depends_on_a_value_is_not_recordable_and_flagged(programs: httpx.Client) -> None:
    source = SOURCE.replace(
        "        output =", "        if x.sum() > 0:\n            y = y + 1\n        output ="
    )
    program = evaluate(programs, source, REFERENCE)
    assert program["problem"]["slug"] == "not_recordable", program
    assert program["problem"]["reason"] == "value_dependent"
    [flag] = program["flags"]
    assert (flag["kind"], flag["line"]) == ("value_dependent", line_of(source, "x.sum()"))


@pytest.mark.parametrize(
    ("returned", "kind"),
    [
        ("output[:2]", "wrong_shape"),
        ("output.to(torch.float64)", "wrong_dtype"),
        ("(output, output)", "wrong_structure"),
    ],
)
def test_an_output_of_another_kind_is_a_mismatch(
    programs: httpx.Client, returned: str, kind: str
) -> None:
    program = evaluate(programs, SOURCE.replace("return output", f"return {returned}"), REFERENCE)
    assert program["verdict"] == "mismatch", program
    assert kind in [finding["kind"] for finding in program["findings"]]


def test_each_case_has_its_own_verdict(programs: httpx.Client) -> None:
    def inputs(size: int) -> dict[str, str]:
        made = f"torch.randn({size}, device='cuda')"
        return {"source": f"import torch\n\ndef get_inputs():\n    return [{made}, {made}]\n"}

    cases = [{"name": "even", "inputs": inputs(2048)}, {"name": "odd", "inputs": inputs(1000)}]
    source = SOURCE.replace("mask = offsets < n_elements", "mask = offsets < 2048")
    program = evaluate(programs, source, REFERENCE, cases=cases)
    found = [(case["name"], case["verdict"]) for case in program["cases"]]
    assert found == [("even", "passed"), ("odd", "out_of_bounds")], program
    assert (program["verdict"], program["counts"]) == (
        "out_of_bounds", {"passed": 1, "out_of_bounds": 1},
    )  # fmt: skip


def test_a_program_that_is_right_for_few_values_fails_a_later_trial(programs: httpx.Client) -> None:
    """Inputs of seed 39 are below 1; those of its second trial are not."""
    inputs = "def get_inputs():\n    return [torch.randn(1, device='cuda'), torch.zeros(1)]\n"
    reference = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x, y):\n"
    reference += f"        return x + y.cuda()\n\n{inputs}"
    source = SOURCE.replace("x + y, mask", "tl.where(tl.abs(x) > 1, 0.0, x + y), mask")
    found = [evaluate(programs, source, reference, trials=trials, seed=39) for trials in (1, 3)]
    assert [program["verdict"] for program in found] == ["passed", "mismatch"], found
    assert found[1]["warnings"] == [
        "Trial 2 is the first that failed. The outputs and findings shown are those of its two "
        "calls, with the seeds 41 and 42."
    ]
    assert not found[1]["reward"]["correct"]


def test_a_program_may_pass_all_its_trials(programs: httpx.Client) -> None:
    program = evaluate(programs, SOURCE, REFERENCE, trials=3)
    assert (program["verdict"], program["warnings"]) == ("passed", []), program
    assert program["counts"] == {"passed": 1}


def test_a_kernel_in_a_further_file_is_compiled_and_found_there(programs: httpx.Client) -> None:
    kernel, _, model = SOURCE.partition("class ModelNew")
    source = "import torch\nimport triton\nfrom ops import adding\n\nclass ModelNew" + model
    source = source.replace("add_kernel[grid]", "adding.add_kernel[grid]")
    files = {
        "ops/__init__.py": "",
        "ops/adding.py": kernel.replace(LOAD, UNMASKED),
    }
    program = evaluate(programs, source, REFERENCE, files=files)
    assert program["verdict"] == "out_of_bounds", program
    assert program["kernels"][0]["file"] == "ops/adding.py"
    assert program["findings"][0]["file"] == "ops/adding.py"
    assert program["findings"][0]["line"] == line_of(files["ops/adding.py"], "y = tl.load")


def test_a_program_stops_after_its_kernels_in_all_variants(programs: httpx.Client) -> None:
    configs = "[triton.Config({'BLOCK_SIZE': size}) for size in (64, 128)]"
    tuned = f"@triton.autotune({configs}, key=[])\n@triton.jit"
    source = SOURCE.replace("@triton.jit", tuned).replace(", BLOCK_SIZE=1024)", ")")
    program = evaluate(programs, source, inputs=ONES, stop_after="kernels", target="cuda:80")
    assert (program["state"], program["verdict"]) == ("completed", None), program
    assert [kernel["launches"] for kernel in program["kernels"]] == [1, 0]
    targets = [programs.get(one["compilation_url"]).json()["target"] for one in program["kernels"]]
    assert targets == ["cuda:80", "cuda:80"]


def test_a_reference_that_cannot_be_recorded_is_named(programs: httpx.Client) -> None:
    program = evaluate(programs, SOURCE, "class Model:\n    pass\n")
    assert (program["problem"]["slug"], program["problem"]["program"]) == (
        "not_recordable",
        "reference",
    ), program


def test_a_program_that_never_ends_is_ended(programs: httpx.Client) -> None:
    program = evaluate(programs, SOURCE + "\nwhile True:\n    pass\n", REFERENCE, timeout_s=2)
    assert program["problem"]["slug"] == "record_timeout", program


def test_events_report_a_program_s_progress(programs: httpx.Client) -> None:
    program = evaluate(programs, SOURCE, REFERENCE)
    reported = programs.get(program["url"] + "/events").text
    kinds = [
        line.partition(": ")[2] for line in reported.splitlines() if line.startswith("event: ")
    ]
    assert kinds == [
        "queued", "started", "recorded", "recorded", "compiled", "replayed", "replayed", "finished",
    ]  # fmt: skip


def test_inputs_that_a_reference_makes_with_kernels_are_refused_as_the_reference_s(
    programs: httpx.Client,
) -> None:
    reference = SOURCE.replace("ModelNew", "Model") + (
        "\n\ndef get_inputs():\n"
        "    x = torch.ones(8, device='cuda')\n"
        "    return [Model()(x, x), x]\n"
    )
    program = evaluate(programs, SOURCE, reference)
    assert (program["state"], program["verdict"]) == ("failed", None), program
    problem = program["problem"]
    assert (problem["slug"], problem["reason"]) == ("not_recordable", "bad_inputs")
    assert problem["program"] == "reference"
    assert "make them with torch only" in problem["detail"]


REFERENCE_LINE = "return x + y"
FAILING_REFERENCE = REFERENCE.replace(
    REFERENCE_LINE, "return x[torch.arange(4, 8, device=x.device)] + y"
)
UNIMPORTABLE_REFERENCE = REFERENCE.replace(REFERENCE_LINE, "return x + * y")
UNCOMPILED = SOURCE.replace("x + y, mask", "x + tl.nothing(y), mask")


@pytest.mark.parametrize(
    "reference",
    [
        UNIMPORTABLE_REFERENCE,
        REFERENCE.replace(REFERENCE_LINE, "raise ValueError(0)"),
        REFERENCE.replace(REFERENCE_LINE, "return object()"),
    ],
    ids=["syntax error", "raises", "returns no tensor"],
)
def test_a_program_is_not_judged_by_a_reference_that_fails(
    programs: httpx.Client, reference: str
) -> None:
    program = evaluate(programs, SOURCE, reference)
    assert (program["state"], program["problem"]["program"]) == ("failed", "reference"), program
    assert program["problem"]["detail"].startswith("The reference ")
    assert program["reward"] is None


def test_a_program_is_not_judged_by_a_reference_that_returns_only_nan(
    programs: httpx.Client,
) -> None:
    reference = REFERENCE.replace(REFERENCE_LINE, f"{REFERENCE_LINE} * float('nan')")
    program = evaluate(programs, SOURCE, reference)
    assert (program["verdict"], program["reward"]) == ("invalid_reference", None), program
    [message] = [each["message"] for each in program["findings"]]
    assert message.startswith("The reference returned only NaN for output 0, ")


def test_a_reference_that_fails_on_its_own_inputs_is_named_at_its_line(
    programs: httpx.Client,
) -> None:
    program = evaluate(programs, SOURCE, FAILING_REFERENCE)
    assert (program["verdict"], program["reward"]) == ("invalid_reference", None), program
    [finding] = program["findings"]
    line = line_of(FAILING_REFERENCE, "torch.arange(4")
    assert (finding["file"], finding["line"]) == ("reference.py", line)


@pytest.mark.parametrize(
    ("source", "reference"),
    [(SOURCE + "\n)", UNIMPORTABLE_REFERENCE), (UNCOMPILED, FAILING_REFERENCE)],
    ids=["not imported", "not compiled"],
)
def test_a_broken_program_is_told_of_its_own_fault_before_its_reference_s(
    programs: httpx.Client, source: str, reference: str
) -> None:
    program = evaluate(programs, source, reference)
    assert program["problem"]["program"] == "candidate", program
    assert not program["reward"]["compiled"]


@pytest.mark.parametrize(
    "attack",
    [
        "import os\nos.kill(os.getppid(), 9)",
        "import os, sys\nos._exit(1)",
        "import torch\ntorch.randn = torch.Tensor.__add__ = None",
    ],
    ids=["kills", "exits", "patches torch"],
)
def test_a_program_cannot_make_its_failure_its_reference_s(
    programs: httpx.Client, attack: str
) -> None:
    for reference in (REFERENCE, REFERENCE.replace("torch.randn", "torch.rand")):
        wrong = SOURCE.replace("x + y, mask", "x - y, mask")
        program = evaluate(programs, f"{attack}\n{wrong}", reference)
        assert program["reward"] is not None, program
        assert not program["reward"]["correct"], program
