"""`tritonc gate --init`: writes a first gate file for the kernels of Python files."""

import os
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.posted_file import PostedFile, read_source, specialized
from tritonc.cli.terminal import Terminal
from tritonc.gate.first_gate_file import UNKNOWN_TYPE, FoundKernel, gate_file_text
from tritonc.target_names import target_name

DEFAULT_TARGET = "cuda:90"
_UNFLAGGED = {"file": [], "no_local_imports": False, "like": [], "autotune": False, "kernel": None}


def write_gate_file(given: Namespace, client: Client, terminal: Terminal) -> None:
    """Write the gate file, and say what was inferred and what is unknown.

    Raises ArgumentTypeError if the gate file exists, or if a file has no kernel.
    """
    path = Path(given.file)
    if path.exists():
        raise ArgumentTypeError(
            f"{path} exists; name another file, as in: tritonc gate new.toml --init ..."
        )
    targets = list(map(target_name, given.target)) or [DEFAULT_TARGET]
    kernels = [
        kernel
        for name in given.init
        for kernel in found_kernels(name, targets[0], client, terminal, path.parent)
    ]
    path.write_text(gate_file_text(kernels, targets, given.triton), encoding="utf-8")
    count = f"{len(kernels)} kernel{'' if len(kernels) == 1 else 's'}"
    terminal.say(f"wrote {path} with {count}; `tritonc gate --update-baseline` writes the baseline")


def found_kernels(
    name: str, target: str, client: Client, terminal: Terminal, folder: Path
) -> Iterator[FoundKernel]:
    """Yield the kernels of a file that no other kernel calls.

    Paths are relative to `folder`. Raises ArgumentTypeError if there is none.
    """
    posted = read_source(name, Namespace(**_UNFLAGGED))
    if posted.language:
        raise ArgumentTypeError(f"{name} is IR; a gate file names Python files")
    inspection = client.inspect(posted.text, files=posted.files)
    kernels = inspection.get("kernels") or ()
    if not kernels:
        problem = inspection.get("problem") or {}
        raise ArgumentTypeError(f"{name}: {problem.get('detail') or 'there is no @triton.jit'}")
    called = {other for kernel in kernels for other in kernel.get("calls") or ()}
    source = Path(os.path.relpath(name, folder)).as_posix()
    for kernel in kernels:
        if kernel["name"] not in called:
            members = _members(posted, kernel, target, client, terminal)
            yield FoundKernel(source, kernel["name"], members)


def _members(
    posted: PostedFile,
    kernel: Mapping[str, Any],
    target: str,
    client: Client,
    terminal: Terminal,
) -> dict[str, Any]:
    """Return what the gate file must say: nothing if the kernel's own file says all of it."""
    inferred: list[str] = []
    asked = Namespace(**_UNFLAGGED)
    members = specialized(
        posted, asked, {"kernel": kernel["name"]}, target, client, inferred.append
    )
    signature = members.get("signature") or {}
    if isinstance(signature, str):
        return members if inferred else {}
    known = {*signature, *(members.get("constexprs") or ())}
    lacking = [p for p in kernel["parameters"] if p["name"] not in known and not p["default"]]
    types = {p["name"]: UNKNOWN_TYPE for p in lacking if not p["constexpr"]}
    values = {p["name"]: UNKNOWN_TYPE for p in lacking if p["constexpr"]}
    for line in inferred:
        terminal.say(line)
    if lacking:
        names = ", ".join(p["name"] for p in lacking)
        terminal.say(f'note: {kernel["name"]}: fill in {names}, written as "{UNKNOWN_TYPE}"')
    if not (inferred or lacking):
        return {}
    constexprs = {**(members.get("constexprs") or {}), **values}
    return {**members, "signature": {**signature, **types}, "constexprs": constexprs}
