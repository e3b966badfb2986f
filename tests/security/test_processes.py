"""User code starts and touches no process; the back end starts only its assembler."""

import pytest

from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

FORK_BOMB = """
import os
answer = 0
for _ in range(64):
    try:
        if os.fork() == 0:
            while True:
                pass
        answer += 1
    except OSError:
        pass
"""

THREADS = """
import threading
answer = 0
for _ in range(8):
    try:
        threading.Thread(target=print).start()
        answer += 1
    except RuntimeError:
        pass
"""

EXECUTE = """
import ctypes, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)

def memfd():
    fd = os.memfd_create("program", 0)
    os.write(fd, b"#!/bin/sh\\n")
    subprocess.check_call([f"/proc/self/fd/{fd}"])

def execve(path):
    if libc.execve(path.encode(), None, None) < 0:
        raise OSError(ctypes.get_errno(), "execve")

def execveat():
    if libc.syscall(322, -100, b"/bin/true", None, None, 0) < 0:
        raise OSError(ctypes.get_errno(), "execveat")

answer = []
for name, attempt in {
    "sh": lambda: subprocess.check_call(["/bin/sh", "-c", "exit 0"]),
    "system": lambda: os.system("exit 0") and 1 / 0,
    "python": lambda: os.posix_spawn(header["python"], ["python", "-c", ""], {}),
    "memfd": memfd,
    "execve": lambda: execve("/bin/true"),
    "execveat": execveat,
    "ptxas": lambda: subprocess.check_call([header["ptxas"], "--version"]),
}.items():
    try:
        attempt()
    except (OSError, ZeroDivisionError, subprocess.SubprocessError):
        continue
    answer.append(name)
"""

OTHERS = """
import ctypes, fcntl, os, signal, resource, struct
F_SETSIG, F_SETOWN_EX, F_OWNER_PID = 10, 15, 1
libc = ctypes.CDLL(None, use_errno=True)

def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")

answer = []
for name, attempt in {
    "kill the zygote": lambda: os.kill(header["zygote"], 0),
    "kill the parent": lambda: os.kill(1, 0),
    "kill all": lambda: os.kill(-1, 0),
    "kill the group": lambda: os.killpg(0, 0),
    "ptrace": lambda: check(libc.ptrace(0, 0, None, None)),
    "read memory": lambda: check(libc.process_vm_readv(header["zygote"], None, 0, None, 0, 0)),
    "pidfd": lambda: os.pidfd_open(1),
    "limits of another": lambda: resource.prlimit(1, resource.RLIMIT_AS),
    "own limits raised": lambda: resource.setrlimit(resource.RLIMIT_AS, (-1, -1)),
    "own limits lowered": lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    "priority": lambda: os.nice(-1),
    "priority of another": lambda: os.setpriority(os.PRIO_PROCESS, 1, 0),
    "new session": os.setsid,
    "new group": lambda: os.setpgid(0, 0),
    "uid": lambda: os.setuid(0),
    "dumpable": lambda: check(libc.prctl(4, 1, 0, 0, 0)),
    "parent death signal": lambda: check(libc.prctl(1, 0, 0, 0, 0)),
    "unshare": lambda: check(libc.unshare(0x10000000)),
    "mount": lambda: check(libc.mount(b"none", b"/", None, 0, None)),
    "another filter": lambda: check(libc.syscall(317, 1, 0, None)),
    "signals of a pipe to another": lambda: fcntl.fcntl(1, fcntl.F_SETOWN, header["other"]),
    "signals of a pipe to a thread": lambda: fcntl.fcntl(
        1, F_SETOWN_EX, struct.pack("=ii", F_OWNER_PID, header["other"])
    ),
    "another signal of a pipe": lambda: fcntl.fcntl(1, F_SETSIG, signal.SIGKILL),
    "a lease": lambda: fcntl.fcntl(1, fcntl.F_SETLEASE, fcntl.F_RDLCK),
    "io_uring": lambda: check(libc.syscall(425, 1, None)),
    "bpf": lambda: check(libc.syscall(321, 0, None, 0)),
    "userfaultfd": lambda: check(libc.syscall(323, 0)),
    "keyring": lambda: check(libc.syscall(250, 0, -1, 0)),
    "perf": lambda: check(libc.syscall(298, None, 0, -1, -1, 0)),
}.items():
    try:
        attempt()
    except (OSError, ValueError):  # ValueError is how setrlimit says EPERM
        continue
    answer.append(name)
"""


@pytest.mark.parametrize("profile", ["parse", "front", "record", "prove"])
@pytest.mark.parametrize("source", [FORK_BOMB, THREADS], ids=["fork", "thread"])
async def test_only_the_back_end_multiplies(attack, profile, source):
    outcome = await attack(source, profile)
    assert outcome.result["answer"] == 0


@pytest.mark.parametrize("profile", ["parse", "front", "record", "prove"])
async def test_only_the_back_end_starts_programs(attack, profile, ptxas):
    outcome = await attack(EXECUTE, profile, ptxas=ptxas, python="/usr/bin/python3")
    assert outcome.result["answer"] == []


async def test_the_back_end_starts_its_assembler_and_no_installed_program(attack, ptxas):
    outcome = await attack(EXECUTE, "back", ptxas=ptxas, python="/usr/bin/python3")
    assert outcome.result["answer"] == ["ptxas"]


@pytest.mark.parametrize("profile", ["front", "record", "prove", "back"])
async def test_no_other_process_and_no_wall_can_be_touched(attack, pool, profile):
    # process 1 takes no signal that it does not ask for, should an attempt succeed
    outcome = await attack(OTHERS, profile, zygote=pool.zygote_pid, other=1)
    assert outcome.ending is Ending.OK, outcome
    assert outcome.result["answer"] == []
