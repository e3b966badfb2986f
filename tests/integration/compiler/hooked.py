"""Captures the data that Triton's JIT passes to its hooks for one launch, and its PTX.

It reads {"source", "path"} on stdin. The source defines a kernel `kernel` without launches, and
`ARGUMENTS` and `KEYWORDS` for the call.
"""

import json
import sys

from direct import load


class Driver:
    def get_current_target(self):
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


def main():
    import triton

    triton.runtime.driver.set_active(Driver())
    module = load(json.load(sys.stdin)["source"], "/kernel/user.py")
    seen = []
    triton.knobs.runtime.jit_cache_hook = lambda **said: seen.append(
        said["compile"]["specialization_data"]
    )
    made = module.kernel.warmup(*module.ARGUMENTS, grid=(1,), **module.KEYWORDS)
    json.dump({"specialization_data": seen[-1], "ptx": made.asm["ptx"]}, sys.stdout)


if __name__ == "__main__":
    main()
