"""Programs that wait for values of other programs."""

import triton
import triton.language as tl


@triton.jit
def waits_for_the_next(x_ptr, flags_ptr, z_ptr):
    program = tl.program_id(0)
    last = tl.num_programs(0) - 1
    if program < last:
        while tl.atomic_add(flags_ptr + program + 1, 0) == 0:
            pass
        tl.store(z_ptr + program, tl.load(z_ptr + program + 1) + tl.load(x_ptr + program))
    else:
        tl.store(z_ptr + program, tl.load(x_ptr + program))
    tl.atomic_xchg(flags_ptr + program, 1)


@triton.jit
def wait_until(count_ptr, value):
    while tl.atomic_add(count_ptr, 0) < value:
        pass


@triton.jit
def meets_at_a_barrier(x_ptr, count_ptr, z_ptr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    tl.store(z_ptr + program * BLOCK + lanes, 2 * tl.load(x_ptr + program * BLOCK + lanes))
    tl.atomic_add(count_ptr, 1)
    wait_until(count_ptr, tl.num_programs(0))
    other = tl.num_programs(0) - 1 - program
    seen = tl.load(z_ptr + other * BLOCK + lanes)
    tl.atomic_add(count_ptr, 1)
    wait_until(count_ptr, 2 * tl.num_programs(0))
    tl.store(z_ptr + program * BLOCK + lanes, seen)


@triton.jit
def wait_for_each_other(flags_ptr, z_ptr):
    if tl.program_id(0) == 0:
        while tl.atomic_add(flags_ptr + 1, 0) == 0:
            pass
        tl.atomic_xchg(flags_ptr, 1)
    else:
        while tl.atomic_add(flags_ptr, 0) == 0:
            pass
        tl.atomic_xchg(flags_ptr + 1, 1)
    tl.store(z_ptr + tl.program_id(0), 1.0)


@triton.jit
def keeps_its_lock(lock_ptr, z_ptr):
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(z_ptr, tl.load(z_ptr) + 1.0)


@triton.jit
def gives_up(flags_ptr, z_ptr):
    tries = 0
    while (tl.atomic_add(flags_ptr, 0) == 0) & (tries < 3000):
        tries += 1
    tl.store(z_ptr + tl.program_id(0), tries.to(tl.float32))


@triton.jit
def polls(flags_ptr, z_ptr):
    program = tl.program_id(0)
    if program == 0:
        tl.atomic_poll(flags_ptr, 1)
    tl.store(z_ptr + program, 1.0)
    tl.atomic_add(flags_ptr, program)


@triton.jit
def never_counts(z_ptr):
    i = tl.program_id(0)
    while i < 2:
        tl.store(z_ptr, 1.0)
