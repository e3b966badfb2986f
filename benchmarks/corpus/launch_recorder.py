"""Runs test files of a package on CPU tensors, and records the launches in it without running any.

`python launch_recorder.py ROOT OUT TEST_FILE...` runs with torch and Triton but without tritond.
Tests see an H200; tensors "on" it are the CPU's. Kernels do nothing, so that most tests fail where
they compare; what they launched until then is recorded as JSON lines.
"""

import importlib
import json
import multiprocessing.process
import os
import random
import resource
import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FILE_CPU_S = 40
FILE_S = 300
ITEM_CPU_S = 2
MEMORY_BYTES = 12 << 30
MAX_ITEMS = 5
"""The most tests of one function: others differ in what they are parametrized with."""
MAX_LAUNCHES = 200
"""The most launches of one kernel that are recorded of a file."""


def main() -> None:
    """Record the launches of some test files, each in a forked process."""
    root, out, *tests = map(Path, sys.argv[1:])
    report = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the output of tests belongs into the log
    os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    from pretended import pretend

    pretend(out.parent / "cache")
    import torch

    sys.path[0] = str(root)  # replaces this folder, whose module names may clash
    torch.set_num_threads(1)
    importlib.import_module("torch._dynamo")  # most packages need it, and forks share it
    # tests of several GPUs would wait for processes that see none
    multiprocessing.process.BaseProcess.start = _refused
    for test in tests:
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            _of_file(root, out, test)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        print(f"{test}: exit {code}", file=sys.stderr)
        print(f"ended: {test}", file=report, flush=True)


