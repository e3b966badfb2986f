"""Lets Triton's JIT compile a kernel of an application, with tritonc's hook in between.

Is given where the application is, its kernel, the URL of a service and one where nobody answers.
Prints what became of versions of the kernel, and whether Triton's cache knew them: with the
service, in a later process without it, and of versions that nobody has compiled.
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
    """Stands for a GPU that is not there: compiling asks only which one it is."""

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def compiled(function: Any, url: str, blocks: list[int]) -> dict[str, Any]:
    """Compile the function for some sizes of blocks, behind a hook that asks `url`."""
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


def main(folder: str, kernel: str, service: str, nobody: str) -> None:
    import triton

    logging.basicConfig()
    sys.path.insert(0, folder)
    triton.runtime.driver.set_active(Driver())
    module, _, name = kernel.partition(":")
    function = getattr(importlib.import_module(module), name)
    reported = [
        compiled(function, service, [512]),
        compiled(function, nobody, [512]),
        compiled(function, nobody, [64, 128]),
    ]
    json.dump(reported, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
