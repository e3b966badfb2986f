"""Prepares a process for recording: patches torch and Triton, and records sample programs.

A zygote does this before it forks: its children may not open files, and start with full caches.
From then on, an audit hook notices what a program tries to reach outside of its sandbox. The
sandbox refuses all of it; a program that catches the refusal goes on. The hook runs in the same
process as the program, which may hide an attempt: this is a sign, no protection.
"""

import contextlib
import gc
import logging
import os
import sys
import warnings
from types import FrameType
from typing import Any

from compiler.diagnostic import KERNEL_FOLDER
from compiler.front.standard_library import PRELOADED, preload
from programs.recorder import launch_recorder
from programs.recorder.record import record
from programs.recorder.record_order import MAX_ATTEMPTS, NotRecordable, RecordOrder, SandboxAttempt
from programs.recorder.recording import Recording, current
from programs.recorder.refusals import UserLine
from programs.recorder.torch_patches import (
    coarse_ops,
    fake_cuda,
    fake_guard,
    torch_patches,
)
from programs.recorder.torch_patches.coarse_ops import disable_fast_paths
from programs.recorder.torch_patches.opaque_values import install_times

_OUTSIDE = frozenset(
    {"ctypes.dlopen", "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn",
     "os.spawn", "os.system", "pty.spawn", "resource.prlimit", "signal.pthread_kill",
     "socket.__new__", "socket.bind", "socket.connect", "socket.getaddrinfo",
     "socket.gethostbyname", "subprocess.Popen"}
)  # fmt: skip
_PATHS = frozenset(
    {"open", "os.chdir", "os.chmod", "os.chown", "os.link", "os.listdir", "os.mkdir", "os.remove",
     "os.rename", "os.rmdir", "os.scandir", "os.symlink", "os.truncate", "os.utime"}
)  # fmt: skip
"""Events whose first argument is a path. One in the program's own folder may be tried."""
_OF_THEIR_OWN = frozenset(
    {"importlib", "inspect", "linecache", "pkgutil", "platform", "tokenize", "traceback",
     "warnings"}
)  # fmt: skip
"""Modules that look at files without being asked for one."""
_LOADERS = ("numpy", "torch.serialization")
"""Libraries that open the path that a program names."""
_STANDARD_STREAMS = 3
_MAX_PATH = 100
_ELEMENTWISE = """
import torch
import torch.nn.functional as F

x = torch.randn(128, 64, device="cuda", requires_grad=True)
y = torch.randn(64).cuda()
z = torch.ones(64).to("cuda:0")
w = torch.ones(64, device="cuda", requires_grad=True)
out = F.mish(F.rms_norm((x * y + z).relu().exp() / 2, (64,), w)).softmax(-1)
out.sum().backward()
a = torch.randn(64, 32, device="cuda", dtype=torch.float16, requires_grad=True)
b = torch.randn(32, 16, device="cuda", dtype=torch.float16, requires_grad=True)
grads = torch.autograd.grad((a @ b).float().square().mean(), [a, b], create_graph=True)
index = torch.arange(0, 16, 2, device="cuda")
rows = x[index].clone()
rows[:, 0] = 0
joined = torch.cat([rows, F.embedding(index, x)]).sort(0)[0].topk(3)[0].cumsum(0)
joined.sum().backward()
mask = torch.where(x > 0, x, torch.zeros_like(x)).masked_fill(x > 1, 0.0)
left = torch.stack([x.mean(1), x.var(1), x.amax(1)]).transpose(0, 1).contiguous().view(-1)
total = torch.einsum("ij,ij->i", x, mask).reshape(8, 16).permute(1, 0).sum(0)
"""
_MODULES = """
import torch
import torch.nn as nn

model = nn.Sequential(
    nn.Linear(32, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.1), nn.Linear(64, 8)
).cuda()
x = torch.randn(4, 32).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
with torch.autocast("cuda", dtype=torch.bfloat16):
    target = torch.zeros(4, dtype=torch.long, device="cuda")
    loss = nn.functional.cross_entropy(model(x), target)
loss.backward()
optimizer.step()
optimizer.zero_grad()
image = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
    nn.ConvTranspose2d(8, 4, 2), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
).to("cuda")
picture = torch.randn(2, 3, 16, 16, device="cuda", requires_grad=True)
image(picture).mean().backward()
with torch.no_grad():
    image(picture).sigmoid().tanh()
    recurrent = nn.LSTM(16, 32, num_layers=2, batch_first=True).cuda()
    recurrent(torch.randn(2, 8, 16, device="cuda"))
    volume = nn.Sequential(nn.Conv3d(3, 4, 3), nn.BatchNorm3d(4), nn.Hardswish()).cuda()
    volume(torch.randn(1, 3, 8, 8, 8).cuda())
    nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, device="cuda")(
        torch.randn(2, 8, 32, device="cuda")
    )
query = torch.randn(2, 4, 64, 32, device="cuda", dtype=torch.float16, requires_grad=True)
attention = nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True)
attention.sum().backward()
"""
_KERNELS = """
import torch
import triton
import triton.language as tl


@triton.jit
def forward_kernel(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, m)
    tl.store(o + i, v * tl.sigmoid(v), m)


@triton.autotune([triton.Config({"B": 256}), triton.Config({"B": 512}, num_warps=8)], key=["n"])
@triton.jit
def backward_kernel(x, g, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, m)
    s = tl.sigmoid(v)
    tl.store(o + i, tl.load(g + i, m) * s * (1 + v * (1 - s)), m)


class Silu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        o = torch.empty_like(x)
        forward_kernel[(triton.cdiv(x.numel(), 256),)](x, o, x.numel(), B=256)
        ctx.save_for_backward(x)
        return o

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        o = torch.empty_like(x)
        n = x.numel()
        backward_kernel[lambda meta: (triton.cdiv(n, meta["B"]),)](x, g.contiguous(), o, n)
        return o


x = torch.randn(1000, device="cuda", requires_grad=True)
y = Silu.apply(x * 2)
y.sum().backward()
"""
_REFUSED = """
import torch

if torch.randn(8, device="cuda").sum() > 0:
    raise ValueError("not reached, as a recording has no values")
"""
PROGRAMS = (_ELEMENTWISE, _MODULES, _KERNELS, _REFUSED)
_ALSO = (
    "einops", "einops._torch_specific", "einops.layers.torch", "numpy", "numpy.fft",
    "numpy.linalg", "numpy.random", "random", "scipy",
    "torch._dynamo", "torch._dynamo.polyfills.loader", "torch._dynamo.trace_rules", "torch.amp",
    "torch.autograd.functional", "torch.autograd.profiler", "torch.cuda.amp",
    "torch.distributions", "torch.fft", "torch.func", "torch.jit", "torch.library",
    "torch.linalg", "torch.nn.attention", "torch.nn.init", "torch.nn.modules.utils",
    "torch.nn.parameter", "torch.nn.utils", "torch.nn.utils.parametrizations",
    "torch.nn.utils.rnn", "torch.optim", "torch.optim.lr_scheduler", "torch.profiler",
    "torch.special", "torch.utils.benchmark", "torch.utils.checkpoint",
    "torch.utils.cpp_extension", "torch.utils.data", "triton.testing", "triton.tools",
    "typing_extensions",
)  # fmt: skip
_STANDARD = (
    "bdb", "cmd", "code", "codeop", "compileall", "concurrent.futures.process", "curses",
    "dbm.dumb", "doctest", "email.mime.multipart", "email.mime.text", "encodings.cp1252",
    "encodings.idna", "encodings.latin_1", "encodings.punycode", "encodings.utf_16",
    "filecmp", "fileinput", "ftplib", "html.parser", "http.cookiejar", "http.server", "imaplib",
    "json.tool", "mailbox", "mimetypes", "multiprocessing.managers", "multiprocessing.pool",
    "multiprocessing.queues", "multiprocessing.shared_memory", "multiprocessing.synchronize",
    "netrc", "optparse", "pdb", "plistlib", "poplib", "pty", "py_compile", "pyclbr", "pydoc",
    "rlcompleter", "sched", "shelve", "smtplib", "sqlite3", "stringprep", "symtable", "syslog",
    "tabnanny", "tomllib", "trace", "tracemalloc", "tty", "wave", "webbrowser",
    "wsgiref.simple_server", "xml.dom.minidom", "xml.etree.ElementTree", "xml.sax",
    "xmlrpc.client", "zipapp", "zoneinfo",
)  # fmt: skip
"""Modules of Python that neither torch nor Triton imports."""
_prepared: list[bool] = []


