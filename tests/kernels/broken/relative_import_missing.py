# expect: compile_error, line 6, hint "helpers.py"
# says: cannot import name 'helpers'
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
from . import helpers
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, helpers.helper(1.0))
# applied with: {"signature": {"x_ptr": "*fp32"}, "files": {"helpers.py": "import triton\n@triton.jit\ndef helper(x):\n    return x * 2\n"}}
