"""The life of one child: it enters its sandbox, reads a job, runs the task and writes frames.

Where a job has `keep`, another may follow it in the same process; nothing of the first is kept.
The parent trusts only its exit status, and frames that it has checked.
"""

import ctypes
import gc
import mmap
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from worker.pool import frame
from worker.pool.hidden_paths import HiddenPaths
from worker.sandbox import selftest
from worker.sandbox.apply import PreparedSandbox, SandboxError, enter
from worker.sandbox.profile import PROFILES

_JOB, _RESULT, _RULESET, _ROOT = 3, 4, 5, 6
_PIPES = 4
_ABOVE = 100
_ENVELOPE = ("task", "keep", "shared")
"""The part of a job's header that this module reads; the rest is the task's."""

Task = Callable[[dict[str, Any], Any, Callable[[dict[str, Any], bytes], None]], dict[str, Any]]

"""The body is a memoryview or `Mappings` where it is shared, bytes where it is not."""

# The name of a zygote or child in `ps`: it replaces the command line.
#
# Standard library alone. setproctitle does more, but is not in the environments of other
# toolchains. A child that runs user code can write another name, so nothing may depend on it.

_ARG_START = 45
"""The index behind the name of the command in /proc/PID/stat (field 48 of proc(5))."""


class ProcessTitle:
    """The command line of this process in its memory. A forked child has it at the same place."""

    def __init__(self) -> None:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        self._start, end = (int(field) for field in fields[_ARG_START : _ARG_START + 2])
        self._size_bytes = end - self._start  # 0 where the kernel does not report it

    def set(self, text: str) -> None:
        """Show `text` in `ps`, cut to the length of the command line."""
        if self._size_bytes <= 0:
            return
        # the last byte must stay 0, else the kernel reads on into the environment
        title = text.encode("ascii", "replace")[: self._size_bytes - 1]
        ctypes.memmove(self._start, title.ljust(self._size_bytes, b"\0"), self._size_bytes)


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """The inputs of a new child: its sandbox, its zygote's pid, its pipes, its name in `ps`.

    The pipes are for jobs, result, stdout and stderr; behind them there may be files that hold
    the body of its only job.
    """

    prepared: PreparedSandbox
    parent_pid: int
    descriptors: list[int]
    paths: HiddenPaths
    title: ProcessTitle


def child_main(spec: ChildSpec, tasks: ModuleType) -> NoReturn:
    """Run the child.

    Never returns and never unwinds: no handler or finalizer of the zygote may run here.
    """
    status = 1
    try:
        _reset_signals()
        shared = _mapped(spec.descriptors[_PIPES:])
        prepared = _arrange(spec)
        if not prepared.profile.may_run_tools:
            spec.paths.drop()
        status = _serve(prepared, spec, tasks, shared)
    except BaseException:  # noqa: BLE001 - the parent sees exit status 1 and this text
        traceback.print_exc()
    finally:
        _flush()
        os._exit(status)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGXCPU, lambda *_: None)  # a task that wants to know replaces it
    os.setsid()


class Mappings:
    """Files in memory, one behind the other: any part that lies in one of them can be read."""

    def __init__(self, parts: list[memoryview]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __getitem__(self, place: slice) -> memoryview:
        start, stop = place.start, place.stop
        for part in self._parts:
            if stop <= len(part) and start >= 0:
                return part[start:stop]
            start, stop = start - len(part), stop - len(part)
        raise IndexError(f"no one file has [{place.start}:{place.stop}]")


def _mapped(descriptors: list[int]) -> memoryview | Mappings:
    """Return the bytes of the files behind them, read-only; the mappings are never taken back."""
    parts = [_map(descriptor) for descriptor in descriptors]
    return Mappings(parts) if len(parts) > 1 else parts[0] if parts else memoryview(b"")


def _map(descriptor: int) -> memoryview:
    if not os.fstat(descriptor).st_size:  # nothing can be mapped of it
        return memoryview(b"")
    return memoryview(mmap.mmap(descriptor, 0, mmap.MAP_SHARED | mmap.MAP_POPULATE, mmap.PROT_READ))


def _arrange(spec: ChildSpec) -> PreparedSandbox:
    """Give every descriptor its fixed number and close all others."""
    import fcntl
    from dataclasses import replace

    job, result, stdout, stderr = (
        fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ABOVE)
        for descriptor in spec.descriptors[:_PIPES]
    )
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    os.dup2(job, _JOB, inheritable=False)
    os.dup2(result, _RESULT, inheritable=False)
    prepared, kept = spec.prepared, {_JOB, _RESULT}
    if prepared.ruleset is not None:
        os.dup2(prepared.ruleset, _RULESET, inheritable=False)
        prepared, kept = replace(prepared, ruleset=_RULESET), kept | {_RULESET}
    if prepared.optional.root is not None:
        os.dup2(prepared.optional.root, _ROOT, inheritable=False)
        prepared, kept = (
            replace(prepared, optional=replace(prepared.optional, root=_ROOT)),
            kept | {_ROOT},
        )
    for descriptor in {_RULESET, _ROOT} - kept:
        os.closerange(descriptor, descriptor + 1)
    os.closerange(_ROOT + 1, 1 << 20)
    return prepared


