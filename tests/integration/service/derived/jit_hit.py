"""Compiles kernels with Triton's JIT like an application, and reports cache hits.

It reads {"cache", "source", "kernel", "arguments", "options", "target"} from each line of stdin; an
argument is {"tensor": dtype}, {"descriptor": {"tensor": dtype}, "block_shape"}, {"tuple": [...]},
or a value. It prints {"cache_hit", "binary": size} as a line. A fork of a process that has only
imported Triton answers each request.
"""

from __future__ import annotations

import os
from typing import Any

from direct import each_in_a_fork, load


class Driver:
    def __init__(self, target: list[Any]) -> None:
        self.target = target

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget(*self.target)

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


def answer(request: dict[str, Any]) -> dict[str, Any]:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    os.environ["TRITON_CACHE_DIR"] = request["cache"]
    triton.runtime.driver.set_active(Driver(request["target"]))
    module = load(request["source"], "/kernel/user.py")
    function = getattr(module, request["kernel"])
    while not isinstance(function, triton.JITFunction):
        function = function.fn
    hits: list[bool] = []
    triton.knobs.compilation.listener = lambda **said: hits.append(said["cache_hit"])

    def value(described: Any) -> Any:
        if not isinstance(described, dict):
            return described
        if "tuple" in described:
            return tuple(value(item) for item in described["tuple"])
        if "descriptor" in described:
            # Its constructor needs torch's dtypes; the JIT reads only base and block.
            made = TensorDescriptor.__new__(TensorDescriptor)
            made.base, made.block_shape = value(described["descriptor"]), described["block_shape"]
            return made
        return triton.MockTensor(getattr(tl, described["tensor"]))

    arguments = {name: value(item) for name, item in request["arguments"].items()}
    made = function.warmup(**arguments, grid=(1,), **request["options"])
    binary = made.asm["cubin" if "cubin" in made.asm else "hsaco"]
    return {"cache_hit": hits, "binary": len(binary)}


if __name__ == "__main__":
    each_in_a_fork(answer)
