"""Tasks of KernelGYM's clients, and the programs that evaluate them.

A field without an equivalent here is refused if it would change the evaluation. A field that only
affects measuring or caching is listed under `metadata.not_applied`.
"""

from math import ceil
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from compiler.rejection import FieldError, RequestRejected
from compiler.request.compile_request import MAX_TIMEOUT_S, Json, Name
from launch.request.initializer import MAX_SEED

TOLERANCE = {"rtol": 1e-2, "atol": 1e-2}
"""The tolerance of KernelGYM and KernelBench."""
CALLS_OF_A_TRIAL = 2
"""Each call of a program uses other values."""
MAX_TIMING_MS = 5000
"""Bound on the timed calls of one program; calls beyond it are skipped."""
MAX_BATCH_TASKS = 100
MAX_ID_CHARS = 100
POINTERS = {
    "/source": "/kernel_code",
    "/entry": "/entry_point",
    "/entry/class": "/entry_point",
    "/reference/source": "/reference_code",
    "/timeout_s": "/timeout",
}
"""Fields of a program, and the fields of a task that set them."""
EXAMPLE: dict[str, Any] = {
    "task_id": "add-one-001",
    "reference_code": "import torch\n\n\nclass Model(torch.nn.Module):\n"
    "    def forward(self, x):\n        return x + 1\n\n\n"
    "def get_inputs():\n    return [torch.randn(64)]\n\n\ndef get_init_inputs():\n    return []\n",
    "kernel_code": "import torch\n\n\nclass ModelNew(torch.nn.Module):\n"
    "    def forward(self, x):\n        return 1 + x\n",
    "backend": "triton",
    "entry_point": "Model",
    "num_correct_trials": 5,
    "timeout": 60,
}

_Code = Annotated[str, Field(min_length=10, max_length=100_000)]
_Word = Annotated[str, Field(max_length=100)]
_Flag = bool | None


class KernelGymTask(BaseModel):
    """The body of KernelGYM's `POST /evaluate`, with its names and limits."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_extra={"examples": [EXAMPLE]}
    )

    task_id: str = Field(
        min_length=1, max_length=MAX_ID_CHARS, description="the caller's name for it"
    )
    kernel_code: _Code = Field(description="a module with the class `<entry_point>New`")
    reference_code: _Code | None = Field(
        default=None, description="a module with the class `<entry_point>` and `get_inputs`"
    )
    entry_point: str = Field(default="Model", max_length=128, pattern=r"^[A-Za-z_]\w{0,127}$")
    timeout: int = Field(default=300, ge=10, le=3600, description="seconds of execution")
    priority: Literal["low", "normal", "high"] = "normal"
    force_refresh: bool = Field(default=False, description="ignore an existing result")
    toolkit: _Word = "kernelbench"
    backend_adapter: _Word = "kernelbench"
    backend: Literal["triton", "cuda"] = "triton"
    workflow: _Word | None = "kernelbench"
    num_correct_trials: int = Field(default=5, ge=1, le=20)
    seed: int | None = Field(
        default=None,
        ge=0,
        le=MAX_SEED,
        description="of the inputs; default: a secret seed, which candidates cannot know "
        "(KernelGYM has no such field and always uses 42)",
    )
    num_perf_trials: int = Field(default=100, ge=1, le=1000)
    num_warmup: int = Field(default=3, ge=0, le=100)
    device_preference: str | None = Field(default=None, max_length=64)
    reference_backend: str | None = Field(default=None, max_length=64)
    uuid: str | None = Field(default=None, max_length=256)
    use_reference_cache: _Flag = False
    is_valid: _Flag = False
    verbose_errors: _Flag = None
    enable_profiling: _Flag = None
    detect_decoy_kernel: _Flag = None
    enable_triton_detection: _Flag = None
    run_triton_detection: _Flag = None
    run_correctness: _Flag = None
    run_performance: _Flag = None
    measure_performance: _Flag = None
    cases_code: str | None = Field(default=None, max_length=100_000)
    cases: list[Json] | None = Field(default=None, max_length=1000)
    resources: dict[Name, Json] | None = Field(default=None, max_length=64, fail_fast=True)


class KernelGymBatch(BaseModel):
    """The body of KernelGYM's `POST /evaluate/batch`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    batch_id: str = Field(min_length=1, max_length=100)
    tasks: list[Json] = Field(
        min_length=1,
        max_length=MAX_BATCH_TASKS,
        description="bodies of `POST /evaluate`; one that is wrong fails alone",
    )


