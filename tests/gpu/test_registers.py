"""A kernel that reads uninitialized registers finds no values of earlier kernels."""

import json
import subprocess
import sys
from pathlib import Path

from tests.gpu.conftest import a_command

NUMBERS = [f"%q{place}" for place in range(96)]
MIXED = [
    f"mad.lo.u32 {one}, {one}, {NUMBERS[(place + 7) % len(NUMBERS)]}, {place + 3};"
    for place, one in enumerate(NUMBERS)
]
STORED = [f"st.global.u32 [%at+{4 * place}], {one};" for place, one in enumerate(NUMBERS)]
LOOKS_AROUND = f"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry looks_around(.param .u64 found) {{
    .reg .pred %p;
    .reg .b64 %at, %place;
    .reg .b32 %thread, %threads, %block, %times, {", ".join(NUMBERS)};
    ld.param.u64 %at, [found];
    mov.u32 %thread, %tid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %block, %ctaid.x;
    mad.lo.u32 %thread, %block, %threads, %thread;
    mov.u32 %times, %ntid.y;
AGAIN:
    setp.le.u32 %p, %times, 1;
    @%p bra END;
    {" ".join(MIXED)}
    sub.u32 %times, %times, 1;
    bra AGAIN;
END:
    mul.wide.u32 %place, %thread, {4 * len(NUMBERS)};
    add.u64 %at, %at, %place;
    {" ".join(STORED)}
    ret;
}}"""
"""Registers hold all values of a loop that never runs, uninitialized, at once."""
PROGRAM = """
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from cuda.bindings import driver as cu
from worker.gpu.timing_integrity.run_comparison import Piece, Tallies
from worker.gpu.launcher.device import check, open_device
from worker.gpu.launcher.launcher_context import LauncherContext

THREADS, THREAD_BYTES, SIZE = 256, int(sys.argv[3]), 393_728
context = LauncherContext(open_device(0))
memory, blocks = context.memory, 2 * context.device.multiprocessors
module = check(cu.cuModuleLoadData(sys.argv[2].encode() + bytes(1)), "loading")
looks_around = check(cu.cuModuleGetFunction(module, b"looks_around"), "finding")
found = memory.take(blocks * THREADS * THREAD_BYTES, 16)
run, other = memory.take(SIZE, 16), memory.take(SIZE, 16)
[table] = context.comparison.tables([[Piece(run.address, other.address, SIZE)]])
tally = Tallies(memory, 1).address(0)
address = ctypes.c_uint64(found.address)
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(address))


def compare_and_look(clear):
    memory.fill(found.address, found.size_bytes, 0)
    memory.wait()
    context.comparison.compare(table, tally)
    if clear:
        context.registers.clear()
    check(cu.cuLaunchKernel(looks_around, blocks, 1, 1, THREADS, 1, 1, 0, context.device.stream,
                            ctypes.addressof(parameters), 0), "looking")
    numbers = memory.read(found.address, found.size_bytes).view(np.uint32)
    secrets = [one & 0xFFFFFFFF for one in (other.address, table.address, tally)]
    return [int((numbers == one).sum()) for one in secrets]


print(json.dumps([compare_and_look(False), *(compare_and_look(True) for _ in range(20))]))
"""


def test_addresses_of_comparisons_are_in_no_register(figure):
    root, thread_bytes = str(Path(__file__).parents[2]), str(4 * len(NUMBERS))
    done = subprocess.run(
        [sys.executable, "-s", "-P", "-c", PROGRAM, root, LOOKS_AROUND, thread_bytes],
        capture_output=True,
        text=True,
        timeout=100,
        env=a_command().environ(),
    )
    assert done.returncode == 0, done.stderr
    uncleared, *cleared = json.loads(done.stdout)
    figure(f"uncleared {uncleared}")

    assert any(uncleared)  # otherwise this test checks nothing
    assert not any(map(any, cleared))
