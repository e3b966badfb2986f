"""Our own GPU kernels as Python functions on the fake CUDA."""

import ctypes

import numpy as np

MASK = (1 << 64) - 1


def pointer(pointers, index, kind=ctypes.c_uint64):
    """Return one parameter of a kernel."""
    return kind.from_address(pointers[index]).value


def check_memory(gpu, pointers, grid):
    """Answer like the kernel of memory_checks.py, 16 bytes at a time."""
    table = gpu.memory(pointer(pointers, 0), 56 * grid[1], write=True).view(np.uint64)
    gpu.calls.append(("check", pointer(pointers, 0), int(table.any())))
    for row in table.reshape(-1, 7):
        start, size, mode, pattern, low, high, _ = map(int, row)
        if size:
            row[6] += np.uint64(answer(gpu.memory(start, size), mode, pattern, low, high))


def clear_registers(gpu, *_):
    """Note that it ran."""
    gpu.calls.append(("cleared", 0, 0))


def compare_runs(gpu, pointers, _grid):
    """Count like the kernel of run_comparison_ptx.py, and keep the worst element."""
    table, tally = pointer(pointers, 0), pointer(pointers, 1)
    counts = gpu.memory(tally, 56, write=True).view(np.uint64)
    rows = []
    for row in range(int(gpu.memory(table, 64).view(np.uint64)[7]) if table else 0):
        entry = gpu.memory(table + 64 * row, 64).view(np.uint64)
        left, other, kept, units, unit, poison, item, _ = map(int, entry)
        size = units * unit
        rows.append((left, kept, size))
        now, before = gpu.memory(left, size), gpu.memory(other, size)
        differing = now != before
        counts[0] += np.uint64(differing.sum())
        if item and size % item == 0:
            of_poison = (now == poison & 255).reshape(-1, item).all(axis=1)
            counts[1] += np.uint64(
                item * (of_poison & differing.reshape(-1, item).any(axis=1)).sum()
            )
    weight = min(int(counts[1]), 2**31 - 1) << 32 | min(int(counts[0]), 2**32 - 1)
    if weight > int(counts[2]):
        for left, kept, size in rows:
            if kept:
                gpu.memory(kept, size, write=True)[:] = gpu.memory(left, size)
    counts[6] = max(weight, int(counts[2]))


def draw_uniform(gpu, pointers, _grid):
    """Draw like the kernel of uniform_values_ptx.py, from the generator's key alone."""
    row = gpu.memory(pointer(pointers, 0), 56).view(np.uint64)
    to, count, *_, item = map(int, row)
    low, width = row[4:6].view(np.float64).tolist()
    source = np.random.Philox(key=row[2:4].copy())
    numbers = low + width * np.random.Generator(source).random(count)
    drawn = numbers.astype(f"f{item}").view(np.uint8)
    gpu.memory(to, drawn.size, write=True)[:] = drawn


def answer(content, mode, pattern, low, high):
    """Return the kernel's count or digest of bytes."""
    missing = {0: 0, 1: pattern, 2: ~pattern & MASK}[mode].to_bytes(8, "little")
    filling = np.frombuffer(missing * 2, np.uint8)[content.size % 16 or 16 :]
    words = np.concatenate([content, filling]).view(np.uint64)
    with np.errstate(over="ignore"):
        if mode == 0:
            return digest(words, pattern)
        found = words ^ np.uint64(pattern)
        if mode == 2:
            found = (found - np.uint64(low)) & ~found & np.uint64(high)
    return int(found.reshape(-1, 2).any(axis=1).sum())


def digest(words, key):
    steps = np.arange(words.size, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = words ^ (steps + np.uint64(key))
    for _ in range(2):
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return int(mixed.sum(dtype=np.uint64))
