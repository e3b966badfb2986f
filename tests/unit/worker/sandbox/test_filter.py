"""The filter program decides every system call by its profile, on both architectures.

A small BPF interpreter runs it here.
"""

import errno
import fcntl
import signal
import struct

import pytest

from worker.sandbox import seccomp
from worker.sandbox.profile import PROFILES
from worker.sandbox.syscalls import MACHINES

ALLOWED = "allowed"
KILLED = "killed"
PID = 4711


def decide(built, arch, number, *arguments):
    """Run the program on one call; return ALLOWED, KILLED, or its errno."""
    packed = bytearray(built.program)
    struct.pack_into("=I", packed, built.own_pid_offset, PID)
    data = struct.pack("=iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    program = list(struct.iter_unpack("=HBBI", packed))
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, operand)
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x45:
                at += if_true if accumulator & operand else if_false
            case 0x06 if operand >> 16 == 0x5:
                return operand & 0xFFFF
            case 0x06:
                return {0x7FFF0000: ALLOWED, 0x80000000: KILLED}[operand]


@pytest.fixture(params=[(m, p) for m in MACHINES for p in PROFILES], ids="-".join)
def judge(request):
    machine, profile = MACHINES[request.param[0]], PROFILES[request.param[1]]
    built = seccomp.build(profile.calls, machine, may_clone=profile.may_run_tools)

    def call(name, *arguments):
        return decide(built, machine.audit_arch, machine.number(name), *arguments)

    call.built, call.machine, call.profile = built, machine, profile
    return call


def test_exactly_the_calls_of_the_profile_are_allowed(judge):
    named = {judge.machine.number(name) for name in judge.profile.calls} - {None}
    allowed = {
        number
        for number in range(1000)
        if decide(judge.built, judge.machine.audit_arch, number, 1, 1, 1) == ALLOWED
    }
    may_clone = {judge.machine.number("clone")} if judge.profile.may_run_tools else set()
    assert allowed == named | may_clone


def test_another_architecture_is_the_end(judge):
    i386 = 0x40000003
    assert decide(judge.built, i386, judge.machine.number("read")) == KILLED


def test_only_its_own_threads_can_be_signalled(judge):
    assert judge("tgkill", PID, PID, 6) == ALLOWED
    assert judge("tgkill", PID + 1, PID + 1, 6) == errno.EPERM


def test_the_kernel_is_not_asked_to_signal_others_about_a_descriptor(judge):
    plain = ALLOWED if "fcntl" in judge.profile.calls else errno.EPERM
    refused = errno.EINVAL if "fcntl" in judge.profile.calls else errno.EPERM
    for command in (fcntl.F_DUPFD_CLOEXEC, fcntl.F_GETFD, fcntl.F_SETFL, fcntl.F_GET_SEALS):
        assert judge("fcntl", 1, command, 0) == plain
    f_setsig, f_setown_ex = 10, 15
    for command in (fcntl.F_SETOWN, f_setsig, f_setown_ex, fcntl.F_SETLEASE, fcntl.F_NOTIFY):
        assert judge("fcntl", 1, command, PID) == refused


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_nothing_ends_as_if_it_were_killed_from_outside_or_stops_itself(judge, number):
    assert judge("tgkill", PID, PID, number) == errno.EPERM


def test_limits_are_read_and_never_set(judge):
    assert judge("prlimit64", 0, 9, 0) == ALLOWED
    assert judge("prlimit64", 1, 9, 0) == errno.EPERM
    assert judge("prlimit64", 0, 9, 0x7FFF_0000) == errno.EPERM
    assert judge("prlimit64", 0, 9, 0x7FFF << 32) == errno.EPERM


def test_libraries_get_the_errors_that_they_know(judge):
    assert judge("clone3", 0, 88) == errno.ENOSYS
    assert judge("ioctl", 1, 0x5401) == errno.ENOTTY


def test_a_new_process_is_for_the_back_end_and_never_in_a_namespace(judge):
    sigchld, newuser = 17, 0x10000000
    expected = ALLOWED if judge.profile.name == "back" else errno.EPERM
    assert judge("clone", sigchld) == expected
    assert judge("clone", sigchld | newuser) == errno.EPERM


@pytest.mark.parametrize(
    "name", ["openat", "execve", "vfork", "memfd_create", "newfstatat", "dup", "fcntl", "wait4"]
)
@pytest.mark.parametrize("profile", ["parse", "front"])
def test_children_that_see_user_code_have_none_of_these(profile, name):
    assert name not in PROFILES[profile].calls


def test_an_unknown_processor_is_refused(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(
        seccomp.UnknownMachine, match="no system call table for the processor 'riscv64'"
    ):
        seccomp.machine()
