"""MLIR contexts with Triton's dialects, and the reproducers that their passes must not write.

A zygote makes one for each backend before it forks. Making one takes 2.5 ms of CPU time, most of
them page faults in a new child. An unused context holds only dialects, so results do not depend on
the time of its creation. No context is used twice, so no text can affect another.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compiler.back import tool_process, triton_api
from compiler.back.triton_api import ir

_prepared: dict[str, Any] = {}
"""An unused context by backend."""
_last: list[Any] = []
"""The last prepared one that was taken: to take it apart takes longer than to end the process."""
_PATH = "TRITON_REPRODUCER_PATH"
_NOWHERE = "/proc/0/reproducer"
"""A path that cannot be made."""
_MODULE = re.compile(rb"^(?:#[\w.]+ = |module\b)", re.MULTILINE)
_END = b"\n#-}\n"
_MAX_BEFORE, _MAX_BEHIND = 40 << 10, 8 << 10
"""Bytes passed on from the output of a failed run: the error, and the command."""


def prepare(backend: Any) -> None:
    """Make a context for the next task of this backend, if none waits; starts no thread."""
    name = backend.target.backend
    if name not in _prepared:
        _prepared[name] = _made(backend)


def new_context(backend: Any) -> Any:
    """Return a new MLIR context with Triton's and the backend's dialects."""
    prepared = _prepared.pop(backend.target.backend, None)
    if prepared is None:
        return _made(backend)
    _last[:] = [prepared]
    return prepared


def _made(backend: Any) -> Any:
    context = triton_api.ir.context()
    triton_api.ir.load_dialects(context)
    backend.load_dialects(context)
    _use_one_thread(context)
    return context


# Reproducers are kept away: the whole module, which Triton has MLIR write to stderr.
#
# Where a path is set for them instead, MLIR copies the module before every single pass: 4 % of the
# time of a compilation. Children of the front end, which may make no memory files, pay it.


def disable_reproducers() -> None:
    """Have a failing pass report what failed and no more, from now on."""
    os.environ[_PATH] = _NOWHERE


def _use_one_thread(context: Any) -> None:
    """Prevent MLIR from starting threads in `context`, whatever it contains.

    Triton sees to that where a path is set; nothing else of it does.
    """
    kept = os.environ.get(_PATH)
    disable_reproducers()
    try:
        ir.pass_manager(context).run(ir.builder(context).create_module(), "nothing")
    finally:
        if kept is None:
            del os.environ[_PATH]


@contextmanager
def without_reproducers() -> Iterator[None]:
    """Run passes without a copy for each in the block, and pass on their other messages.

    A run that the process does not survive has reported nothing: MLIR turns crashes into errors.
    """
    run = ir.pass_manager.run

    def run_aside(manager: Any, *arguments: Any) -> None:
        words = b""
        try:
            with tool_process.stderr_in_memory() as written:
                try:
                    run(manager, *arguments)
                except BaseException:
                    words = log_without_module(tool_process.content_of(written))
                    raise
                words = tool_process.content_of(written)
        finally:
            tool_process.write_all(2, words)

    path = os.environ.pop(_PATH, None)
    ir.pass_manager.run = run_aside
    try:
        yield
    finally:
        ir.pass_manager.run = run
        if path is not None:
            os.environ[_PATH] = path


def log_without_module(log: bytes) -> bytes:
    """Return what MLIR wrote before and behind a module, neither without bounds."""
    module, end = _MODULE.search(log), log.rfind(_END)
    if module is not None and end > module.start():
        log = log[: module.start()] + log[end + len(_END) :]
    if len(log) <= _MAX_BEFORE + _MAX_BEHIND:
        return log
    return log[:_MAX_BEFORE] + b"\n" + log[-_MAX_BEHIND:]
