# expect: missing_module, line 4, hint torch/_inductor/runtime/triton_helpers.py
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
from torch._inductor.runtime import triton_helpers as helpers

@triton.jit
def kernel(x_ptr):
    helpers.maximum(x_ptr, x_ptr)
# applied with: {"signature": {"x_ptr": "*fp32"}, "files": {"torch/_inductor/runtime/triton_helpers.py": "import triton\nimport triton.language as tl\n@triton.jit\ndef maximum(a, b):\n    tl.store(a, 1.0)\n"}}
