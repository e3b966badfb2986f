# expect: unknown_kernel, line 8, hint @staticmethod
# says: is a method
import triton
import triton.language as tl

class K:
    @triton.jit
    def run(self, x_ptr):
        tl.store(x_ptr, 1.0)
# applied 7:     @staticmethod
# applied 7+:     @triton.jit
# applied 8:     def run(x_ptr):
# applied with: {"signature": {"x_ptr": "*fp32"}, "kernel": "K.run"}