def _of_file(root: Path, out: Path, test: Path) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (FILE_CPU_S, FILE_CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.alarm(FILE_S)
    with out.open("a") as file, _on_cpu():
        _record_into(file, root)
        os.chdir(test.parent)
        # without settings, neither the package's nor ours
        options = ["-c", "/dev/null", "-q", "--tb=line", "-p", "no:cacheprovider", "--no-header"]
        code = pytest.main([*options, str(test)], plugins=[_Limits()])
        if code == pytest.ExitCode.USAGE_ERROR:  # its conftest.py needs what is not here
            pytest.main([*options, "--noconftest", str(test)], plugins=[_Limits()])


def _refused(*_: object) -> None:
    raise OSError("tests start no processes here")


class _Limits:
    """Few tests of each function, each with bounded time."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep some tests of each function, drawn at random but always the same."""
        by_function: dict[str, list[pytest.Item]] = {}
        for item in items:
            by_function.setdefault(item.nodeid.partition("[")[0], []).append(item)
        draw = random.Random(0)
        items[:] = [
            item
            for group in by_function.values()
            for item in draw.sample(group, min(len(group), MAX_ITEMS))
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        """Raise in a test that takes too long."""

        def stop(*_: object) -> None:
            raise TimeoutError(f"{item.nodeid} takes more than {ITEM_CPU_S} s of CPU time")

        signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, ITEM_CPU_S)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def _on_cpu() -> Any:
    """Return a mode in which the device `cuda` is the CPU, and tensors say that they are on it."""
    import torch
    from torch.overrides import TorchFunctionMode

    pretended = torch.device("cuda", 0)

    def moved(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device("cpu") if value.type == "cuda" else value
        is_name = isinstance(value, str) and value.partition(":")[0] == "cuda"
        return "cpu" if is_name else value

    class OnCpu(TorchFunctionMode):
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if function is torch.Tensor.is_cuda.__get__:
                return True
            if function is torch.Tensor.device.__get__:
                device = function(*args)
                return pretended if device.type == "cpu" else device
            if function is torch.Tensor.cuda:
                return args[0].clone()
            if function is torch.Tensor.pin_memory:
                return args[0]
            kwargs = {name: moved(value) for name, value in (kwargs or {}).items()}
            kwargs.pop("pin_memory", None)
            if kwargs.get("device") == "":  # vLLM's name of a platform that it does not know
                kwargs["device"] = "cpu"
            return function(*map(moved, args), **kwargs)

    _pretend_streams()
    _register_on_cpu()
    return OnCpu()


def _register_on_cpu() -> None:
    """Register operators for CUDA as those of the CPU."""
    from torch.library import Library

    implement = Library.impl

    def impl(self: Any, name: Any, function: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
        key = "CPU" if dispatch_key == "CUDA" else dispatch_key
        return implement(self, name, function, key, **kwargs)

    Library.impl = impl


def _pretend_streams() -> None:
    import contextlib

    import torch

    class Nothing(contextlib.nullcontext[Any]):
        """A device, stream or event that does nothing."""

        def __init__(self, *_: object, **__: object) -> None:
            super().__init__(self)
            self.cuda_stream = 0

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return lambda *_, **__: 0

    cuda = torch.cuda
    for name in ("device", "stream", "Stream", "Event", "current_stream", "default_stream"):
        setattr(cuda, name, Nothing)
    for name in ("synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_device",
                 "init", "_lazy_init", "reset_peak_memory_stats", "ipc_collect"):  # fmt: skip
        setattr(cuda, name, lambda *_, **__: None)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved"):
        setattr(cuda, name, lambda *_, **__: 0)
    cuda.is_bf16_supported = lambda *_, **__: True
    cuda.is_initialized = lambda: True
    cuda.get_rng_state = lambda *_, **__: torch.get_rng_state()
    cuda.set_rng_state = lambda *_, **__: None
    cuda.get_arch_list = lambda: ["sm_90"]
    cuda.mem_get_info = lambda *_: (140 << 30, 150 << 30)


def _record_into(file: Any, root: Path) -> None:
    """Have every launch recorded instead of run."""
    from triton.runtime import autotuner, driver, jit

    written = Counter[tuple[str, str]]()

    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        place = (_file_in(root, self.fn.__code__.co_filename), self.fn.__name__)
        if not warmup and place[0] and written[place] < MAX_LAUNCHES:
            written[place] += 1
            file.write(json.dumps(_launch(self, place, driver, grid, args, kwargs)) + "\n")
            file.flush()
        return SimpleNamespace(n_regs=0, n_spills=0, asm={}, metadata=SimpleNamespace(shared=0))

    jit.JITFunction.run = run
    autotuner.Autotuner._bench = lambda *_, **__: [1.0, 1.0, 1.0]


def _file_in(root: Path, path: str) -> str:
    """Return a file's path in the package, "" for others; tests may use a copy next to them."""
    parts = Path(path).parts
    suffixes = (str(Path(*parts[start:])) for start in range(1, len(parts)))
    return next((suffix for suffix in suffixes if (root / suffix).is_file()), "")


def _launch(
    function: Any, place: tuple[str, str], driver: Any, grid: Any, args: Any, kwargs: Any
) -> dict[str, Any]:
    """Return the launch as JSON: Triton's own signature and constants, shapes, scalars, grid."""
    device = driver.active.get_current_device()
    *_, backend, binder = function.device_caches[device]
    made = kwargs | {"debug": False, "instrumentation_mode": "", "fpsan_homomorphic_casts": False}
    bound, specialization, options = binder(*args, **made)
    _, signature, constants, _ = function._pack_args(backend, made, bound, specialization, options)
    constexprs = {
        function.params[path[0]].name: _constant(value)
        for path, value in constants.items()
        if len(path) == 1
    }
    programs = grid(bound) if callable(grid) else grid
    return {
        "file": place[0], "name": place[1], "signature": signature, "constexprs": constexprs,
        "is_constexpr": [parameter.name for parameter in function.params if parameter.is_constexpr],
        "options": {n: int(kwargs[n]) for n in ("num_warps", "num_stages") if n in kwargs},
        "arguments": {n: _argument(v) for n, v in bound.items() if signature.get(n) != "constexpr"},
        "grid": [int(axis) for axis in ([programs] if isinstance(programs, int) else programs)],
    }  # fmt: skip


def _constant(value: Any) -> Any:
    """Return a constant as in the guesses of `guesses.py`; raises TypeError for other objects."""
    import triton.language as tl

    if isinstance(value, tl.dtype):
        return {"dtype": str(value)}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    return {"object": type(value).__name__}


def _argument(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor):
        return value if isinstance(value, bool | int | float) else {"object": type(value).__name__}
    is_index = value.dtype in (torch.int32, torch.int64) and value.numel()
    return {
        "shape": list(value.shape),
        "strides": list(value.stride()),
        "elements": value.untyped_storage().nbytes() // value.element_size()
        - value.storage_offset(),
        "range": [int(value.min()), int(value.max())] if is_index else None,
    }


if __name__ == "__main__":
    main()
