"""Answers what user code asks the operating system, from the posted files or not at all.

The sandbox refuses files, and Python hides some refusals: `os.path.exists` returns False. So these
functions are replaced while user code runs. About a posted file they answer as if it were in the
folder /kernel; any other question is put to `Assumptions.ask`, so that a kernel that depends on the
answer is refused.
"""

import _thread
import builtins
import errno
import io
import os
import posixpath
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self

from compiler.diagnostic import KERNEL_FOLDER, USER_FILE, file_in_kernel
from compiler.front.environment import Assumptions, is_users_question

ROOT = KERNEL_FOLDER.rstrip("/")
_KIND_ALONE = frozenset(
    {"exists", "lexists", "isfile", "isdir", "islink", "is_file", "is_dir", "is_symlink",
     "getsize", "realpath", "_joinrealpath", "resolve", "walk", "_walk", "_iglob", "_glob0",
     "_glob1", "_glob2", "_lexists", "_isdir"}
)  # fmt: skip
"""Functions of os.path, os, pathlib and glob that use the kind or size of a file, and no more."""
_STATUS = ("stat", "lstat")
_DOUBTED = (
    "access", "eventfd", "getcwd", "memfd_create", "nice", "pipe", "pipe2", "readlink",
    "sched_setaffinity", "statvfs",
)  # fmt: skip
"""Functions of os whose use no audit event reports."""
_TIMES = ("getmtime", "getatime", "getctime")
_FILE_MODE, _FOLDER_MODE = stat.S_IFREG | 0o644, stat.S_IFDIR | 0o755


@dataclass(frozen=True)
class PostedFolder:
    """The files of a request, as the folder /kernel has them.

    `is_whole` is False where the caller may have more files than it sent.
    """

    files: Mapping[str, str]
    is_whole: bool

    def relative(self, path: Any) -> str | None:
        """Return a path's part below /kernel, "" for /kernel itself; None if it is elsewhere."""
        try:
            text = os.fspath(path)
        except TypeError:
            return None
        if not isinstance(text, str) or not text.startswith(ROOT):
            return None
        text = posixpath.normpath(text)
        if text == ROOT:
            return ""
        return text.removeprefix(KERNEL_FOLDER) if text.startswith(KERNEL_FOLDER) else None

    def mode(self, relative: str) -> int | None:
        """Return the mode of a posted file, or of a folder with one; None if there is neither."""
        if relative in self.files:
            return _FILE_MODE
        is_folder = not relative or any(name.startswith(f"{relative}/") for name in self.files)
        return _FOLDER_MODE if is_folder else None

    def names(self, relative: str) -> list[str]:
        """Return the names in a folder, sorted."""
        prefix = f"{relative}/" if relative else ""
        below = (name.removeprefix(prefix) for name in self.files if name.startswith(prefix))
        return sorted({name.partition("/")[0] for name in below})


class _Entry:
    """An entry that `os.scandir` yields."""

    def __init__(self, folder: str, name: str, mode: int) -> None:
        self.name, self.path = name, posixpath.join(folder, name)
        self._mode = mode

    def __fspath__(self) -> str:
        return self.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        del follow_symlinks
        return stat.S_ISDIR(self._mode)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        del follow_symlinks
        return stat.S_ISREG(self._mode)

    def is_symlink(self) -> bool:
        return False


