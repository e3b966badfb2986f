"""Compiles kernels with Triton's JIT like an application, and reports cache hits.

It reads {"source", "kernel", "arguments", "options", "target"} on stdin; an argument is {"tensor":
dtype}, {"descriptor": {"tensor": dtype}, "block_shape"}, {"tuple": [...]}, or a value. It prints
{"cache_hit", "binary": size}.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from direct import load


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


def main() -> None:
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    request = json.load(sys.stdin)
    triton.runtime.driver.set_active(Driver(request.get("target", ["cuda", 90, 32])))
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
    json.dump({"cache_hit": hits, "binary": len(binary)}, sys.stdout)


if __name__ == "__main__":
    main()
