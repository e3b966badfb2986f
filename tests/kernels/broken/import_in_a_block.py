# expect: missing_module, line 7, hint "my/helpers.py"
# says: No module named 'my'
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl
if True:
    from my.helpers import helper
@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, helper(1.0))
# applied with: {"signature": {"x_ptr": "*fp32"}, "files": {"my/helpers.py": "import triton\n@triton.jit\ndef helper(x):\n    return x * 2\n"}}
