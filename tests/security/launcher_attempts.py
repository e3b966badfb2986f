"""A program that enters a launcher's sandbox and tries what it must refuse."""

import errno

REFUSED = {errno.EPERM, errno.EACCES, errno.EFBIG}
"""Each attempt must end with one of these; "OPEN" means that it succeeded."""

_BEFORE = """
import ctypes, fcntl, json, os, resource, socket, sys, threading
sys.path.insert(0, sys.argv[1])
from worker.gpu.launcher import launcher_sandbox
layers = launcher_sandbox.before_cuda(os.getppid(), largest_file_bytes=2 << 30)
results, worker = socket.socketpair()
"""
_AFTER = """
from worker.gpu.launcher.output_memory import OutputMemory
layers += launcher_sandbox.after_cuda(results.fileno())

libc = ctypes.CDLL(None, use_errno=True)
reading, writing = os.pipe()

def call(number, *arguments):
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "refused")

x86 = os.uname().machine == "x86_64"
TKILL, QUEUE, QUEUE_THREAD = (200, 129, 297) if x86 else (130, 138, 240)
F_SETSIG = 10
info = ctypes.create_string_buffer(128)

def open_for_writing(path):
    return lambda: open(path, "w")

attempts = {
    "read /etc/passwd": lambda: open("/etc/passwd"),
    "write into /tmp": open_for_writing("/tmp/tritond-was-here"),
    "write beside the source": open_for_writing(sys.argv[1] + "/was-here"),
    "the worker's environment": lambda: open(f"/proc/{os.getppid()}/environ").read(),
    "the worker's memory": lambda: open(f"/proc/{os.getppid()}/mem", "rb"),
    "a socket": lambda: socket.socket(),
    "a descriptor sent to somebody else": lambda: socket.send_fds(worker, [b"x"], [0]),
    "a descriptor received": lambda: socket.recv_fds(results, 1, 1),
    "a file as large as an output": lambda: os.ftruncate(os.memfd_create("x"), 2 << 20),
    "a process": lambda: os.posix_spawn("/bin/true", ["true"], {}),
    "a program": lambda: os.execv("/bin/true", ["true"]),
    "the worker's end": lambda: os.kill(os.getppid(), 0),
    "the end of a thread of the worker": lambda: call(TKILL, os.getppid(), 0),
    "a signal that waits": lambda: call(QUEUE, os.getppid(), 0, ctypes.addressof(info)),
    "one for a thread": lambda: call(
        QUEUE_THREAD, os.getppid(), os.getppid(), 0, ctypes.addressof(info)
    ),
    "signals of a pipe to the worker": lambda: fcntl.fcntl(reading, fcntl.F_SETOWN, os.getppid()),
    "another signal of a pipe": lambda: fcntl.fcntl(reading, F_SETSIG, 9),
    "limits of the worker": lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CORE),
}
got = {}
for name, attempt in attempts.items():
    try:
        attempt()
        got[name] = "OPEN"
    except OSError as error:
        got[name] = error.errno

def in_a_thread():
    try:
        socket.socket()
        got["a socket in a thread"] = "OPEN"
    except OSError as error:
        got["a socket in a thread"] = error.errno

thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
shared = OutputMemory().fill(8 << 20, lambda to: ctypes.memset(to, 7, 8 << 20))
socket.send_fds(results, [b"output"], [shared.descriptor])
sent = [shared.size_bytes, int(shared.content[-1])]
print(json.dumps({"layers": layers, "got": got, "sent": sent}))
sys.stdout.flush()
os._exit(0)
"""


def attempts(between: str = "") -> str:
    """Return the program; `between` runs where a launcher opens its GPU.

    Its argument is the source root. It prints JSON: the layers, and the result of each attempt.
    """
    return _BEFORE + between + _AFTER
