"""The fork server of one toolchain: imports and warms up once, then forks a child for every order.

Holds no secret: it is exec'd with an almost empty environment, keeps nothing of any job, and never
has a second thread. Runs under the toolchain's own Python, on the standard library and the tasks
module alone.
"""

import contextlib
import gc
import itertools
import os
import select
import signal
import socket
import traceback
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from worker.pool import child, zygote_start
from worker.pool.child import ProcessTitle
from worker.pool.hidden_paths import HiddenPaths
from worker.pool.zygote_start import Settings, enter_cgroup, warm_up, with_optional
from worker.sandbox import libc, namespaces, optional_layers
from worker.sandbox.apply import PreparedSandbox

BOOTSTRAP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from worker.pool.zygote import main; main(sys.argv[2:])"
)
"""The code that starts the interpreter (`-c`).

Its arguments are the folder of our source, the descriptor of the link to the worker, and the
settings.
"""


class ForkServer:
    """Forks children on order and reports how they ended; kills what they leave behind."""

    def __init__(
        self,
        link: socket.socket,
        prepared: dict[str, PreparedSandbox],
        paths: HiddenPaths,
        title: ProcessTitle,
    ) -> None:
        self._link = link
        self._paths = paths
        self._title = title
        self._prepared = prepared
        self._orders: dict[int, int] = {}  # pid of a living child -> number of its order
        self._slots: dict[int, int] = {}  # pid -> which of our users it is
        self._stopping = False
        self._woken, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._stop)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True

    def serve(self) -> child.ChildSpec | None:
        """Fork a child for each order.

        Returns None when the worker is gone, and in every forked child what it is to be.
        """
        poller = select.poll()
        poller.register(self._link, select.POLLIN)
        poller.register(self._woken, select.POLLIN)
        while not self._stopping:
            ready = {descriptor for descriptor, _ in poller.poll()}
            if self._woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)
                self._reap()
            if self._link.fileno() in ready:
                message, descriptors = zygote_start.receive(self._link)
                if message is None:
                    break
                spec = self._fork(message["order"], message["profile"], descriptors)
                if spec is not None:
                    return spec
        return None

    def _fork(self, order: int, profile: str, descriptors: list[int]) -> child.ChildSpec | None:
        assert_single_thread()
        slot = next(free for free in itertools.count() if free not in self._slots.values())
        prepared = _prepared_for(self._prepared[profile], slot)
        spec = child.ChildSpec(prepared, os.getpid(), descriptors, self._paths, self._title)
        try:
            pid = os.fork()
        except OSError as error:
            self._report({"refused": order, "reason": str(error)})
        else:
            if pid == 0:
                return spec
            self._orders[pid] = order
            self._slots[pid] = slot
            pidfd = os.pidfd_open(pid)
            self._report({"born": order}, [pidfd])
            os.close(pidfd)
        for descriptor in descriptors:
            os.close(descriptor)
        return None

    def _report(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        try:
            zygote_start.send(self._link, message, descriptors)
        except ConnectionError:
            self._stopping = True  # no worker is left to serve

    def _reap(self) -> None:
        """Take the exit statuses of dead children.

        The process group of each is killed while its number cannot be anyone else's.
        """
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            order = self._orders.pop(ended.si_pid, None)
            self._slots.pop(ended.si_pid, None)
            if order is not None:
                _kill_group(ended.si_pid)
            _, status, usage = os.wait4(ended.si_pid, 0)
            if order is not None:
                gone = {
                    "gone": order,
                    "status": status,
                    "cpu_s": usage.ru_utime + usage.ru_stime,
                    "max_rss_bytes": usage.ru_maxrss << 10,
                }
                self._report(gone)

    def end(self) -> None:
        """Kill every child and what it started."""
        for pid in self._orders:
            _kill_group(pid)
            os.kill(pid, signal.SIGKILL)


def _prepared_for(prepared: PreparedSandbox, slot: int) -> PreparedSandbox:
    """Return the sandbox of one child: users differ by slot."""
    first = prepared.optional.user
    if first is None:
        return prepared
    return replace(
        prepared, optional=replace(prepared.optional, user=first + slot % optional_layers.SLOTS)
    )


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it never got as far as to lead a group
        os.killpg(leader, signal.SIGKILL)


def assert_single_thread() -> None:
    """Raise RuntimeError when this process has a second thread.

    A fork would copy its locks, not the thread.
    """
    threads = list(Path("/proc/self/task").iterdir())
    if len(threads) != 1:
        raise RuntimeError(
            f"the zygote has {len(threads)} threads; something it imported starts them"
        )


def _send(link: socket.socket, message: dict[str, Any]) -> None:
    """Send the worker a message, or exit if the worker is gone."""
    try:
        zygote_start.send(link, message)
    except ConnectionError:
        os._exit(0)


def main(arguments: list[str]) -> NoReturn:
    """Run the zygote; in a forked child, run that child. Never returns."""
    link = socket.socket(fileno=int(arguments[0]))
    settings = Settings.from_json(arguments[1])
    libc.die_with_parent(settings.parent_pid, signal.SIGTERM)
    own_pid = os.getpid()
    try:
        absent = enter_cgroup(settings.cgroup)
        isolated = not settings.unsafe and namespaces.enter()
        libc.prctl(libc.PR_SET_CHILD_SUBREAPER, 1)
        tasks, prepared, facts = warm_up(settings)
        assert_single_thread()
        facts |= {
            "namespaces": isolated,
            "optional_layers": dict.fromkeys(optional_layers.LAYERS, ()),
        }
        if not settings.unsafe:
            prepared, facts["optional_layers"], reasons = with_optional(
                prepared, own_pid, isolated=isolated
            )
            absent |= reasons
        facts["absent"] = absent
    except Exception:  # noqa: BLE001 - the worker must learn of any error
        _send(link, {"broken": traceback.format_exc()[-8000:]})
        os._exit(1)
    paths = HiddenPaths()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some things are deprecated to look at
        paths.hide_code()
        paths.prepare()
    gc.collect()
    gc.freeze()
    title = ProcessTitle()
    title.set(f"tritond: zygote of {settings.tasks_module}")
    server = ForkServer(link, prepared, paths, title)
    _send(link, {"ready": facts})
    spec = server.serve()
    if spec is None:
        server.end()
        os._exit(0)  # triton's own exit would print what it leaked
    link.detach()
    del server, prepared
    child.child_main(spec, tasks)
