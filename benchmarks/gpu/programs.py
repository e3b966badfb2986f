"""Measures programs over HTTP on a GPU, from request to verdict, against the bars.

`python benchmarks/gpu/programs.py` starts its own `tritond up` and needs a GPU and torch. `--cpu`
tries the script without a GPU, on the CPU device at small sizes: then nothing is timed, and its
numbers say nothing about a GPU. Parts (`--parts`; default: all that need no corpus):

- `medians`: eight programs of `benchmarks/kernels/programs`: the median of each and of its
  reference, compared with eager torch in a fresh process by CUDA events, gated and as a graph.
- `coverage`: for the same programs, the share of time in their own kernels, compared with torch's
  profiler in such a process. (Entries sum to the whole by construction, so that is no check.)
- `rate`: evaluations per second of compiled candidates and their references, each with a new seed
  for its inputs.
- `models`: public `ModelNew` programs and their references (`<name>.py` and
  `<name>_reference.py` in the folder `models` of `--corpus`), and eager torch's results for both.
- `references`: KernelBench's references against themselves at full sizes (a checkout in the folder
  `kernelbench` of `--corpus`), as many as `--limit-s` allows.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import count, repeat
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.gpu.asked_service import PORT, URL, Service, started, until_ready  # noqa: E402
from benchmarks.gpu.bars import Line, show  # noqa: E402
from benchmarks.gpu.eager_process import EagerProcess  # noqa: E402
from benchmarks.gpu.program_evaluations import (  # noqa: E402
    Evaluated,
    Evaluator,
    PostedModel,
    kernelbench,
    pairs,
    samples,
)

WITHIN_PERCENT = 5.0
PER_S = 10.0
TYPICAL = "linear_swish"
CALLERS = 8
EVALUATIONS = 80
EAGER_ITERATIONS = 30
FEW_ITERATIONS = {"warmup_repeats": 2, "min_repeats": 10, "max_repeats": 10, "max_ms": 300}
READ = ("1_99_TripletMarginLoss", "1_96_HuberLoss", "2_26_ConvTranspose3d_Add_HardSwish",
        "2_41_Gemm_BatchNorm_GELU_ReLU", "2_63_Gemm_ReLU_Divide", "1_23_Softmax",
        "1_9_Tall_skinny_matrix_multiplication_", "2_36_ConvTranspose2d_Min_Sum_GELU_Add",
        "2_37_Matmul_Swish_Sum_GroupNorm",
        "1_80_conv_standard_2D_square_input_asymmetric_kernel___dilated____padded__")  # fmt: skip
"""The public programs to run first; benchmarks/results/programs-corpus.md explains why."""


@dataclass
class Run:
    """The arguments, the tritond, and its answers so far."""

    asked: argparse.Namespace
    evaluator: Evaluator
    until: float
    evaluated: dict[str, Evaluated] = field(default_factory=dict)
    """By sample."""
    eager: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Eager torch's results for them."""
    models: list[Evaluated] = field(default_factory=list)

    def keep(self, part: str, evaluated: Evaluated) -> None:
        """Append the outcome of a program to the file of outcomes."""
        if self.asked.outcomes is None:
            return
        program = evaluated.program
        reported = {"part": part, "name": evaluated.model.name, "outcome": evaluated.outcome,
                "why": evaluated.why, "wall_s": round(evaluated.wall_s, 3)}  # fmt: skip
        names = ("flags", "speedup", "coverage", "peak_bytes", "timings_ms", "timing", "warnings")
        reported |= {name: program.get(name) for name in names}
        with self.asked.outcomes.open("a") as file:
            file.write(json.dumps(reported) + "\n")


async def evaluate_samples(run: Run) -> None:
    """Evaluate each sample once; all must pass."""
    for model in samples(run.asked.cpu):
        evaluated = run.evaluated[model.name] = await run.evaluator.evaluate(model)
        run.keep("samples", evaluated)
        if evaluated.outcome != "passed":
            print(f"NOT PASSED {model.name}: {evaluated.outcome}: {evaluated.why}", flush=True)


async def rate(run: Run) -> None:
    """Print evaluations per second."""
    mixed = samples(run.asked.cpu)
    typical = [model for model in mixed if model.name == TYPICAL]
    evaluations = CALLERS if run.asked.cpu else EVALUATIONS
    lines = []
    for name, known, seeds, bar in (
        (f"{TYPICAL}, other inputs each time", typical, count(1), PER_S),
        (f"{TYPICAL}, the same, of which the reference is remembered", typical, repeat(42), PER_S),
        ("all samples in turn, other inputs each time", mixed, count(1000), None),
    ):
        asked = [known[at % len(known)] for at in range(evaluations)]
        begun = time.monotonic()
        ended = [
            evaluated async for evaluated in run.evaluator.all(asked, CALLERS, run.until, seeds)
        ]
        if ended:
            per_s = len(ended) / (time.monotonic() - begun)
            lines.append(Line(name, per_s, "/s", bar, at_least=True, note=in_words(ended)))
        else:
            print(f"no time was left for {name}", flush=True)
    show(lines)


