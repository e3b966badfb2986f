"""The exercises with the mistakes that learners make."""

import triton
import triton.language as tl


@triton.jit
def forgets_the_mask_of_its_store(x_ptr, z_ptr, N0, B0: tl.constexpr):
    lanes = tl.program_id(0) * B0 + tl.arange(0, B0)
    x = tl.load(x_ptr + lanes, lanes < N0, 0)
    tl.store(z_ptr + lanes, x + 10)


@triton.jit
def masks_one_too_many(x_ptr, z_ptr, N0, B0: tl.constexpr):
    lanes = tl.program_id(0) * B0 + tl.arange(0, B0)
    x = tl.load(x_ptr + lanes, lanes <= N0, 0)
    tl.store(z_ptr + lanes, x + 10, lanes <= N0)


@triton.jit
def masks_one_too_few(x_ptr, z_ptr, N0, B0: tl.constexpr):
    lanes = tl.program_id(0) * B0 + tl.arange(0, B0)
    x = tl.load(x_ptr + lanes, lanes < N0 - 1, 0)
    tl.store(z_ptr + lanes, x + 10, lanes < N0 - 1)


@triton.jit
def forgets_its_program(x_ptr, z_ptr, N0, B0: tl.constexpr):
    lanes = tl.arange(0, B0)
    x = tl.load(x_ptr + lanes, lanes < N0, 0)
    tl.store(z_ptr + lanes, x + 10, lanes < N0)


@triton.jit
def sums_along_the_other_axis(x_ptr, z_ptr, N: tl.constexpr):
    rows = tl.arange(0, N)[:, None]
    columns = tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + rows * N + columns)
    tl.store(z_ptr + tl.arange(0, N), tl.sum(x, 0))


@triton.jit
def fills_a_maximum_with_zero(x_ptr, z_ptr, N0, B0: tl.constexpr):
    lanes = tl.arange(0, B0)
    x = tl.load(x_ptr + lanes, lanes < N0, 0)
    tl.store(z_ptr, tl.max(x, 0))


@triton.jit
def writes_from_every_program(x_ptr, z_ptr, N0, B0: tl.constexpr):
    lanes = tl.program_id(0) * B0 + tl.arange(0, B0)
    x = tl.load(x_ptr + lanes, lanes < N0, 0)
    tl.store(z_ptr, tl.load(z_ptr) + tl.sum(x, 0))
