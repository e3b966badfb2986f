"""Compiles an application's kernel with Triton's JIT through tritonc's hook.

Its arguments are the application's folder, its kernel, the URL of a service and a URL without one.
It prints the outcome and cache hits of versions of the kernel: with the service, later without it,
and for versions that were never compiled.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from typing import Any

import tritonc
from tritonc.jit_hook import JitHook


class Driver:
    """Fakes a GPU: compiling needs only its name."""

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def compiled(function: Any, url: str, blocks: list[int]) -> dict[str, Any]:
    """Compile the function for some block sizes, with a hook that uses `url`."""
    import triton

    hits: list[bool] = []
    triton.knobs.compilation.listener = lambda **said: hits.append(said["cache_hit"])
    triton.knobs.runtime.jit_cache_hook = None
    function.device_caches.clear()  # as in a new process
    with tritonc.Client(url) as client:
        hook = JitHook(client).install()
        for block in blocks:
            pointer = triton.MockTensor(triton.language.float32)
            function.warmup(pointer, 4096, BLOCK=block, grid=(1,))
    return {"outcomes": hook.outcomes, "cache_hit": hits}


def main(folder: str, kernel: str, service: str, absent: str) -> None:
    import triton

    logging.basicConfig()
    sys.path.insert(0, folder)
    triton.runtime.driver.set_active(Driver())
    module, _, name = kernel.partition(":")
    function = getattr(importlib.import_module(module), name)
    reported = [
        compiled(function, service, [512]),
        compiled(function, absent, [512]),
        compiled(function, absent, [64, 128]),
    ]
    json.dump(reported, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
