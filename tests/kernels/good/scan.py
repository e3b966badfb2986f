# with: {"kernel": "scan", "signature": {"x_ptr": "*fp32", "y_ptr": "*fp32"}, "constexprs": {"BLOCK": 256}}
import triton
import triton.language as tl


@triton.jit
def combine(a_decay, a_value, b_decay, b_value):
    return a_decay * b_decay, b_value + b_decay * a_value


@triton.jit
def scan(x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    decay = tl.load(x_ptr + offsets)
    value = tl.load(y_ptr + offsets)
    _, states = tl.associative_scan((decay, value), 0, combine)
    tl.store(y_ptr + offsets, states + tl.cumsum(value, 0))
