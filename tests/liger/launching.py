"""A fresh process that runs modules of liger-kernel on a pretended GPU, up to each launch.

The argument is the URL of a service for the hook, or "". Each launch becomes Triton's `warmup`, so
that its JIT looks for the kernel in its cache, or compiles it. It prints a JSON object: `outcomes`
of the hook; `hits`, whether Triton found each kernel in its cache; and `compiled`, the `file` of
each kernel and the `data` that Triton gives its hooks.
"""

from __future__ import annotations

import inspect
import json
import sys
from typing import Any

import torch
import triton
import tritonc
from tritonc.jit_hook import JitHook


class Driver:
    """Fakes a GPU: compiling needs only its name."""

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int = 0) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        return torch.device("cpu")


def launches() -> None:
    """Call functions of the package forwards and backwards, without their results."""
    from liger_kernel.ops.geglu import LigerGELUMulFunction
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction
    from liger_kernel.ops.rope import LigerRopeFunction
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    def tensor(*shape: int) -> torch.Tensor:
        return torch.zeros(*shape, requires_grad=True)

    LigerRMSNormFunction.apply(tensor(16, 512), tensor(512), 1e-6).sum().backward()
    LigerLayerNormFunction.apply(tensor(16, 512), tensor(512), tensor(512), 1e-5).sum().backward()
    LigerSiLUMulFunction.apply(tensor(16, 512), tensor(16, 512)).sum().backward()
    LigerGELUMulFunction.apply(tensor(16, 512), tensor(16, 512)).sum().backward()
    angles = torch.zeros(1, 8, 64)
    LigerRopeFunction.apply(tensor(1, 4, 8, 64), tensor(1, 4, 8, 64), angles, angles)


def main(url: str) -> None:
    triton.runtime.driver.set_active(Driver())
    run = triton.JITFunction.run

    def warmed_up(self: Any, *arguments: Any, warmup: bool, **named: Any) -> Any:
        del warmup
        return run(self, *arguments, warmup=True, **named)

    triton.JITFunction.run = warmed_up
    hits: dict[str, bool] = {}
    compiled: dict[str, dict[str, Any]] = {}

    def listen(*, src: Any, cache_hit: bool, **_: Any) -> None:
        hits[src.name] = cache_hit

    def note(*, fn: Any, **others: Any) -> bool:
        data = json.loads(others["compile"]["specialization_data"])
        file = inspect.getsourcefile(fn.jit_function.fn)
        compiled[fn.jit_function.__name__] = {"file": file, "data": data}
        return False

    triton.knobs.compilation.listener = listen
    triton.knobs.runtime.jit_cache_hook = note
    hook = JitHook(tritonc.Client(url)).install() if url else None
    launches()
    outcomes = hook.outcomes if hook else {}
    json.dump({"outcomes": outcomes, "hits": hits, "compiled": compiled}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
