# expect: lowering_failed, line 12, hint compiles without warp_specialize=True of this loop
# says: unsupported load type for producer commit
# with: {"signature": {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp32", "n": "i32"}, "hints": {"a_ptr": ["divisible_by_16"], "b_ptr": ["divisible_by_16"], "n": ["divisible_by_16"]}}
import triton
import triton.language as tl

@triton.jit
def kernel(a_ptr, b_ptr, c_ptr, n):
    r = tl.arange(0, 64)
    acc = tl.zeros((64, 64), tl.float32)
    rows = a_ptr + r[:, None] * n
    for k in tl.range(0, n, 64, warp_specialize=True):
        a = tl.load(rows + k + r[None, :], mask=r[None, :] < n - k, other=0.0)
        b = tl.load(b_ptr + (k + r)[:, None] * 64 + r[None, :], mask=r[:, None] < n - k, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + r[:, None] * 64 + r[None, :], acc)
# applied 12:     for k in tl.range(0, n, 64):
# or
# applied 11:     a_desc = tl.make_tensor_descriptor(a_ptr, [64, n], [n, 1], [64, 64])
# applied 11+:     b_desc = tl.make_tensor_descriptor(b_ptr, [n, 64], [64, 1], [64, 64])
# applied 13:         a = a_desc.load([0, k])
# applied 14:         b = b_desc.load([k, 0])
