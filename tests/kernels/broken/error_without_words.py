# expect: compile_error, line 11, hint none
# with: {"signature": {"x_ptr": "*fp32"}}
import triton
import triton.language as tl

class Silent(BaseException):
    def __str__(self):
        raise RuntimeError

def value():
    raise Silent

VALUE = tl.constexpr(value())

@triton.jit
def kernel(x_ptr):
    tl.store(x_ptr, VALUE)
