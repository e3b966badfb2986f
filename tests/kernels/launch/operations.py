"""One operation each that NumPy has no one name for, or that only a GPU has."""

import triton
import triton.language as tl
from triton.language.core import _aggregate as aggregate
from triton.language.extra import libdevice


@triton.jit
def calls_libdevice(x_ptr, out_ptr):
    lanes = tl.arange(0, 8)
    x = tl.load(x_ptr + lanes)
    tl.store(out_ptr + lanes, libdevice.tanh(x) + libdevice.pow(x, 2.0))


@triton.jit
def calls_libdevice_with_halves(x_ptr, out_ptr):
    tl.store(out_ptr, libdevice.tanh(tl.load(x_ptr)))


@triton.jit
def calls_what_numpy_lacks(x_ptr, out_ptr):
    tl.store(out_ptr, libdevice.erfinv(tl.load(x_ptr)))


@triton.jit
def writes_ptx(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    y = tl.inline_asm_elementwise("neg.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    tl.store(out_ptr, y)


@triton.jit
def square(x):
    return x * x


@triton.jit
def maps(x_ptr, out_ptr):
    tl.store(out_ptr, tl.map_elementwise(square, tl.load(x_ptr)))


@triton.jit
def exchanges(x_ptr, out_ptr):
    lanes = tl.arange(0, 8)
    tl.store(out_ptr + lanes, tl.atomic_xchg(x_ptr + lanes // 8, lanes.to(tl.float32)))


@triton.jit
def adds_narrow(x_ptr, out_ptr):
    lanes = tl.arange(0, 8)
    tl.atomic_add(out_ptr + lanes // 4, tl.load(x_ptr + lanes))


@triton.jit
def adds_through_a_descriptor(out_ptr):
    block = tl.make_tensor_descriptor(out_ptr, [4, 8], [8, 1], [4, 8])
    block.atomic_add([2, 0], tl.full((4, 8), 1, tl.float32))


@aggregate
class Pair:
    first: tl.tensor
    second: tl.tensor

    @triton.constexpr_function
    def __init__(self, first, second):
        self.first = first
        self.second = second

    @triton.jit
    def total(self):
        return self.first + self.second


@triton.jit
def adds_a_pair(x_ptr, out_ptr):
    pair = Pair(tl.load(x_ptr), tl.load(x_ptr + 1))
    tl.store(out_ptr, pair.total())


@triton.jit
def asks_for_its_target(out_ptr):
    if tl.target_info.cuda_capability_geq(9, 0):
        tl.store(out_ptr, 90)
    else:
        tl.store(out_ptr, 0)


@triton.jit
def makes_integers(x_ptr, out_ptr):
    lanes = tl.arange(0, 4)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes).to(out_ptr.dtype.element_ty))
