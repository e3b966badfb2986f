"""The limits of user code here: the sandbox's refusals, and the assumptions instead.

If a module, a GPU or its answer is missing here, user code gets a stand-in. Each time it decides by
a stand-in, the line is recorded for the answer. An exception that imitates a refusal is believed:
it only costs its author the cache.
"""

import argparse
import dis
import errno
import importlib.abc
import os
import pathlib
import re
import sys
import types
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from compiler.diagnostic import Assumption, file_in_kernel

SLUG = "sandbox_violation"
HINT = (
    "The sandbox forbids this: while a kernel is compiled or run, its source opens no file, uses "
    "no network, starts no process or thread and sends no signal. Keep it out of the code that "
    "the kernel uses, or write the value that it returns into the source."
)
_REFUSALS = frozenset({errno.EPERM, errno.EACCES})
_NO_THREAD = "can't start new thread"


def was_refused(error: BaseException | None) -> bool:
    """Return whether `error`, or what it was raised from or while handling, is a refusal."""
    return any(_is_refusal(link) for link in _links(error))


def _is_refusal(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in _REFUSALS
    return isinstance(error, RuntimeError) and str(error) == _NO_THREAD


def _links(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or error.__context__


_MAX_COUNT = 50
_MAX_LOGGED = 10_000
_MAX_NEEDS = 512
"""As many as a request may have files."""


@dataclass
class Assumptions:
    """The assumptions of one execution; `touches` counts every use of a stand-in."""

    made: list[Assumption] = field(default_factory=list)
    log: list[Assumption] = field(default_factory=list)
    """All of them in their order, one as often as it was made: each statement may make it."""
    touches: int = 0
    asks: int = 0
    """The number of uses of values that only the real library knows."""
    asked: str = ""
    """The last of it."""
    absent: frozenset[str] | None = None
    """The modules that the caller does not have either; None where all that is missing is absent"""
    needs: dict[str, None] = field(default_factory=dict)
    """The modules that user code asked for and that the caller may have."""

    def touch(self) -> None:
        """Note that something was used that is not the real thing, without deciding anything."""
        self.touches += 1

    def ask(self, words: str) -> None:
        """Note, as text, that user code depends on something only the real thing knows."""
        self.touches += 1
        self.asks += 1
        self.asked = words

    def assume(self, message: str) -> None:
        """Record an answer to user code, at its own line."""
        self.touches += 1
        place = executing_line()
        if place is not None:
            self.add(Assumption(*place, message))

    def of_this_statement(self, since: int) -> list[Assumption]:
        """Return the assumptions that were made since the log had `since` entries."""
        return list(dict.fromkeys(self.log[since:]))

    def is_absent(self, module: str) -> bool:
        """Return whether a module that is not here is not to be had from the caller either."""
        return self.absent is None or self.is_listed(module)

    def is_listed(self, module: str) -> bool:
        """Return whether the caller listed a module, or a package around it, as absent."""
        if self.absent is None:
            return False
        parts = module.split(".")
        return any(".".join(parts[:count]) in self.absent for count in range(1, len(parts) + 1))

    def need(self, module: str) -> None:
        """Note a module to ask the caller for; until it comes, nothing is known of it."""
        if len(self.needs) < _MAX_NEEDS:
            self.needs[module] = None
        self.ask(f"the module {module} was not sent")

    def add(self, assumption: Assumption) -> None:
        """Note an assumption once; beyond a bound no more."""
        if len(self.log) < _MAX_LOGGED:
            self.log.append(assumption)
        if assumption not in self.made and len(self.made) < _MAX_COUNT:
            self.made.append(assumption)


def executing_line() -> tuple[str, int] | None:
    """Return the user's file and line that is being executed, the innermost one."""
    frame = sys._getframe(1)
    while frame is not None:
        file = file_in_kernel(frame.f_code.co_filename)
        if file is not None:
            return file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


_ATTEMPTS = frozenset(
    {"_thread.start_new_thread", "open", "os.chdir", "os.chmod", "os.chown", "os.exec", "os.fork",
     "os.forkpty", "os.getxattr", "os.kill", "os.killpg", "os.link", "os.listdir", "os.listxattr",
     "os.mkdir", "os.posix_spawn", "os.remove", "os.rename", "os.rmdir", "os.scandir", "os.spawn",
     "os.symlink", "os.system", "os.truncate", "os.utime", "pty.spawn", "resource.prlimit",
     "resource.setrlimit", "signal.pthread_kill", "socket.__new__", "socket.connect",
     "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostname", "subprocess.Popen",
     "ctypes.dlopen"}
)  # fmt: skip
_FOR_SHOWING = frozenset({"linecache", "traceback", "warnings", "tokenize", "inspect"})
"""Modules that read a source to print it."""
_NO_HOME = "Could not determine home directory."
_UNDEFINED = re.compile(r"name '(\w+)' is not defined")


class StandIn:
    """Replaces something of a library that is not installed here."""


class CommandLine(list[str]):
    """`sys.argv` of a file that is loaded: its name, without arguments."""

    def __init__(self, file: str, assumptions: Assumptions) -> None:
        super().__init__([file])
        self._assumptions = assumptions

    def __getitem__(self, index: Any) -> Any:
        """Return an argument; the statement that asks for one that is not given is left out."""
        if isinstance(index, int) and not -len(self) <= index < len(self):
            self._assumptions.assume("a command line without arguments is assumed")
        return super().__getitem__(index)


class StandInUsed(TypeError):
    """A stand-in was asked for something that only the real thing knows."""


class LaunchResult:
    """The result of a launch, of which only this is known: a compiled kernel, not `None`."""

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions
        assumptions.touch()

    def __getattr__(self, name: str) -> Any:
        words = f"the {name} of a compiled kernel is not known: nothing is launched here"
        self._assumptions.ask(words)
        if name.startswith("__"):
            raise AttributeError(name)
        raise StandInUsed(words)

    def __repr__(self) -> str:
        self._assumptions.ask("how a compiled kernel shows itself is not known")
        return "<a compiled kernel, which is not launched>"


class MissingModules(importlib.abc.MetaPathFinder):
    """Comes after all finders: notes the modules that user code asked for and that are not here."""

    def __init__(self, assumptions: Assumptions) -> None:
        self._assumptions = assumptions

    def find_spec(self, fullname: str, path: object, target: object = None) -> Any:
        """Note the module when user code itself asks for it; return `None` in any case."""
        del target
        frame = _asking_frame()
        if frame is None:
            return None
        root = fullname.partition(".")[0]
        if root in sys.stdlib_module_names:  # Python has it everywhere, only the sandbox lacks it
            self._assumptions.ask(f"the sandbox has no module {fullname}")
            return None
        module = _imported_module(frame, fullname)
        is_of_posted = any(file_in_kernel(folder) is not None for folder in _texts(path))
        if is_of_posted and self._assumptions.is_listed(module):  # left out, or not Python
            self._assumptions.ask(f"the module {module} of a posted package was not sent")
        elif self._assumptions.is_absent(module) or root in _NEVER_SENT:
            touches = self._assumptions.touches
            self._assumptions.assume(f"the module {root} is not installed where this was compiled")
            self._assumptions.touches = touches  # it is as absent as it seems
        else:
            self._assumptions.need(module)
        return None


_NEVER_SENT = frozenset({"triton"})


def _texts(path: object) -> list[str]:
    """Return the folders of a package's `__path__`."""
    return [item for item in path if isinstance(item, str)] if isinstance(path, Iterable) else []


def _asking_frame(depth: int = 2) -> types.FrameType | None:
    """Return the frame of user code that called, through nothing but imports; else None.

    `depth` is that of the frame to begin with.
    """
    frame: types.FrameType | None = sys._getframe(depth)
    while frame is not None:
        name = frame.f_code.co_filename
        if "importlib" not in name:
            return frame if file_in_kernel(name) is not None else None
        frame = frame.f_back
    return None


def _imported_module(frame: types.FrameType, missing: str) -> str:
    """Return the module that the import statement at `frame` names, of which `missing` is a part.

    `import a.b.c` fails at `a`, and all of `a.b.c` is needed.
    """
    code, at = frame.f_code, frame.f_lasti
    steps = list(takewhile(lambda step: step.offset <= at, dis.get_instructions(code)))
    if not steps or steps[-1].opname != "IMPORT_NAME":
        return missing  # importlib.import_module, or a name of `from a import b`
    named = str(steps[-1].argval)
    if f".{missing}.".endswith(f".{named}."):
        return missing
    base = missing.split(".")
    for count in range(len(base)):  # a relative import names the end of the module
        whole = ".".join([*base[:count], named])
        if whole.startswith(f"{missing}."):
            return whole
    return missing


def is_users_question(depth: int = 2) -> bool:
    """Return whether user code called the function at `depth`, directly or through a library.

    Not so for imports, which look into folders by themselves, for Triton, and for code that reads
    a source to print it.
    """
    frame: types.FrameType | None = sys._getframe(depth)
    while frame is not None:
        file = frame.f_code.co_filename
        if file_in_kernel(file) is not None:
            return True
        library = str(frame.f_globals.get("__name__")).partition(".")[0]
        if file.startswith("<frozen importlib") or library in _FOR_SHOWING or library == "triton":
            return False
        if library == "pkgutil" and frame.f_code.co_name == "extend_path":
            return False
        frame = frame.f_back
    return False


def notice_attempts(assumptions: Assumptions) -> None:
    """Count as a touch whatever user code tries that is not to be had here, from now on for good.

    What it makes of the refusal is its own affair: it may raise anything.
    """

    def notice(event: str, _: tuple[Any, ...]) -> None:
        if event in _ATTEMPTS and executing_line() is not None:
            if is_users_question():
                assumptions.ask(f"the sandbox refuses {event}")
            assumptions.touch()

    sys.addaudithook(notice)


@contextmanager
def noticing_memory(assumptions: Assumptions) -> Iterator[None]:
    """Notice in the block that user code ran out of memory, also if it catches the error.

    Its own frames are traced for exceptions alone. Where frames are traced, faulthandler crashes
    the process in CPython 3.11, so it must not be registered.
    """

    def trace(frame: types.FrameType, event: str, argument: Any) -> Any:
        if event == "call":
            if file_in_kernel(frame.f_code.co_filename) is None:
                return None
            frame.f_trace_lines = False
        elif event == "exception" and issubclass(argument[0], MemoryError):
            assumptions.ask("the sandbox bounds the memory")
        return trace

    outer = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(outer)


def is_missing(name: str, missing: Collection[str]) -> bool:
    """Return whether a name is among `missing`, or may be one of a star import that is."""
    return name in missing or "*" in missing


def is_lacking(error: BaseException, missing: Collection[str]) -> bool:
    """Return whether an error comes from a missing package, GPU, file or variable.

    `missing` are names that statements left out before would have bound.
    """
    return any(_lacks(link, missing) for link in _links(error))


def _lacks(error: BaseException, missing: Collection[str]) -> bool:
    if isinstance(error, (StandInUsed, OSError)) or was_refused(error):
        return True
    if isinstance(error, ImportError):
        return _import_lacks(error, missing)
    if isinstance(error, SystemExit):
        return _raised_in(error) == argparse.__name__  # a required argument is not given
    if isinstance(error, NameError):
        match = _UNDEFINED.search(str(error))
        return match is not None and is_missing(match[1], missing)
    if isinstance(error, AttributeError):
        return getattr(error, "name", None) in missing or _inherits_what_is_not_here(error.obj)
    if isinstance(error, RuntimeError):
        return str(error) == _NO_HOME and _raised_in(error) == pathlib.__name__
    return isinstance(error, KeyError) and _raised_in(error) == os.__name__


def _inherits_what_is_not_here(thing: Any) -> bool:
    """Return whether a class, or an object's class, has a stand-in as a base."""
    kind = thing if isinstance(thing, type) else type(thing)
    bases = (base for each in kind.__mro__ for base in vars(each).get("__orig_bases__", ()))
    return any(isinstance(base, StandIn) for base in bases)


def _import_lacks(error: ImportError, missing: Collection[str]) -> bool:
    """Return whether an import failed for want of a module, or of a name that was left out."""
    if "beyond top-level package" in str(error):
        return True
    if error.name is None:
        return False  # raised by hand
    if isinstance(error, ModuleNotFoundError) or file_in_kernel(error.path or "") is None:
        return True
    return getattr(error, "name_from", None) in missing or any(
        f"cannot import name '{name}'" in str(error) for name in missing
    )


def _raised_in(error: BaseException) -> str:
    """Return the name of the module that raised `error`."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return str(trace.tb_frame.f_globals.get("__name__")) if trace is not None else ""