def in_words(ended: Sequence[Evaluated]) -> str:
    """Return the counts of outcomes and the time of each."""
    walls, stages = sorted(evaluated.wall_s for evaluated in ended), Counter[str]()
    for evaluated in ended:
        stages.update(evaluated.program.get("timings_ms") or {})
    mean = {stage: round(ms / len(ended)) for stage, ms in stages.items()}
    outcomes = dict(Counter(evaluated.outcome for evaluated in ended))
    return f"{outcomes}; p50 {1000 * walls[len(walls) // 2]:.0f} ms; mean timings_ms {mean}"


async def models(run: Run) -> None:
    """Evaluate public programs, manually reviewed ones first."""
    known = pairs(run.asked.corpus / "models")
    known.sort(key=lambda model: model.name not in READ)
    timing: dict[str, Any] = (
        {"timing": {"min_repeats": 10, "max_ms": 100}} if not run.asked.cpu else {}
    )
    async for evaluated in run.evaluator.all(
        known[: run.asked.most], 3, run.until, timeout_s=60, **timing
    ):
        run.models.append(evaluated)
        run.keep("models", evaluated)


async def references(run: Run) -> None:
    """Evaluate KernelBench's references against themselves; print failures with reasons."""
    known = kernelbench(run.asked.corpus / "kernelbench")
    known = [*known[run.asked.first :], *known[: run.asked.first]]
    outcomes: Counter[str] = Counter()
    walls = []
    timing: dict[str, Any] = {"timing": FEW_ITERATIONS} if not run.asked.cpu else {}
    async for evaluated in run.evaluator.all(known, 3, run.until, timeout_s=60, **timing):
        run.keep("references", evaluated)
        outcomes[evaluated.outcome] += 1
        walls.append(evaluated.wall_s)
        if evaluated.outcome != "passed":
            print(f"| {evaluated.model.name} | {evaluated.outcome} | {evaluated.why} |", flush=True)
    middle = sorted(walls)[len(walls) // 2] if walls else 0.0
    print(f"KernelBench's references, full sizes: {dict(outcomes)} of {len(known)}; "
          f"p50 {middle:.2f} s, longest {max(walls, default=0):.1f} s", flush=True)  # fmt: skip


def samples_in(run: Run, eager: EagerProcess) -> dict[str, dict[str, Any]]:
    """Return eager torch's results for the samples and their references, cached."""
    if not run.eager:
        known = [evaluated.model for evaluated in run.evaluated.values()]
        references = [
            PostedModel(f"{model.name} (Model)", model.source, {"class": "Model"}, "")
            for model in known
        ]
        run.eager |= eager.reported(
            [model.eager() for model in [*known, *references]], EAGER_ITERATIONS
        )
    return run.eager


def compare_medians(run: Run, eager: EagerProcess) -> None:
    """Print the medians of the samples and their references, and those of eager torch."""
    reported = samples_in(run, eager)
    lines = []
    for name, evaluated in run.evaluated.items():
        for label, is_reference in ((name, False), (f"{name} (Model)", True)):
            ours, of_eager = evaluated.median_us(is_reference), reported.get(label, {})
            if ours is None or "gated_us" not in of_eager:
                print(f"{label}: nothing to compare: {ours}, {of_eager}", flush=True)
            else:
                lines += eager_lines(label, ours, of_eager, f"by {evaluated.method}")
    show(lines)


def eager_lines(label: str, ours: float, of_eager: dict[str, Any], method: str) -> list[Line]:
    """Return the difference between a median and eager torch's, op by op and as a graph."""
    lines = []
    for name, key in (("eager", "gated_us"), ("eager as a graph", "graph_us")):
        if key in of_eager:
            apart = 100 * abs(ours / of_eager[key] - 1)
            note = f"{ours:.2f} us ({method}), {name} {of_eager[key]:.2f} us, "
            note += f"not gated {of_eager['plain_us']:.2f} us"
            what = f"{label}: median compared with {name}"
            lines.append(Line(what, apart, "%", WITHIN_PERCENT, note=note))
    return lines


def compare_coverage(run: Run, eager: EagerProcess) -> None:
    """Print the coverage of each sample, and the profiler's value."""
    reported = samples_in(run, eager)
    lines = []
    for name, evaluated in run.evaluated.items():
        kernels_us, ours = (
            reported.get(name, {}).get("kernels_us"),
            evaluated.program.get("coverage"),
        )
        if not kernels_us or ours is None:
            print(f"{name}: no coverage to compare: {ours}, {kernels_us}", flush=True)
            continue
        own_us = sum(
            us for kernel, us in kernels_us.items() if f"def {kernel}(" in evaluated.model.source
        )
        by_profiler = own_us / sum(kernels_us.values())
        note = f"{100 * ours:.1f} %, by the profiler {100 * by_profiler:.1f} %"
        label = f"{name}: coverage, points apart"
        lines.append(Line(label, 100 * abs(ours - by_profiler), "%", WITHIN_PERCENT, note=note))
    show(lines)


def compare_models(run: Run, eager: EagerProcess) -> None:
    """Print the results of each public program, and those of eager torch."""
    reported = eager.reported([evaluated.model.eager() for evaluated in run.models], 10)
    print("| program | verdict | flags | speed-up | coverage | eager within 0.01 | why |")
    print("|---|---|---|---|---|---|---|")
    for evaluated in sorted(run.models, key=lambda evaluated: evaluated.model.name not in READ):
        of_eager, program = reported.get(evaluated.model.name, {}), evaluated.program
        agrees = of_eager.get("error") or of_eager.get("agrees")
        print(f"| {evaluated.model.name} | {evaluated.outcome} | {', '.join(evaluated.flags)} | "
              f"{program.get('speedup')} | {program.get('coverage')} | {str(agrees)[:80]} | "
              f"{evaluated.why[:160]} |", flush=True)  # fmt: skip


PARTS: dict[str, Callable[[Run], Coroutine[Any, Any, None]] | None] = {
    "medians": None, "coverage": None, "rate": rate, "models": models, "references": references
}  # fmt: skip
NO_CORPUS = "medians,coverage,rate"
AFTERWARDS = {
    "medians": compare_medians,
    "coverage": compare_coverage,
    "models": compare_models,
}
"""Parts that need the GPU for another process, after tritond has ended."""


async def asked_of(asked: argparse.Namespace, tritond: Sequence[Any]) -> Run:
    """Run all parts that use a service."""
    async with httpx.AsyncClient(base_url=URL, timeout=180) as client:
        service = Service(client)
        device: Any = "cpu"
        if not asked.cpu:
            await until_ready(service, tritond)
            device = {"target": (await service.device())["target"]}
        evaluator = Evaluator(client, device)
        begun = time.monotonic()
        await evaluator.until_ready(asked.ready_s)
        print(f"device: {device}; programs offered after {time.monotonic() - begun:.1f} s\n")
        run = Run(asked, evaluator, time.monotonic() + asked.limit_s)
        if {"medians", "coverage", "rate"} & set(asked.parts):
            await evaluate_samples(run)
        for part in asked.parts:
            do = PARTS[part]
            run.until = time.monotonic() + asked.limit_s
            if do is not None:
                await do(run)
        return run


def main() -> int:
    """Start tritond, run the parts, stop it; then run the baselines."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", default=NO_CORPUS, help=f"of {', '.join(PARTS)}")
    parser.add_argument("--corpus", type=Path, help="a folder with kernelbench/ and models/")
    parser.add_argument("--limit-s", type=float, default=600, help="of each part")
    parser.add_argument("--ready-s", type=float, default=120, help="until programs are accepted")
    parser.add_argument("--eager-s", type=float, default=300, help="of eager torch")
    parser.add_argument("--most", type=int, help="public ModelNew programs")
    parser.add_argument("--first", type=int, default=0, help="of KernelBench's references; others "
                        "follow, at last those before it")  # fmt: skip
    parser.add_argument("--outcomes", type=Path, help="a file that gets a line for each program")
    parser.add_argument("--cpu", action="store_true", help="try the script without a GPU")
    asked = parser.parse_args()
    asked.parts = asked.parts.split(",")
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"no such parts: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        up = ["service.command", "up", "--port", str(PORT), "--data", folder]
        with started(up) as parts:
            run = asyncio.run(asked_of(asked, parts))
    eager = EagerProcess(asked.eager_s)
    for part in () if asked.cpu else asked.parts:
        if part in AFTERWARDS:
            AFTERWARDS[part](run, eager)
    return 0


if __name__ == "__main__":
    sys.exit(main())
