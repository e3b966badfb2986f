"""Programs that access an element twice: some threads keep the order, some do not."""

import triton
import triton.language as tl


@triton.jit
def stores_the_tail_again(x_ptr, out_ptr, WIDE: tl.constexpr, TAIL: tl.constexpr):
    lanes = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))
    tail = tl.program_id(0) * WIDE + (WIDE - TAIL) + tl.arange(0, TAIL)
    tl.store(out_ptr + tail, tl.load(x_ptr + tail) + 1)


@triton.jit
def stores_the_tail_after_a_barrier(x_ptr, out_ptr, WIDE: tl.constexpr, TAIL: tl.constexpr):
    lanes = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))
    tl.debug_barrier()
    tail = tl.program_id(0) * WIDE + (WIDE - TAIL) + tl.arange(0, TAIL)
    tl.store(out_ptr + tail, tl.load(x_ptr + tail) + 1)


@triton.jit
def stores_the_tail_after_a_sum(x_ptr, out_ptr, WIDE: tl.constexpr, TAIL: tl.constexpr):
    lanes = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    x = tl.load(x_ptr + lanes)
    tl.store(out_ptr + lanes, x)
    tail = tl.program_id(0) * WIDE + (WIDE - TAIL) + tl.arange(0, TAIL)
    tl.store(out_ptr + tail, tl.sum(x, 0) + tl.arange(0, TAIL))


@triton.jit
def stores_each_round(out_ptr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    for i in range(4):
        tl.store(out_ptr + i * STEP + tl.arange(0, BLOCK), i + tl.arange(0, BLOCK))


@triton.jit
def stores_in_place_twice(x_ptr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + lanes, tl.load(x_ptr + lanes) + 1)
    tl.store(x_ptr + lanes, tl.load(x_ptr + lanes) * 2)


@triton.jit
def reads_reversed(scratch_ptr, out_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(scratch_ptr + lanes, lanes)
    tl.store(out_ptr + lanes, tl.load(scratch_ptr + BLOCK - 1 - lanes))


@triton.jit
def zeroes_then_adds(out_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes, 0)
    tl.atomic_add(out_ptr + lanes // 2, 1)


@triton.jit
def loads_what_it_stored(x_ptr, out_ptr, BACK: tl.constexpr, STAGES: tl.constexpr):
    lanes = tl.arange(0, 16)
    for i in tl.range(0, 8, num_stages=STAGES):
        tl.store(x_ptr + (i + BACK) * 16 + lanes, i + lanes)
        tl.store(out_ptr + i * 16 + lanes, tl.load(x_ptr + i * 16 + lanes))


@triton.jit
def loads_what_it_stored_after_a_barrier(x_ptr, out_ptr):
    lanes = tl.arange(0, 16)
    for i in tl.range(0, 8, num_stages=2):
        tl.store(x_ptr + i * 16 + lanes, i + lanes)
        tl.debug_barrier()
        tl.store(out_ptr + i * 16 + lanes, tl.load(x_ptr + i * 16 + lanes))
