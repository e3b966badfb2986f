"""flashinfer-bench's solutions as programs, its workloads as inputs, and programs as traces."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from adapters.evaluators.flashinfer_bench_routes import Traced
from adapters.evaluators.flashinfer_solution import (
    Solution,
    inputs_source,
    program_of,
    refuse_other_solutions,
    why_not,
)
from adapters.evaluators.flashinfer_trace_set import (
    Definition,
    Workload,
    read_trace_set,
)
from compiler.rejection import RequestRejected
from tests.adapters.test_kernelgym import failed, program, rewarded, timed

SCALE: dict[str, Any] = {
    "name": "scale",
    "op_type": "test",
    "axes": {"N": {"type": "const", "value": 4}, "B": {"type": "var"}},
    "inputs": {
        "x": {"shape": ["B", "N"], "dtype": "float16"},
        "by": {"shape": None, "dtype": "int32"},
    },
    "outputs": {"y": {"shape": ["B", "N"], "dtype": "float16"}},
    "reference": "def run(x, by):\n    return x * by\n",
}
WORKLOAD = {"uuid": "w1", "axes": {"B": 2}, "inputs": {"by": {"type": "scalar", "value": 3}}}
DEFINITION = Definition.model_validate(SCALE)
TWO = Workload.model_validate(WORKLOAD)

TRACED = Traced("scale", "mine", "2026-11-22T00:00:00+00:00")


def solution(
    *sources: tuple[str, str], entry: str = "main.py::run", in_place: bool = False, **spec: Any
) -> Solution:
    files = [{"path": path, "content": content} for path, content in sources]
    built = {
        "language": "triton",
        "target_hardware": ["cuda"],
        "entry_point": entry,
        "destination_passing_style": in_place,
    }
    named = {"name": "mine", "definition": "scale", "author": "me"}
    return Solution.model_validate(named | {"spec": built | spec, "sources": files})


class FakeTorch(ModuleType):
    """Fakes torch: has the three names that the texts below use."""

    float16 = "float16"

    @staticmethod
    def empty(shape: list[int], dtype: str, device: str) -> list[Any]:
        return [shape, dtype, device]


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", FakeTorch("torch"))


def entry_of(source: str) -> Any:
    """Return the function at the end of a program."""
    names: dict[str, Any] = {}
    exec(source, names)
    return names["tritond_entry"]


def test_a_solution_that_returns_is_called_with_the_inputs_in_order() -> None:
    body = program_of(
        solution(("main.py", "def run(x, by):\n    return {'y': x * by}")), DEFINITION, TWO
    )
    assert entry_of(body["source"])(5, 3) == (15,)
    assert entry_of(body["reference"]["source"])(5, 3) == (15,)
    assert body["entry"] == body["reference"]["entry"]


@pytest.mark.usefixtures("torch")
def test_a_solution_that_fills_its_outputs_gets_them_behind_the_inputs() -> None:
    text = "def run(x, by, y):\n    y.append(x * by)"
    body = program_of(solution(("main.py", text), in_place=True), DEFINITION, TWO)
    assert entry_of(body["source"])(5, 3) == ([[2, 4], "float16", "cuda", 15],)


def test_lines_of_a_single_source_keep_their_numbers() -> None:
    text = "# one\n# two\ndef run(x, by):\n    return x"
    assert program_of(solution(("main.py", text)), DEFINITION, TWO)["source"].startswith(text)


def test_several_sources_are_a_package_that_may_import_relatively(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [
        ("pkg/main.py", "from .ops import double\ndef run(x, by):\n    return double(x) * by"),
        ("pkg/ops.py", "def double(x):\n    return 2 * x"),
    ]
    body = program_of(solution(*sources, entry="pkg/main.py::run"), DEFINITION, TWO)
    for path, content in body["files"].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert entry_of(body["source"])(5, 3) == (30,)


def test_inputs_are_made_as_the_workload_says() -> None:
    text = inputs_source(DEFINITION, TWO)
    assert 'torch.randn([2, 4], dtype=torch.float16, device="cuda"),' in text
    assert "        3,\n" in text
    random_scalar = Workload.model_validate(WORKLOAD | {"inputs": {}})
    assert inputs_source(DEFINITION, random_scalar) == inputs_source(DEFINITION, random_scalar)


@pytest.mark.parametrize(
    ("of_definition", "of_workload", "why"),
    [
        (
            {},
            {"inputs": {"x": {"type": "safetensors", "path": "a", "tensor_key": "x"}}},
            "safetensors",
        ),
        ({}, {"axes": {}}, "'B'"),
        ({"op_type": "sampling"}, {}, "distribution"),
        ({"name": "moe_fp8_block_scale_x"}, {}, "share"),
        ({"outputs": {"y": {"shape": [], "dtype": "float4_e2m1"}}}, {}, "float4_e2m1"),
    ],
)
def test_a_workload_that_cannot_be_evaluated_says_why(
    of_definition: dict[str, Any], of_workload: dict[str, Any], why: str
) -> None:
    definition = Definition.model_validate(SCALE | of_definition)
    assert why in (why_not(definition, Workload.model_validate(WORKLOAD | of_workload)) or "")


@pytest.mark.parametrize(
    ("posted", "pointer"),
    [
        (
            solution(("main.cu", "x"), entry="main.cu::run", language="cuda"),
            "/solution/spec/language",
        ),
        (solution(("main.py", "x"), entry="other.py::run"), "/solution/spec/entry_point"),
        (solution(("main.py", "x"), entry="main.py"), "/solution/spec/entry_point"),
        (solution(("main.py", "x"), ("../a.py", "x")), "/solution/sources/1/path"),
        (solution(("main.py", "x"), ("main.py", "y")), "/solution/sources/1/path"),
    ],
)
def test_what_is_not_built_here_is_refused_by_name(posted: Solution, pointer: str) -> None:
    with pytest.raises(RequestRejected) as refused:
        refuse_other_solutions(posted)
    assert refused.value.errors[0].pointer == pointer


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (program(), "PASSED"),
        (program(verdict="mismatch", reward=rewarded()), "INCORRECT_NUMERICAL"),
        (program(verdict="out_of_bounds", reward=rewarded()), "RUNTIME_ERROR"),
        (program(verdict="timeout", reward=rewarded()), "TIMEOUT"),
        (failed("not_recordable", reason="program_error"), "RUNTIME_ERROR"),
        (failed("not_recordable", reason="value_dependent"), "COMPILE_ERROR"),
        (failed("syntax_error"), "COMPILE_ERROR"),
        (failed("worker_lost"), "RUNTIME_ERROR"),
        (program(reward=rewarded(serious=("no_kernel",))), "INCORRECT_NUMERICAL"),
    ],
)
def test_statuses_are_flashinfer_benchs(answer: dict[str, Any], status: str) -> None:
    evaluation = TRACED.evaluated(TWO, answer)["evaluation"]
    assert evaluation["status"] == status
    assert (evaluation["performance"] is not None) == (status == "PASSED")
    has_errors = status in {"PASSED", "INCORRECT_NUMERICAL"}
    assert (evaluation["correctness"] is not None) == has_errors


def test_a_solution_that_was_timed_has_latencies_in_milliseconds() -> None:
    evaluation = TRACED.evaluated(TWO, timed())["evaluation"]
    assert evaluation["performance"] == {
        "latency_ms": 0.016688,
        "reference_latency_ms": 0.025,
        "speedup_factor": 2.0,
    }
    assert evaluation["environment"]["hardware"] == "NVIDIA H200"
    assert evaluation["log"] == ""


def test_a_solution_that_was_not_timed_says_so() -> None:
    evaluation = TRACED.evaluated(TWO, program())["evaluation"]
    assert set(evaluation["performance"].values()) == {0.0}
    assert evaluation["environment"]["hardware"] == "tritond CPU device"
    assert evaluation["log"].startswith("nothing was timed")


def test_flags_of_a_solution_that_passed_are_in_its_log() -> None:
    flag = {
        "kind": "insensitive_output",
        "message": "zeros would match",
        "file": None,
        "line": None,
    }
    evaluation = TRACED.evaluated(TWO, timed(flags=[flag]))["evaluation"]
    assert evaluation["status"] == "PASSED"
    assert evaluation["log"] == "flag insensitive_output: zeros would match"


@pytest.mark.parametrize(
    ("kind", "status"), [("wrong_shape", "INCORRECT_SHAPE"), ("wrong_dtype", "INCORRECT_DTYPE")]
)
def test_outputs_of_another_form_have_their_own_status(kind: str, status: str) -> None:
    finding = {"kind": kind, "message": "output 0", "file": None, "line": None}
    answer = program(verdict="mismatch", findings=[finding], reward=rewarded())
    assert TRACED.evaluated(TWO, answer)["evaluation"]["status"] == status


def test_a_folder_is_read_as_it_is_published(tmp_path: Path) -> None:
    (tmp_path / "definitions/test").mkdir(parents=True)
    (tmp_path / "definitions/test/scale.json").write_text(json.dumps(SCALE | {"tags": ["a"]}))
    (tmp_path / "workloads/test").mkdir(parents=True)
    line = json.dumps({"definition": "scale", "workload": WORKLOAD, "solution": None})
    (tmp_path / "workloads/test/scale.jsonl").write_text(f"{line}\n\n")
    found = read_trace_set(str(tmp_path))
    assert found.definitions["scale"].model_dump(exclude_unset=True) == SCALE | {"tags": ["a"]}
    assert found.workload("w1") == TWO
    assert found.workload("w2") is None
    assert read_trace_set(None).definitions == {}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"inputs": {"x y": {"shape": None, "dtype": "int32"}}}, "not a valid name"),
        ({"inputs": {"lambda": {"shape": None, "dtype": "int32"}}}, "not a valid name"),
        ({"axes": {}}, "axis 'B' is not defined"),
        ({"reference": ""}, "not a valid definition of flashinfer-bench"),
    ],
)
def test_a_folder_that_cannot_be_used_ends_the_service(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    (tmp_path / "definitions").mkdir()
    (tmp_path / "definitions/scale.json").write_text(json.dumps(SCALE | changed))
    with pytest.raises(ValueError, match=said):
        read_trace_set(str(tmp_path))