class _Entries:
    """The result of `os.scandir`: an iterator that is also a context."""

    def __init__(self, entries: list[_Entry]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[_Entry]:
        return self._entries

    def __next__(self) -> _Entry:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


class _FolderImporter:
    """Lists the modules of a folder for pkgutil; they are imported by another finder."""

    def __init__(self, folder: PostedFolder, relative: str) -> None:
        self._folder, self._relative = folder, relative

    def find_spec(self, fullname: str, target: object = None) -> None:
        del fullname, target

    def invalidate_caches(self) -> None:
        pass

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        for name in self._folder.names(self._relative):
            inner = posixpath.join(self._relative, name)
            if name.endswith(".py") and name != "__init__.py":
                yield prefix + name.removesuffix(".py"), False
            elif f"{inner}/__init__.py" in self._folder.files:
                yield prefix + name, True


@contextmanager
def answering(folder: PostedFolder, assumptions: Assumptions) -> Iterator[None]:
    """Replace the functions in the block."""
    questions = _Questions(folder, assumptions)
    replaced: list[tuple[Any, str, Any]] = [
        (os, "listdir", questions.listed(os.listdir, lambda _, names: names)),
        (os, "scandir", questions.listed(os.scandir, questions.entries)),
        (io, "open", questions.opened(io.open)),
        (builtins, "open", questions.opened(io.open)),
        *((os, name, questions.status(getattr(os, name))) for name in _STATUS),
        *((os, name, questions.doubted(getattr(os, name), f"os.{name}")) for name in _DOUBTED),
        (_thread, "start_new_thread", questions.doubted(_thread.start_new_thread, "a thread")),
        (threading, "_start_new_thread", questions.doubted(_thread.start_new_thread, "a thread")),
        *(
            (os.path, name, questions.doubted(getattr(os.path, name), f"os.path.{name}"))
            for name in _TIMES
        ),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]

    def hook(path: str) -> _FolderImporter:
        relative = folder.relative(path)
        if relative is None:
            raise ImportError(path)
        if not folder.is_whole and is_users_question():
            assumptions.ask(f"not all files of {path} were sent")
        return _FolderImporter(folder, relative)

    path, hooks = list(sys.path), list(sys.path_hooks)
    for cached in [path for path in sys.path_importer_cache if folder.relative(path) is not None]:
        del sys.path_importer_cache[cached]
    sys.path[:0] = [ROOT]
    sys.path_hooks[:0] = [hook]
    for owner, name, function in replaced:
        setattr(owner, name, function)
    try:
        yield
    finally:
        for owner, name, function in originals:
            setattr(owner, name, function)
        sys.path[:], sys.path_hooks[:] = path, hooks


@dataclass(frozen=True)
class _Questions:
    """Makes the functions that replace those of `os`."""

    folder: PostedFolder
    assumptions: Assumptions

    def _doubt(self, what: str) -> None:
        if is_users_question(3):
            self.assumptions.ask(f"the sandbox cannot answer {what}"[:200])

    def status(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return an `os.stat` that knows the kind of a posted file, but not its times."""

        def replaced(path: Any, *arguments: Any, **named: Any) -> Any:
            relative = self.folder.relative(path)
            mode = None if relative is None else self.folder.mode(relative)
            is_kind_alone = _asks_for_kind_alone()
            if mode is None or not is_kind_alone:
                is_known_absence = relative is not None and self.folder.is_whole and is_kind_alone
                if not is_known_absence:
                    self._doubt(f"{original.__name__} of {path!r}")
            if relative is None:
                return original(path, *arguments, **named)
            if mode is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            size = len(self.folder.files.get(relative, "").encode())
            return os.stat_result((mode, 1, 1, 1, 0, 0, size, 0, 0, 0))

        return replaced

    def doubted(self, original: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Return a function whose answer is in doubt."""

        def replaced(*arguments: Any, **named: Any) -> Any:
            self._doubt(name)
            return original(*arguments, **named)

        return replaced

    def listed(
        self, original: Callable[..., Any], result: Callable[[str, list[str]], Any]
    ) -> Callable[..., Any]:
        """Return a function that lists a folder."""

        def replaced(path: Any = ".") -> Any:
            relative = self.folder.relative(path)
            if relative is None or not self.folder.is_whole:
                self._doubt(f"{original.__name__} of {path!r}")
            if relative is None:
                return original(path)
            if self.folder.mode(relative) != _FOLDER_MODE:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
            return result(os.fspath(path), self.folder.names(relative))

        return replaced

    def entries(self, path: str, names: list[str]) -> _Entries:
        """Return what `os.scandir` does."""
        relative = self.folder.relative(path)
        paths = [(name, posixpath.join(relative or "", name)) for name in names]
        return _Entries([_Entry(path, name, self.folder.mode(at) or 0) for name, at in paths])

    def opened(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return an `open` that reads posted files; the audit of `open` doubts all others."""

        def replaced(file: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
            relative = self.folder.relative(file)
            text = None if relative is None else self.folder.files.get(relative)
            if text is None or not set(mode) <= set("rbt"):
                return original(file, mode, *arguments, **named)
            if "b" in mode:
                return io.BytesIO(text.encode())
            return io.StringIO(text, newline=None)

        return replaced


def _asks_for_kind_alone() -> bool:
    """Return whether `os.stat` was called by a library's function such as `os.path.exists`."""
    caller = sys._getframe(2)
    if caller.f_code.co_name == "stat" and caller.f_back is not None:  # pathlib's
        caller = caller.f_back
    return (
        caller.f_code.co_name in _KIND_ALONE and file_in_kernel(caller.f_code.co_filename) is None
    )


def of_request(text: str, files: Mapping[str, str], *, is_whole: bool) -> PostedFolder:
    """Return the folder of a request, whose source is /kernel/user.py."""
    return PostedFolder({**files, USER_FILE: text}, is_whole)
