"""Triton's own @triton.autotune over the configurations of a sweep, in a separate process.

`python benchmarks/gpu/autotuned_matmul.py REQUEST.json` needs torch and a GPU, and imports nothing
of tritond. sweep_gpu.py compares its winner with the result. Several processes first compile the
configurations into Triton's cache, so that only tuning is timed: `triton.testing.do_bench` for each
configuration, as in autotune. Then autotune's best and the sweep's winner are timed in turn, by the
same do_bench. The last line of the output is the answer in JSON.
"""

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[2] / "examples" / "matmul.py"
PASSES = 10
Configuration = dict[str, int]
"""Constexprs, `num_warps` and `num_stages` by name."""


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    if len(sys.argv) > 2:
        compile_share(request, int(sys.argv[2]), int(sys.argv[3]))
        return
    compile_all()
    print(json.dumps(tuned(request)), flush=True)


def compile_all() -> None:
    """Compile every configuration, with one process per core."""
    count = len(os.sched_getaffinity(0))
    command = [sys.executable, __file__, sys.argv[1]]
    shares = [subprocess.Popen([*command, str(share), str(count)]) for share in range(count)]
    endings = [share.wait() for share in shares]
    if any(endings):
        raise SystemExit("a configuration does not compile; see above")


def compile_share(request: dict[str, Any], share: int, count: int) -> None:
    """Compile each `count`-th configuration into Triton's cache."""
    import torch

    kernel, size = the_kernel(), request["size"]
    for configuration in request["configurations"][share::count]:
        kernel.warmup(
            *[torch.float16] * 3, size, size, size, *[size, 1] * 3, grid=(1,), **configuration
        )


def tuned(request: dict[str, Any]) -> dict[str, Any]:
    """Tune, then time the best configuration and the sweep's winner."""
    import torch
    import triton
    import triton.testing

    size, winner = request["size"], request["winner"]
    tuner = triton.autotune(
        configs=[config_of(configuration) for configuration in request["configurations"]],
        key=["M", "N", "K"],
    )(the_kernel())
    a, b = (torch.randn(size, size, device="cuda", dtype=torch.float16) for _ in "ab")
    c = torch.empty_like(a)
    arguments = (a, b, c, size, size, size, *a.stride(), *b.stride(), *c.stride())

    def grid(meta: dict[str, int]) -> tuple[int]:
        return (triton.cdiv(size, meta["BLOCK_M"]) * triton.cdiv(size, meta["BLOCK_N"]),)

    started = time.perf_counter()
    tuner[grid](*arguments)
    torch.cuda.synchronize()
    tuning_s = time.perf_counter() - started
    best = plain(tuner.best_config)

    def time_us(configuration: Configuration) -> float:
        def launch() -> None:
            tuner.fn[grid](*arguments, **configuration)

        return 1000 * float(triton.testing.do_bench(launch, return_mode="median"))

    of_best, of_winner = [], []
    for number in range(PASSES):  # in turn, every second time in reverse order
        for own, configuration in ((of_best, best), (of_winner, winner))[:: 1 - 2 * (number % 2)]:
            own.append(time_us(configuration))
    ratios = [b / a for a, b in zip(of_best, of_winner, strict=True)]
    return {
        "triton": triton.__version__,
        "tuning_s": tuning_s,
        "best": best,
        "best_us": statistics.median(of_best),
        "winner_us": statistics.median(of_winner),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }


def the_kernel() -> Any:
    """Return the kernel of the example, without its own autotuner."""
    spec = importlib.util.spec_from_file_location("matmul", EXAMPLE)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{EXAMPLE} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.matmul_kernel.fn


def config_of(configuration: Configuration) -> Any:
    import triton

    named = dict(configuration)
    options = {name: named.pop(name) for name in ("num_warps", "num_stages")}
    return triton.Config(named, **options)


def plain(config: Any) -> Configuration:
    return {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}


if __name__ == "__main__":
    main()
