"""Correct and wrong kernels for the launcher's checks. Compiled by make_cubins.py."""
# ruff: noqa: N803 - constexprs are written in capitals

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@triton.jit
def add_half(x_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    tl.store(output_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)


@triton.jit
def store_at(output_ptr, index):
    tl.store(output_ptr + index, 1.0)


@triton.jit
def copy_bytes(x_ptr, output_ptr, n_elements):
    lanes = tl.arange(0, 8)
    tl.store(output_ptr + lanes, tl.load(x_ptr + lanes), mask=lanes < n_elements)


@triton.jit
def load_at(x_ptr, output_ptr, index):
    tl.store(output_ptr, tl.load(x_ptr + index))


@triton.jit
def peek_before(x_ptr, output_ptr, distance, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    tl.store(output_ptr + offsets, tl.load(x_ptr - distance + offsets))


@triton.jit
def store_far(output_ptr, distance):
    tl.store(output_ptr + distance, 1.0)


@triton.jit
def misaligned(output_ptr):
    address = output_ptr.to(tl.int64) + 1
    tl.store(address.to(tl.pointer_type(tl.float32)), 1.0)


@triton.jit
def assertion(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "x must be positive")


@triton.jit
def printing(x_ptr):
    tl.device_print("x is", tl.load(x_ptr))


@triton.jit
def endless(x_ptr, output_ptr):
    x = tl.load(x_ptr)
    while x == 0:
        x = tl.load(x_ptr, volatile=True)
    tl.store(output_ptr, x)


@triton.jit
def increment(x_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) + 1, mask=mask)


@triton.jit
def lazy(output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    found = tl.load(output_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, tl.where(found == 1.0, 2.0, 1.0), mask=mask)


@triton.jit
def spoil_input(x_ptr, output_ptr):
    tl.store(output_ptr, tl.load(x_ptr))
    tl.store(x_ptr, 5.0)


@triton.jit
def tickets(counter_ptr, output_ptr):
    tl.store(output_ptr + tl.program_id(0), tl.atomic_add(counter_ptr, 1))


@triton.jit
def scalars(o_ptr, f_ptr, yes, a, b, c, d, e, f, g, h, half, brain, single, double):
    tl.store(o_ptr, yes.to(tl.int64))
    tl.store(o_ptr + 1, a.to(tl.int64))
    tl.store(o_ptr + 2, b.to(tl.int64))
    tl.store(o_ptr + 3, c.to(tl.int64))
    tl.store(o_ptr + 4, d.to(tl.int64))
    tl.store(o_ptr + 5, e.to(tl.int64))
    tl.store(o_ptr + 6, f.to(tl.int64))
    tl.store(o_ptr + 7, g.to(tl.int64))
    tl.store(o_ptr + 8, h.to(tl.int64))
    tl.store(f_ptr, half.to(tl.float64))
    tl.store(f_ptr + 1, brain.to(tl.float64))
    tl.store(f_ptr + 2, single.to(tl.float64))
    tl.store(f_ptr + 3, double)


@triton.jit
def tuples(pair, output_ptr):
    pointer, number = pair
    tl.store(output_ptr, tl.load(pointer) + number)


@triton.jit
def copy_tile(source, output_ptr, row, column, M: tl.constexpr, N: tl.constexpr):
    tile = source.load([row, column])
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(output_ptr + offsets, tile)


@triton.jit
def store_tile(x_ptr, target, M: tl.constexpr, N: tl.constexpr):
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    target.store([0, 0], tl.load(x_ptr + offsets))


@triton.jit
def device_descriptor(x_ptr, output_ptr, rows, columns, M: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x_ptr, [rows, columns], [columns, 1], [M, N])
    tile = source.load([tl.program_id(0) * M, 0])
    at = tl.program_id(0) * M * N
    offsets = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(output_ptr + at + offsets, tile)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * K + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * N + columns[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, K, BLOCK_K):
        total = tl.dot(tl.load(a_ptrs), tl.load(b_ptrs), total)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


@triton.jit
def read_unwritten(x_ptr, output_ptr):
    tl.store(output_ptr, tl.load(x_ptr + 3))


@triton.jit
def race_in_shared(output_ptr, BLOCK_SIZE: tl.constexpr):
    offsets = tl.arange(0, BLOCK_SIZE)
    found = tl.inline_asm_elementwise(
        """
        {
            .shared .align 4 .b32 slots[1024];
            .reg .b32 base, mine, other, lane;
            mov.u32 base, slots;
            mov.u32 lane, %tid.x;
            shl.b32 mine, lane, 2;
            add.u32 mine, base, mine;
            st.shared.b32 [mine], $1;
            xor.b32 other, lane, 32;
            shl.b32 other, other, 2;
            add.u32 other, base, other;
            ld.shared.b32 $0, [other];
        }
        """,
        "=r,r",
        [offsets],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )
    tl.store(output_ptr + offsets, found)


@triton.jit
def trapped(output_ptr):
    found = tl.inline_asm_elementwise(
        "trap; mov.b32 $0, $1;", "=r,r", [1], dtype=tl.int32, is_pure=False, pack=1
    )
    tl.store(output_ptr, found)
