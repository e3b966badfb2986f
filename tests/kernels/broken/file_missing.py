# expect: missing_module, line 5, hint files
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
from activations import gelu

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, gelu(tl.load(x_ptr)))
# applied with: {"signature": {"x_ptr": "*fp32"}, "files": {"activations.py": "import triton\nimport triton.language as tl\n@triton.jit\ndef gelu(x):\n    return x * 2\n"}}
