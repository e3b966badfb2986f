"""The kernels of a Python file, each with the types and values that a compile request needs."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.posted_file import PostedFile, read_source, specialized
from tritonc.cli.terminal import Say

DEFAULT_TARGET = "cuda:90"
_UNFLAGGED = {"file": [], "no_local_imports": False, "like": [], "autotune": False, "kernel": None}


@dataclass(frozen=True, slots=True)
class FileKernel:
    """A kernel; `members` are those of its compile request, without the texts.

    `unknown` are the parameters whose type or value is found nowhere. `is_written` is True if the
    file and pyproject.toml say everything.
    """

    posted: PostedFile
    name: str
    members: Mapping[str, Any]
    unknown: tuple[Mapping[str, Any], ...]
    is_written: bool


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
    asked, given = Namespace(**_UNFLAGGED), {"kernel": kernel["name"]}
    members = specialized(posted, asked, given, target, client, inferred.append)
    for line in inferred:
        say(line)
    signature = members.get("signature") or {}
    known = {*signature, *(members.get("constexprs") or ())}
    unknown = tuple(p for p in kernel["parameters"] if p["name"] not in known and not p["default"])
    if isinstance(signature, str):
        unknown = ()
    return FileKernel(posted, kernel["name"], members, unknown, not (inferred or unknown))