def _serve(
    prepared: PreparedSandbox, spec: ChildSpec, tasks: ModuleType, shared: memoryview | Mappings
) -> int:
    """Enter the sandbox, take the job, do it; return the exit status."""
    profile = prepared.profile.name
    spec.title.set(f"tritond: {profile}, waits for a job")
    try:
        enter(prepared, spec.parent_pid)
    except SandboxError as error:
        failed = {"kind": "sandbox", "layer": error.layer, "message": str(error)}
        _write(frame.encode(frame.NO_JOB, failed))
        return 1
    _write(frame.encode(frame.NO_JOB, {"kind": "ready"}))
    decoder = frame.Decoder(max_header_bytes=frame.MAX_JOB_HEADER_BYTES)
    while (job := _await_job(decoder, profile, tasks)) is not None:
        stays = job.header.get("keep") is True
        if not stays:
            os.close(_JOB)
        spec.title.set(_title(profile, job.header))
        _do(job, shared, profile, tasks)
        if not stays:
            break
        job = None
        _forget(tasks)
    # nothing else will be written; the parent need not wait for the exit
    os.close(_RESULT)
    return 0


def _title(profile: str, header: dict[str, Any]) -> str:
    """Return what a child does. No key: user code that reads one could compile by it."""
    target, task = header.get("target"), header.get("task")
    of = f" for {target['backend']}:{target['arch']}" if isinstance(target, dict) else ""
    return f"tritond: {profile}{of}" if task == profile else f"tritond: {profile}, {task}{of}"


def _do(job: frame.Frame, shared: memoryview | Mappings, profile: str, tasks: ModuleType) -> None:
    """Run the task that the job names and write its last frame."""
    body = shared if job.header.get("shared") is True else job.body
    before_s = _usage()["cpu_s"] if job.header.get("keep") is True else 0.0
    last = _perform(_find(job.header, profile, tasks), job, body)
    usage = _usage()
    last["usage"] = usage | {"cpu_s": usage["cpu_s"] - before_s}
    try:
        encoded = frame.encode(job.nonce, last)
    except frame.FrameError as error:
        encoded = frame.encode(job.nonce, _crashed(f"the result cannot be sent: {error}"))
    _flush()
    _write(encoded)


def _forget(tasks: ModuleType) -> None:
    """Free all memory of the last job."""
    if hasattr(tasks, "forget"):
        tasks.forget()
    gc.collect()


def _await_job(decoder: frame.Decoder, profile: str, tasks: ModuleType) -> frame.Frame | None:
    """Return the next job frame, or None if there will be none. Raises FrameError.

    A frame without a nonce means that there is time to prepare.
    """
    while data := os.read(_JOB, 1 << 18):
        for received in decoder.feed(data):
            if received.nonce != frame.NO_JOB:
                return received
            _prewarm(profile, tasks)
    return None


def _prewarm(profile: str, tasks: ModuleType) -> None:
    """Do a small internal job, so that pages are copied before a real one waits for it."""
    started = time.monotonic()
    error = None
    try:
        if hasattr(tasks, "prewarm"):
            tasks.prewarm(profile)
    except Exception as raised:  # noqa: BLE001 - named in the frame; the child is as good as without
        error = f"{type(raised).__name__}: {raised}"
    _flush()
    spent_ms = round((time.monotonic() - started) * 1000, 1)
    done = {"kind": "prewarmed", "ms": spent_ms, "error": error}
    _write(frame.encode(frame.NO_JOB, done))


def _find(header: dict[str, Any], profile: str, tasks: ModuleType) -> Task:
    """Return the task that the job names.

    A task named like a profile runs in no other. Raises FrameError.
    """
    name = header.get("task")
    known: dict[str, Task] = {"selftest": selftest.task, **tasks.TASKS}
    if name not in known or (name in PROFILES and name != profile):
        raise frame.FrameError(f"no task {name!r} in a {profile!r} child; known: {sorted(known)}")
    return known[name]


def _perform(task: Task, job: frame.Frame, body: bytes | memoryview | Mappings) -> dict[str, Any]:
    """Run the task and return the header of the last frame."""

    def send(header: dict[str, Any], body: bytes) -> None:
        _write(frame.encode(job.nonce, header, body))

    order = {name: value for name, value in job.header.items() if name not in _ENVELOPE}
    try:
        return {**task(order, body, send), "kind": "result"}
    except MemoryError:
        return _failed("memory_exceeded", "the job needs more memory than a child may have")
    except BaseException as error:  # noqa: BLE001 - user code raises anything, SystemExit too
        return _failure_of(error)


def _failure_of(error: BaseException) -> dict[str, Any]:
    """Return a task's own Failure, or that the task broke."""
    slug = getattr(error, "slug", None)
    if not isinstance(slug, str):
        return _crashed(f"{type(error).__name__}: {error}"[:8000])
    return {
        "kind": "failure",
        "slug": slug,
        "stage": getattr(error, "stage", None),
        "message": str(getattr(error, "message", error)),
        "reason": getattr(error, "reason", None),
        "diagnostics": list(getattr(error, "diagnostics", [])),
        "needs": list(getattr(error, "needs", [])),
    }


def _failed(slug: str, message: str) -> dict[str, Any]:
    return {"kind": "failure", "slug": slug, "stage": None, "message": message, "diagnostics": []}


def _crashed(message: str) -> dict[str, Any]:
    return _failed("compiler_crashed", message)


def _usage() -> dict[str, float]:
    """Return CPU seconds (programs it waited for included) and the largest resident set."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    tools = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "cpu_s": own.ru_utime + own.ru_stime + tools.ru_utime + tools.ru_stime,
        "max_rss_bytes": max(own.ru_maxrss, tools.ru_maxrss) << 10,
    }


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(_RESULT, view) :]


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            continue  # user code closed or replaced it; what it held is its own loss
