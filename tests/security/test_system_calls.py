"""A child can make exactly the system calls that its profile names; each is tried."""

import platform

import pytest

from worker.pool.child_outcome import Ending
from worker.sandbox import seccomp
from worker.sandbox.profile import PROFILES

pytestmark = pytest.mark.asyncio(loop_scope="session")

NEVER_TRIED = {"exit", "exit_group", "rt_sigreturn", "vfork", "brk"}
KERNEL_S_OWN = [335, 336]  # uretprobe and uprobe pass any filter, and kill the caller
JUDGED_BY_ARGUMENTS = {"ioctl", "clone3"}  # refused with an error other than EPERM

TRY_ALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
minus_one = ctypes.c_long(-1)
answer = []
for number in range(520):
    if number in header["skipped"]:
        continue
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), *[minus_one] * 6) < 0:
        if ctypes.get_errno() == errno.EPERM:
            continue
    answer.append(number)
"""


@pytest.mark.parametrize("profile", ["parse", "front", "record", "prove", "back"])
async def test_every_other_system_call_is_refused(attack, profile):
    machine = seccomp.machine()
    skipped = [*KERNEL_S_OWN, *filter(None, map(machine.number, NEVER_TRIED))]
    outcome = await attack(TRY_ALL, profile, skipped=skipped)
    assert outcome.ending is Ending.OK, outcome
    allowed = PROFILES[profile].calls | JUDGED_BY_ARGUMENTS
    expected = {machine.number(name) for name in allowed - NEVER_TRIED} - {None}
    assert set(outcome.result["answer"]) == expected


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x32 exists on x86_64 only")
@pytest.mark.parametrize("number", [0, 1, 39, 59, 520])
async def test_the_x32_numbers_end_the_child(attack, number):
    source = f"import ctypes\nctypes.CDLL(None).syscall(ctypes.c_long({number} | 0x40000000))"
    outcome = await attack(source)
    assert outcome.ending is Ending.SIGNAL
    assert outcome.signal == 31


@pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code for x86_64")
async def test_the_32_bit_entry_ends_the_child(attack):
    source = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
"""
    outcome = await attack(source)
    assert outcome.ending is Ending.SIGNAL
