# with: {"signature": {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}, "constexprs": {"BLOCK": 128}, "hints": {"x_ptr": ["divisible_by_16"]}}
import triton
import triton.language as tl


@triton.jit
def loops(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    largest = -float("inf")
    for i in range(0, n, BLOCK):
        x = tl.load(x_ptr + i + tl.arange(0, BLOCK))
        steps = 0
        while steps < 3:
            x = x * 0.5 + total
            steps += 1
        for j in tl.static_range(2):
            total += x * j
        if i > 1024:
            largest = tl.maximum(largest, tl.max(x, axis=0))
        else:
            largest = largest + 1.0
    tl.store(y_ptr + tl.arange(0, BLOCK), total + largest)
