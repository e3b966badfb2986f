"""Keeps MLIR's reproducers away: the whole module, which Triton has it write to stderr.

Where a path is set for them instead, MLIR copies the module before every single pass, which is 4 %
of all that a compilation takes; children of the front end, which may make no memory files, pay it.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from compiler.back import tool_process
from compiler.back.triton_api import ir

_PATH = "TRITON_REPRODUCER_PATH"
_NOWHERE = "/proc/0/reproducer"
"""A path that cannot be made."""
_MODULE = re.compile(rb"^(?:#[\w.]+ = |module\b)", re.MULTILINE)
_END = b"\n#-}\n"
_MOST_BEFORE, _MOST_BEHIND = 40 << 10, 8 << 10
"""Bytes passed on from the output of a failed run: the error, and the command."""


def disable_reproducers() -> None:
    """Have a failing pass say what failed and no more, from now on."""
    os.environ[_PATH] = _NOWHERE


def use_one_thread(context: Any) -> None:
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
    """Run passes without a copy for each in the block, and pass on what else they say.

    A run that the process does not survive has said nothing: MLIR turns crashes into errors.
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
    if len(log) <= _MOST_BEFORE + _MOST_BEHIND:
        return log
    return log[:_MOST_BEFORE] + b"\n" + log[-_MOST_BEHIND:]
