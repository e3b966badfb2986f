"""The kernels of a Python file, each with the types and values that a compile request needs."""

import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.posted_file import PostedFile, read_source, specialized
from tritonc.cli.terminal import Say, Terminal
from tritonc.gate.measure_cells import AT_ONCE
from tritonc.packages.jit_uses import JitUses
from tritonc.service_errors import ProblemError, ServerUnavailable, TritoncError, WaitExpired
from tritonc.signature_sources import InvalidSignatureSource

DEFAULT_TARGET = "cuda:90"
MAX_FILES = 2000
LINE_EVERY_S = 5.0
"""The least seconds between two lines of progress, where it cannot be drawn."""
_UNFLAGGED = {"file": [], "no_local_imports": False, "like": [], "autotune": False, "kernel": None}
_JIT = re.compile(rb"\bjit\b")
_UNREADABLE = (ArgumentTypeError, InvalidSignatureSource, OSError, ProblemError)
"""The errors of one file, which do not stop the others."""


@dataclass(frozen=True, slots=True)
class FileKernel:
    """A kernel; `members` are those of its compile request, without the texts.

    `unknown` are the parameters whose type or value is found nowhere. `is_written` is True if the
    file and pyproject.toml give everything.
    """

    posted: PostedFile
    name: str
    members: Mapping[str, Any]
    unknown: tuple[Mapping[str, Any], ...]
    is_written: bool
    notes: tuple[str, ...] = ()
    """The assumptions behind its members."""


@dataclass(frozen=True, slots=True)
class NamedKernels:
    """The kernels that were read; `error` is what kept the service from reading the other files."""

    kernels: list[FileKernel]
    error: TritoncError | None = None


def named_kernels(
    words: Sequence[str], target: str, client: Client, terminal: Terminal, wait_s: float
) -> NamedKernels:
    """Return the kernels of files, folders and installed packages, without functions they call.

    A file that cannot be read is left out with a note if there are others. Raises ArgumentTypeError
    if there is no kernel, the errors of a single file, and those of a service that answers nothing.
    """
    files = _named_files(words)
    paths = [path for path, is_named in files.items() if is_named or _has_kernels(path)]
    uses = JitUses.of(files)
    reading = _Reading(uses, target, client, terminal.say, monotonic() + wait_s)
    kernels: dict[Path, list[FileKernel]] = {}
    error: TritoncError | None = None
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        with terminal.progress("reading kernels", line_every_s=LINE_EVERY_S) as say:
            asked = {pool.submit(reading.kernels_of, path): path for path in paths}
            for done, read in enumerate(as_completed(asked), 1):
                path = asked[read]
                try:
                    kernels[path] = read.result()
                except _UNREADABLE as unreadable:
                    if len(paths) == 1:
                        raise
                    terminal.say(f"note: {path} is left out: {unreadable}")
                except (ServerUnavailable, WaitExpired) as unread:
                    if not kernels:
                        raise
                    error = unread
                    left = len(paths) - done + 1
                    terminal.say(f"note: {left} of {len(paths)} files are left out: {unread}")
                    break
                say(f"read {done} of {len(paths)} files")
    finally:
        pool.shutdown(cancel_futures=True)
    listed = [kernel for path in paths for kernel in kernels.get(path, ())]
    if not listed and error is None:
        raise ArgumentTypeError(f"{', '.join(words)}: there is no @triton.jit")
    return NamedKernels(listed, error)


def _named_files(words: Sequence[str]) -> dict[Path, bool]:
    """Return the Python files that words mean, each once; True for those that a word names.

    Raises ArgumentTypeError if there is no such place, or for more than `MAX_FILES` in a folder.
    """
    named: dict[Path, bool] = {}
    paths: dict[Path, Path] = {}
    for word in words:
        path = Path(word)
        files = [path] if path.is_file() else _files_below(word)
        for file in files:
            first = paths.setdefault(file.resolve(), file)
            named[first] = named.get(first, False) or file == path
    return named


def _files_below(word: str) -> list[Path]:
    path = Path(word)
    folder = path if path.is_dir() else _package(word)
    if folder is None:
        raise ArgumentTypeError(f"{word}: no such file, folder or installed package")
    below = sorted(folder.rglob("*.py"))
    files = [file for file in below if not _is_hidden(file.relative_to(folder))]
    if len(files) > MAX_FILES:
        raise ArgumentTypeError(f"{word} has {len(files)} files; name at most {MAX_FILES}")
    return files


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _has_kernels(path: Path) -> bool:
    text = path.read_bytes()
    return b"triton" in text and _JIT.search(text) is not None


def _package(name: str) -> Path | None:
    """Return the folder of an installed package. It is looked up, never imported."""
    if not name.isidentifier():
        return None
    spec = find_spec(name)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(folders[0]) if folders else None


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reads files until `ends_at`; `say` gets what was inferred."""

    uses: JitUses
    target: str
    client: Client
    say: Say
    ends_at: float

    def kernels_of(self, path: Path) -> list[FileKernel]:
        """Return the kernels of a file.

        Raises ArgumentTypeError if the service cannot read the file, and the client's errors.
        """
        posted = read_source(str(path), Namespace(**_UNFLAGGED))
        if posted.language:
            raise ArgumentTypeError(f"{path} is IR; name Python files")
        posted = replace(posted, wait_s=max(0.0, self.ends_at - monotonic()))
        inspection = posted.inspected(self.client)
        if problem := inspection.get("problem"):
            raise ArgumentTypeError(f"{path}: {problem.get('detail') or problem.get('slug')}")
        kernels = inspection.get("kernels") or ()
        called = {other for kernel in kernels for other in kernel.get("calls") or ()}
        return [
            self._kernel(posted, kernel, inspection)
            for kernel in kernels
            if self.uses.is_launched(path, name := kernel["name"])
            or not (name in called or self.uses.is_called(path, name))
        ]

    def _kernel(
        self, posted: PostedFile, kernel: Mapping[str, Any], inspection: Mapping[str, Any]
    ) -> FileKernel:
        inferred: list[str] = []
        asked, named = Namespace(**_UNFLAGGED), {"kernel": kernel["name"]}
        posted = replace(posted, wait_s=max(0.0, self.ends_at - monotonic()))
        members = specialized(
            posted, asked, named, self.target, self.client, inferred.append, inspection=inspection
        )
        for line in inferred:
            self.say(line)
        signature = members.get("signature") or {}
        known = {*signature, *(members.get("constexprs") or ())}
        unknown = tuple(
            p for p in kernel["parameters"] if p["name"] not in known and not p["default"]
        )
        if isinstance(signature, str):
            unknown = ()
        is_written = not (inferred or unknown)
        return FileKernel(posted, kernel["name"], members, unknown, is_written, tuple(inferred))
