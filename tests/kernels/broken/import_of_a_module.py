# expect: missing_module, line 6, hint "mylib/ops.py"
# says: No module named 'mylib'
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
from mylib import ops
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, ops.helper(1.0))
# applied with: {"signature": {"x_ptr": "*fp32"}, "files": {"mylib/ops.py": "import triton\n@triton.jit\ndef helper(x):\n    return x * 2\n"}}