def notice_attempts() -> None:
    """Notice attempts in this process from now on, for good."""
    sys.addaudithook(_notice)


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _OUTSIDE and event not in _PATHS:
        return
    recording = current()
    if recording is None or len(recording.attempts) >= MAX_ATTEMPTS:
        return
    shown = ""
    if event in _PATHS:
        path = arguments[0] if arguments else None
        if not _is_outside(path):
            return
        shown = f" of {ascii(path)[:_MAX_PATH]}"
    place = _asking_line(recording)
    if place is not None:
        file, line = place
        attempt = SandboxAttempt(what=f"{event}{shown}", file=file, line=line)
        if attempt not in recording.attempts:
            recording.attempts.append(attempt)


def _is_outside(path: Any) -> bool:
    """Return True for a descriptor that is not a standard stream, or a path outside."""
    if isinstance(path, int):
        return path >= _STANDARD_STREAMS
    if not isinstance(path, (str, bytes)):
        return False
    text = os.path.normpath(os.fsdecode(path))
    return text.startswith(("/", "..")) and not f"{text}/".startswith(KERNEL_FOLDER)


def _asking_line(recording: Recording) -> UserLine | None:
    """Return the user's line that asked, itself or through the standard library or a loader."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        place = recording.lines.at(frame)
        if place is not None:
            return place
        module = str(frame.f_globals.get("__name__"))
        root = module.partition(".")[0]
        is_carrier = root in sys.stdlib_module_names or module.startswith(_LOADERS)
        if root in _OF_THEIR_OWN or not is_carrier:
            return None
        frame = frame.f_back
    return None


def prepare() -> None:
    """Patch torch and Triton for recording, once in a process, for good.

    Raises `FakeGuardError` if this torch cannot record.
    """
    if _prepared:
        return
    import torch

    warnings.simplefilter("ignore")
    fake_guard.install()
    logging.disable(logging.WARNING)  # torch warns about a missing GPU
    preload((*PRELOADED, *_ALSO, *_STANDARD))
    logging.disable(logging.NOTSET)
    torch._dynamo.trace_rules.get_torch_obj_rule_map()  # else made in a child, reading files
    torch.set_num_threads(1)
    fake_guard.start_without_threads()
    torch_patches.install()
    fake_cuda.install()
    install_times()
    coarse_ops.install()
    disable_fast_paths()
    launch_recorder.install()
    notice_attempts()
    _prepared.append(True)


def warm_up() -> None:
    """Prepare, and record programs that use most of torch. Leaves no threads or open files."""
    prepare()
    order = RecordOrder(entries=[{"kind": "script", "outputs": None}])
    for program in PROGRAMS:
        with contextlib.suppress(NotRecordable):
            record(order, program, {})
    gc.collect()  # no gc.freeze(): the zygote hides paths first, which needs objects not frozen
