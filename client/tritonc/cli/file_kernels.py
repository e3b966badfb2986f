"""The kernels of a Python file, each with the types and values that a compile request needs."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.posted_file import PostedFile, read_source, specialized
from tritonc.cli.terminal import Say

DEFAULT_TARGET = "cuda:90"
MAX_FILES = 2000
_UNFLAGGED = {"file": [], "no_local_imports": False, "like": [], "autotune": False, "kernel": None}


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


def files_with_kernels(word: str) -> list[Path]:
    """Return a file, or the files with kernels of a folder or an installed package, sorted.

    Raises ArgumentTypeError if there is no such place, or for more than `MAX_FILES`.
    """
    path = Path(word)
    if path.is_file():
        return [path]
    folder = path if path.is_dir() else _package(word)
    if folder is None:
        raise ArgumentTypeError(f"{word}: no such file, folder or installed package")
    files = sorted(folder.rglob("*.py"))
    if len(files) > MAX_FILES:
        raise ArgumentTypeError(f"{word} has {len(files)} files; name at most {MAX_FILES}")
    return [file for file in files if b"triton.jit" in file.read_bytes()]


def _package(name: str) -> Path | None:
    """Return the folder of an installed package. It is looked up, never imported."""
    if not name.isidentifier():
        return None
    spec = find_spec(name)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(folders[0]) if folders else None


def file_kernels(name: str, target: str, client: Client, say: Say) -> Iterator[FileKernel]:
    """Yield the kernels of a file that no other kernel calls; `say` gets what was inferred.

    Raises ArgumentTypeError if the service cannot read the file.
    """
    posted = read_source(name, Namespace(**_UNFLAGGED))
    if posted.language:
        raise ArgumentTypeError(f"{name} is IR; name Python files")
    inspection = posted.inspected(client)
    if problem := inspection.get("problem"):
        raise ArgumentTypeError(f"{name}: {problem.get('detail') or problem.get('slug')}")
    kernels = inspection.get("kernels") or ()
    called = {other for kernel in kernels for other in kernel.get("calls") or ()}
    for kernel in kernels:
        if kernel["name"] not in called:
            yield _file_kernel(posted, kernel, target, client, say)


def _file_kernel(
    posted: PostedFile, kernel: Mapping[str, Any], target: str, client: Client, say: Say
) -> FileKernel:
    inferred: list[str] = []
    asked, named = Namespace(**_UNFLAGGED), {"kernel": kernel["name"]}
    members = specialized(posted, asked, named, target, client, inferred.append)
    for line in inferred:
        say(line)
    signature = members.get("signature") or {}
    known = {*signature, *(members.get("constexprs") or ())}
    unknown = tuple(p for p in kernel["parameters"] if p["name"] not in known and not p["default"])
    if isinstance(signature, str):
        unknown = ()
    is_written = not (inferred or unknown)
    return FileKernel(posted, kernel["name"], members, unknown, is_written, tuple(inferred))
