"""Runs Triton's own autotuner on a cache, as an application would.

It reads {"path", "kernel", "arguments", "target"} on stdin; an argument is {"tensor": torch's
dtype}, or a value. There is no GPU: a fake driver records launches, and nothing is timed. It prints
{"chosen": configuration, "launched": keywords}, or {"benchmarked": true}.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from typing import Any


class Benchmarked(Exception):
    """The autotuner did not find its results."""


class Driver:
    def __init__(self, target: Any) -> None:
        self.target = target

    def get_current_target(self) -> Any:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        def benchmark(*_: Any, **__: Any) -> Any:
            raise Benchmarked

        return benchmark


class Tensor:
    """Has the one attribute of a tensor that the autotuner reads: the name of its type."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype

    def clone(self) -> Tensor:
        return self

    def zero_(self) -> None:
        return None


def main() -> None:
    import triton
    from triton.backends.compiler import GPUTarget

    request = json.load(sys.stdin)
    triton.runtime.driver.set_active(Driver(GPUTarget(*request["target"])))
    launched: dict[str, Any] = {}

    def run(_: Any, *args: Any, **kwargs: Any) -> None:
        launched.update({name: str(value) for name, value in kwargs.items()})

    triton.JITFunction.run = run
    spec = importlib.util.spec_from_file_location("somewhere.else_", request["path"])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = getattr(module, request["kernel"])
    tuner = kernel
    while not hasattr(tuner, "cache_results"):
        tuner = tuner.fn
    tuner.cache_results = True
    arguments = {
        name: Tensor(value["tensor"]) if isinstance(value, dict) else value
        for name, value in request["arguments"].items()
    }
    tensors = [item for item in arguments.values() if isinstance(item, Tensor)]
    others = {name: item for name, item in arguments.items() if not isinstance(item, Tensor)}
    try:
        kernel[(1,)](*tensors, **others)
    except Benchmarked:
        sys.stdout.write(json.dumps({"benchmarked": True}))
        return
    chosen = tuner.best_config.all_kwargs()
    json.dump({"chosen": chosen, "launched": launched}, sys.stdout, default=str)


if __name__ == "__main__":
    main()
