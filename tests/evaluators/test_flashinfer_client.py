"""Solutions and traces of flashinfer-bench 0.1.2's published classes, over its server's API.

The server exists only in its repository, which has no client but requests of this shape.
"""

from __future__ import annotations

import httpx
import pytest
from flashinfer_bench.data import (
    BuildSpec,
    Definition,
    EvaluationStatus,
    Solution,
    SourceFile,
    SupportedLanguages,
    Trace,
    Workload,
)

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, y_ptr, by, n_elements, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * by, mask=mask)


def kernel(x, by, y):
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, y, by, x.numel(), BLOCK=256)
"""


def solution(name: str, *contents: str, in_place: bool = False, entry: str = "") -> Solution:
    paths = ["pkg/main.py", "pkg/ops.py"][: len(contents)]
    files = zip(paths, contents, strict=True)
    return Solution(
        name=name,
        definition="scale",
        author="test",
        spec=BuildSpec(
            language=SupportedLanguages.TRITON,
            target_hardware=["cuda"],
            entry_point=entry or "pkg/main.py::kernel",
            destination_passing_style=in_place,
        ),
        sources=[SourceFile(path=path, content=content) for path, content in files],
    )


def evaluated(http: httpx.Client, posted: Solution, prefix: str = "") -> list[Trace]:
    """Post and wait for the task, like its own tests."""
    body = {"solution": posted.model_dump(mode="json")}
    answer = http.post(f"{prefix}/evaluate", json=body).raise_for_status().json()
    assert answer["normalized_solution_name"].startswith(f"{posted.name}_")
    path = f"{prefix}/tasks/{answer['task_id']}"
    task = http.get(path, params={"timeout": 120}).raise_for_status().json()
    assert task["status"] == "completed", task
    several = http.post(f"{prefix}/tasks/batch", json={"task_ids": [answer["task_id"]]})
    assert several.json() == [task]
    return [Trace.model_validate(trace) for trace in task["traces"]]


@pytest.mark.parametrize("prefix", ["", "/flashinfer-bench"])
def test_a_kernel_that_fills_its_output_passes_on_every_workload(
    http: httpx.Client, prefix: str
) -> None:
    traces = evaluated(http, solution("right", KERNEL, in_place=True), prefix)
    assert [trace.workload.uuid for trace in traces] == ["w3", "w7"]
    assert all(trace.is_successful() for trace in traces), traces
    assert all(trace.evaluation.correctness.max_absolute_error < 1e-5 for trace in traces)


def test_several_sources_import_each_other(http: httpx.Client) -> None:
    main = "from .ops import kernel as fill\n\ndef kernel(x, by, y):\n    fill(x, by, y)\n"
    traces = evaluated(http, solution("two", main, KERNEL, in_place=True))
    assert all(trace.is_successful() for trace in traces), traces


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("value", "def kernel(x, by):\n    return x * 3\n", EvaluationStatus.INCORRECT_NUMERICAL),
        (
            "no kernel",
            "def kernel(x, by):\n    return x * by\n",
            EvaluationStatus.INCORRECT_NUMERICAL,
        ),
        ("shape", "def kernel(x, by):\n    return x[:1] * by\n", EvaluationStatus.INCORRECT_SHAPE),
        (
            "dtype",
            "def kernel(x, by):\n    return (x * by).half()\n",
            EvaluationStatus.INCORRECT_DTYPE,
        ),
        ("syntax", "def kernel(x, by\n    return x\n", EvaluationStatus.COMPILE_ERROR),
        (
            "crash",
            "def kernel(x, by):\n    raise ValueError('intentional crash')\n",
            EvaluationStatus.RUNTIME_ERROR,
        ),
    ],
)
def test_what_is_wrong_is_reported_in_its_words(
    http: httpx.Client, name: str, content: str, status: EvaluationStatus
) -> None:
    traces = evaluated(http, solution(name, content))
    assert [trace.evaluation.status for trace in traces] == [status, status], traces
    if name == "crash":
        assert "intentional crash" in traces[0].evaluation.log


def test_definitions_and_workloads_are_of_its_classes(http: httpx.Client) -> None:
    definition = Definition.model_validate(http.get("/definitions/scale").json())
    workloads = http.get("/definitions/scale/workloads").json()
    shapes = [definition.get_input_shapes(Workload.model_validate(each).axes) for each in workloads]
    assert [[list(shape) if shape is not None else None for shape in each] for each in shapes] == [
        [[3, 128], None],
        [[7, 128], None],
    ]
