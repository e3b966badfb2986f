"""Runs models in eager torch on cuda:0 of this process, timed by CUDA events.

programs.py runs `python eager_models.py request.json` in a fresh process. The request has `models`,
each `{"name", "source", "class", "reference"}`; the reference is null or a source with a class
`Model`, whose outputs must agree within 0.01, as in KernelBench. It also has `repeats` (0: one
call, no times), and `limit_s` for all. Prints one JSON object per line. Sources are executed here
without a sandbox, so they must come from trusted public suites.
"""

import gc
import json
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

SEED = 42
TOLERANCE = 1e-2
WARMING = 5
FLUSHED_BYTES = 256 << 20
GATE_CYCLES = 2_000_000
"""About a millisecond: launching may take this long without affecting the events around it."""

Loaded = tuple[Callable[..., Any], list[Any]]


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    until = time.monotonic() + request["limit_s"]
    torch.set_default_device("cuda")
    for model in request["models"]:
        if time.monotonic() > until:
            return
        print(json.dumps({"name": model["name"], **outcome(model, request["repeats"])}), flush=True)
        gc.collect()
        torch.cuda.empty_cache()


def outcome(model: dict[str, Any], repeats: int) -> dict[str, Any]:
    """Return the result of one model, or the error; an illegal access ends the process."""
    begun = time.monotonic()
    torch.cuda.reset_peak_memory_stats()
    result: dict[str, Any] = {}
    try:
        with torch.no_grad():
            result |= judged(model)
            result["peak_bytes"] = torch.cuda.max_memory_allocated()
            if repeats:
                made = loaded(model["source"], model["class"], model)
                result |= timed(*made, repeats)
                result["kernels_us"] = kernels_us(*made)
    except Exception as error:
        if isinstance(error, torch.AcceleratorError):
            raise
        result["error"] = f"{type(error).__name__}: {error}"[:500]
        result["where"] = traceback.format_exc(limit=-1)[:300]
    return result | {"wall_s": round(time.monotonic() - begun, 2)}


def loaded(source: str, name: str, model: dict[str, Any]) -> Loaded:
    """Return a model on the GPU and its inputs, with the same seeds for each class."""
    names = executed(source, name)
    makers = executed(model["reference"], "reference") if model["reference"] else names
    torch.manual_seed(SEED)
    init_inputs = makers["get_init_inputs"]()
    torch.manual_seed(SEED)
    made = names[name](*init_inputs).cuda()
    torch.manual_seed(SEED)
    inputs = [
        each.cuda() if isinstance(each, torch.Tensor) else each for each in makers["get_inputs"]()
    ]
    return made, inputs


def executed(source: str, name: str) -> dict[str, Any]:
    """Return the names that a module defines; Triton requires its source to be in a file."""
    path = Path(sys.argv[1]).with_name(f"{name}_{abs(hash(source))}.py")
    path.write_text(source)
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(source, str(path), "exec"), names)
    return names


def judged(model: dict[str, Any]) -> dict[str, Any]:
    """Call the model once, and its reference if any; return whether they agree."""
    made, inputs = loaded(model["source"], model["class"], model)
    outputs = list(tensors(made(*inputs)))
    torch.cuda.synchronize()
    if not model["reference"]:
        return {"agrees": None}
    del made, inputs
    reference, inputs = loaded(model["reference"], "Model", model)
    expected = list(tensors(reference(*inputs)))
    same = len(outputs) == len(expected) and all(
        output.shape == wanted.shape
        and torch.allclose(output.float(), wanted.float(), rtol=TOLERANCE, atol=TOLERANCE)
        for output, wanted in zip(outputs, expected, strict=True)
    )
    return {"agrees": same}


def tensors(result: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of a result, however nested."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, dict):
        yield from tensors(list(result.values()))
    elif isinstance(result, list | tuple):
        for each in result:
            yield from tensors(each)


def timed(model: Callable[..., Any], inputs: list[Any], repeats: int) -> dict[str, float]:
    """Return medians in microseconds, with a cold L2 cache.

    `gated_us`: the stream waits until the whole call is queued. `plain_us`: it does not wait, so
    the time includes Python's launches if these take longer than the GPU's work. `graph_us`: the
    call as a CUDA graph, if possible.
    """
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.int8)
    for _ in range(WARMING):
        model(*inputs)

    def call() -> None:
        model(*inputs)

    medians = {}
    ways: list[tuple[str, int, Callable[[], object]]] = [
        ("gated", GATE_CYCLES, call), ("plain", 0, call)]  # fmt: skip
    if (graph := captured(call)) is not None:
        ways.append(("graph", GATE_CYCLES, graph.replay))
    for name, cycles, queue in ways:
        times = [timed_once(queue, flushed, cycles) for _ in range(repeats)]
        medians[f"{name}_us"] = statistics.median(times)
        medians[f"{name}_spread"] = statistics.stdev(times) / medians[f"{name}_us"]
    return medians


def timed_once(queue: Callable[[], object], flushed: torch.Tensor, cycles: int) -> float:
    """Return the time of a call on the GPU in microseconds."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    flushed.zero_()
    if cycles:
        torch.cuda._sleep(cycles)
    else:
        torch.cuda.synchronize()
    begin.record()
    queue()
    end.record()
    torch.cuda.synchronize()
    return 1000 * float(begin.elapsed_time(end))


def captured(call: Callable[[], None]) -> torch.cuda.CUDAGraph | None:
    """Return a call as a CUDA graph; None if that is impossible."""
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            call()
    except RuntimeError:
        return None
    return graph


def kernels_us(model: Callable[..., Any], inputs: list[Any]) -> dict[str, float]:
    """Return the profiler's time of each kernel over five calls, by name, in microseconds."""
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(WARMING):
            model(*inputs)
        torch.cuda.synchronize()
    rows = profile.key_averages()
    return {row.key: row.self_device_time_total for row in rows if row.self_device_time_total}


if __name__ == "__main__":
    main()