def refuse_other_work(task: KernelGymTask, *, on_gpu: bool) -> None:
    """Raise RequestRejected for tasks that KernelGYM would evaluate in another way.

    `on_gpu`: programs run on a GPU here and are timed.
    """
    errors = [
        FieldError(f"/{name}", why)
        for name, is_other, why in (
            ("backend", task.backend != "triton", "CUDA sources are not supported; use `triton`"),
            ("toolkit", task.toolkit != "kernelbench", "only `kernelbench` is supported"),
            ("backend_adapter", task.backend_adapter != "kernelbench", "must be `kernelbench`"),
            (
                "workflow",
                (task.workflow or "kernelbench") != "kernelbench",
                "only `kernelbench` is supported; functions and scripts go to POST /v1/programs",
            ),
            ("cases_code", task.cases_code is not None, "belongs to the workflow kernel_simple"),
            ("cases", task.cases is not None, "belongs to the workflow kernel_simple"),
            ("reference_code", task.reference_code is None, "is required"),
            ("resources", bool(task.resources), "cannot be chosen: a program gets one device"),
            ("run_correctness", task.run_correctness is False, "outputs are always compared"),
            *(
                (
                    name,
                    not on_gpu and getattr(task, name) is True,
                    "no worker of this service times programs on a GPU; leave the field out",
                )
                for name in _PERFORMANCE
            ),
        )
        if is_other
    ]
    if errors:
        raise RequestRejected(*errors)


_PERFORMANCE = ("run_performance", "measure_performance")
_TIMES = "nothing is timed on the CPU device: runtimes and speedup are null"
_NO_CACHE = "the reference is evaluated with each candidate and never cached"
_NOT_APPLIED = {
    "enable_profiling": "programs are not profiled; their times are listed by entry",
    "reference_backend": "the reference runs unchanged, op by op",
    "uuid": _NO_CACHE,
    "use_reference_cache": _NO_CACHE,
    "is_valid": _NO_CACHE,
}
_NOT_ON_A_GPU = {"device_preference": "the program runs on any free GPU"}
_NOT_ON_THE_CPU = {
    "num_perf_trials": _TIMES,
    "num_warmup": _TIMES,
    "device_preference": "programs are replayed on the CPU device",
}


def not_applied(task: KernelGymTask, *, on_gpu: bool) -> dict[str, str]:
    """Return the fields of the task without effect here, and why."""
    sent = {name for name in task.model_fields_set if getattr(task, name) not in (None, False)}
    unused = _NOT_APPLIED | (_NOT_ON_A_GPU if on_gpu else _NOT_ON_THE_CPU)
    warnings = {name: why for name, why in unused.items() if name in sent}
    for name in _PERFORMANCE:
        if on_gpu and getattr(task, name) is False:
            warnings[name] = "programs on a GPU are always timed"
    if task.timeout > MAX_TIMEOUT_S:
        warnings["timeout"] = f"the maximum is {MAX_TIMEOUT_S} s"
    if task.priority == "high":
        warnings["priority"] = "high is treated as normal"
    for name in ("detect_decoy_kernel", "enable_triton_detection", "run_triton_detection"):
        if getattr(task, name) is False:
            warnings[name] = "launches are always checked"
    if task.verbose_errors is False:
        warnings["verbose_errors"] = "errors are always reported in full"
    return warnings


def program_of(task: KernelGymTask, *, on_gpu: bool) -> dict[str, Any]:
    """Return the body of POST /v1/programs that evaluates `task`, on a GPU or the CPU device.

    It has a `seed` only if the task has one.
    """
    timeout_s = min(task.timeout, MAX_TIMEOUT_S)
    timing = {
        "warmup_repeats": task.num_warmup,
        "min_repeats": task.num_perf_trials,
        "max_repeats": task.num_perf_trials,
        "max_ms": MAX_TIMING_MS,
    }
    seed = {} if task.seed is None else {"seed": task.seed}
    return seed | {
        "source": task.kernel_code,
        "entry": {"kind": "model", "class": f"{task.entry_point}New"},
        "reference": {
            "source": task.reference_code,
            "entry": {"kind": "model", "class": task.entry_point},
        },
        "tolerance": TOLERANCE,
        "trials": ceil(task.num_correct_trials / CALLS_OF_A_TRIAL),
        "device": "auto" if on_gpu else "cpu",
        "timing": timing if on_gpu else None,
        "timeout_s": timeout_s,
        "priority": "batch" if task.priority == "low" else "interactive",
    }
