"""A coverage.py plugin for processes that get no settings and cannot write files.

A zygote starts with an empty environment. Its parent passes the name of the configuration, which
the zygote removes from its environment again. A sandboxed child opens no file: it writes the lines
that it ran into memory shared with its parent, before each message and before it exits, and the
parent counts them as its own. The product does not know about this.
"""

from __future__ import annotations

import contextlib
import inspect
import marshal
import mmap
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import coverage
import coverage.files
from coverage.disposition import disposition_init
from coverage.inorout import InOrOut

ROOT = Path(__file__).parents[2]
SHOWN = "/tritond"
"""Our modules that run in zygotes and their children (`worker.pool.hidden_paths`)."""
START, LENT = "COVERAGE_PROCESS_START", "COVERAGE_LENT"
ZYGOTES = ("worker.pool.zygote", "tests/integration/compiler/children.py")
"""Parts of the commands of processes that run our code in a separate environment."""
NOT_OF_A_ZYGOTE = {"sqlite3", "_sqlite3"}
"""Imports of coverage.py that user code must not find because of it."""

_HALF_BYTES = 2 << 20
_HEAD = struct.Struct("<II")  # the half with the last whole text, and its size


class _Sources(coverage.CoveragePlugin):
    """Measures this checkout from any working folder."""

    def configure(self, config: Any) -> None:
        folders = [str(ROOT / name) for name in config.get_option("run:source")]
        config.set_option("run:source", folders)
        config.set_option("run:data_file", str(ROOT / config.get_option("run:data_file")))


class _Forks:
    """Make forked children report the lines that they ran, and their parents listen."""

    def __init__(self) -> None:
        self._fork, self._exit, self._write = os.fork, os._exit, os.write
        self._memories: dict[int, mmap.mmap] = {}  # of living children, by pid
        self._shared: mmap.mmap | None = None  # of this process, if it is such a child
        self._half = 0
        self._count = 0

    def install(self) -> None:
        os.fork, os._exit = self.fork, self.exit  # type: ignore[assignment]
        os.waitpid = self._listening(os.waitpid)  # type: ignore[assignment]
        os.wait4 = self._listening(os.wait4)  # type: ignore[assignment]

    def fork(self) -> int:
        memory = mmap.mmap(-1, _HEAD.size + 2 * _HALF_BYTES)
        pid = self._fork()
        if pid:
            self._memories[pid] = memory
            return pid
        self._memories, self._shared = {}, memory
        self._half, self._count = 0, 0
        for lines in _ran().values():
            lines.clear()
        _forget_paths()
        os.write = self.write  # type: ignore[assignment]
        return 0

    def write(self, descriptor: int, data: Any) -> int:
        self._share()
        return self._write(descriptor, data)

    def exit(self, status: int) -> NoReturn:
        if self._shared is not None:
            self._share()
        else:
            for memory in self._memories.values():
                _hear(memory)
            with contextlib.suppress(Exception):  # a sandboxed launcher writes no file
                coverage.Coverage.current().save()
        self._exit(status)

    def _share(self) -> None:
        """Write the lines that this child ran into the half without its last report."""
        ran = {name: tuple(lines) for name, lines in _ran().items() if lines}
        count = sum(map(len, ran.values()))
        if self._shared is None or count == self._count:
            return
        text = marshal.dumps(ran)
        if len(text) <= _HALF_BYTES:
            self._half, self._count = 1 - self._half, count
            at = _HEAD.size + self._half * _HALF_BYTES
            self._shared[at : at + len(text)] = text
            self._shared[: _HEAD.size] = _HEAD.pack(self._half, len(text))

    def _listening(self, wait: Callable[..., Any]) -> Callable[..., Any]:
        def waited(*arguments: Any) -> Any:
            ended = wait(*arguments)
            memory = self._memories.pop(ended[0], None)
            if memory is not None:
                _hear(memory)
                memory.close()
            return ended

        return waited


def _hear(memory: mmap.mmap) -> None:
    """Count the lines that a child ran as run by this process."""
    half, size = _HEAD.unpack_from(memory)
    at = _HEAD.size + half * _HALF_BYTES
    ran = _ran()
    for name, lines in marshal.loads(memory[at : at + size]).items() if size else ():
        ran.setdefault(name, set()).update(lines)


def _ran() -> dict[str, set[int]]:
    """Return the lines that this process ran, as coverage.py's tracer keeps them: packed arcs by
    file.
    """
    running = coverage.Coverage.current()
    return running._collector.data if running is not None else {}


def _forget_paths() -> None:
    """Clear the paths that modules cache: user code must find no real path in any module."""
    coverage.files.CANONICAL_FILENAME_CACHE.clear()
    inspect.modulesbyfile.clear()


def _by_either_name(should_trace: Callable[..., Any]) -> Callable[..., Any]:
    """Measure code under its real name even if it runs under the name shown to user code."""
    root = str(ROOT)  # a local import: children hide those of modules
    ours = tuple(f"{SHOWN}/{path.parent.name}/" for path in ROOT.glob("*/__init__.py"))

    def traced(self: InOrOut, filename: str, frame: Any = None) -> Any:
        if not filename.startswith(ours):
            return should_trace(self, filename, frame)
        _forget_paths()
        found = disposition_init(self.disp_class, filename)
        found.trace, found.source_filename = True, filename.replace(SHOWN, root, 1)
        return found

    return traced


def _lend(start: Callable[..., None]) -> Callable[..., None]:
    """Also measure Python processes that start with a separate environment."""

    def lending(self: object, args: Any, *others: Any, **named: Any) -> None:
        environment = named.get("env")
        if environment is not None and START not in environment and _is_ours(args):
            named["env"] = {**environment, START: os.environ[START], LENT: "1"}
        start(self, args, *others, **named)

    return lending


def _is_ours(command: Any) -> bool:
    words = map(str, command) if isinstance(command, list | tuple) else ()
    return any(name in word for word in words for name in ZYGOTES)


def coverage_init(registry: Any, _options: object) -> None:
    """Called by coverage.py in every process that it measures, and where it reports."""
    registry.add_configurer(_Sources())
    if START not in os.environ:
        return  # it only writes a report
    InOrOut.should_trace = _by_either_name(InOrOut.should_trace)  # type: ignore[method-assign]
    _Forks().install()
    if os.environ.pop(LENT, None):
        del os.environ[START]
        for name in [name for name in sys.modules if name.partition(".")[0] in NOT_OF_A_ZYGOTE]:
            del sys.modules[name]
    else:
        subprocess.Popen.__init__ = _lend(subprocess.Popen.__init__)  # type: ignore[method-assign]
