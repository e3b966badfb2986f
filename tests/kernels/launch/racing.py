"""Programs that meet in memory: some get in each other's way, some are ordered or agree."""

import triton
import triton.language as tl


@triton.jit
def writes_its_number(out_ptr):
    tl.store(out_ptr + 2, tl.program_id(0))


@triton.jit
def writes_the_same(out_ptr):
    tl.store(out_ptr + tl.arange(0, 4), 7)


@triton.jit
def overlaps(x_ptr, out_ptr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) + tl.program_id(0))


@triton.jit
def shifts_in_place(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets + 1)
    tl.store(x_ptr + offsets, x)


@triton.jit
def reads_its_neighbour(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, offsets)
    before = tl.load(x_ptr + offsets - 1, offsets > 0, 0)
    tl.store(out_ptr + offsets, before)


@triton.jit
def adds_up(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x, 0))


@triton.jit
def adds_up_atomically(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out_ptr, tl.sum(x, 0))


@triton.jit
def adds_up_under_a_lock(x_ptr, out_ptr, lock_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(out_ptr, tl.load(out_ptr) + tl.sum(x, 0))
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def the_last_one_adds_up(x_ptr, parts_ptr, count_ptr, out_ptr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    x = tl.load(x_ptr + program * BLOCK + tl.arange(0, BLOCK))
    tl.store(parts_ptr + program, tl.sum(x, 0))
    if tl.atomic_add(count_ptr, 1) == tl.num_programs(0) - 1:
        tl.store(out_ptr, tl.sum(tl.load(parts_ptr + tl.arange(0, 4)), 0))


@triton.jit
def adds_atomically_and_reads(count_ptr, out_ptr):
    tl.atomic_add(count_ptr, 1, sem="relaxed")
    tl.store(out_ptr + tl.program_id(0), tl.load(count_ptr))


@triton.jit
def lanes_meet(x_ptr, out_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out_ptr + lanes // 2, tl.load(x_ptr + lanes))


@triton.jit
def writes_bytes(out_ptr):
    octets = out_ptr.to(tl.pointer_type(tl.int8))
    tl.store(octets + tl.program_id(0), tl.program_id(0).to(tl.int8))


@triton.jit
def waits_for_its_predecessor(flags_ptr, out_ptr):
    program = tl.program_id(0)
    if program > 0:
        while tl.atomic_add(flags_ptr + program - 1, 0) == 0:
            pass
    tl.store(out_ptr + program, program)
    tl.atomic_xchg(flags_ptr + program, 1)


@triton.jit
def overwrites_what_others_count(count_ptr, LAST: tl.constexpr):
    tl.atomic_add(count_ptr, 1)
    if tl.program_id(0) == LAST:
        tl.store(count_ptr, 5)


@triton.jit
def writes_if_overtaken(count_ptr, out_ptr):
    if tl.atomic_add(count_ptr, 1) != tl.program_id(0):
        tl.store(out_ptr, tl.program_id(0))


@triton.jit
def masks_by_ticket(count_ptr, data_ptr, out_ptr):
    program = tl.program_id(0)
    tl.store(data_ptr + program, program)
    ticket = tl.atomic_add(count_ptr, 1)
    is_last = ticket == tl.num_programs(0) - 1
    data = tl.load(data_ptr + tl.arange(0, 4), mask=is_last & (tl.arange(0, 4) >= 0), other=0)
    tl.store(out_ptr, tl.sum(data, 0), mask=is_last)


@triton.jit
def publishes_without_asking(flag_ptr, data_ptr, out_ptr):
    program = tl.program_id(0)
    if program == 0:
        tl.store(data_ptr, 7)
    old = tl.atomic_add(flag_ptr, 1)
    if program == 1:
        tl.store(out_ptr, tl.load(data_ptr) + old)


@triton.jit
def counts_within_its_program(count_ptr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    tl.atomic_add(count_ptr + offsets, 1, scope="cta")


@triton.jit
def adds_without_atomics(out_ptr):
    old = tl.load(out_ptr)
    tl.store(out_ptr, old + 1.0)


@triton.jit
def adds_in_place(out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(out_ptr + offsets) + 1.0)
