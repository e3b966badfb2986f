# expect: unknown_kernel, line 8, hint @staticmethod
# says: is a method
import triton
import triton.language as tl

class K:
    @triton.jit
    def run(self, x_ptr):
        tl.store(x_ptr, 1.0)
