"""`tritonc gate --init`: writes a first gate file for the kernels of Python files."""

import os
from argparse import ArgumentTypeError, Namespace
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.file_kernels import (
    DEFAULT_TARGET,
    FileKernel,
    file_kernels,
    files_with_kernels,
)
from tritonc.cli.terminal import Terminal
from tritonc.gate.first_gate_file import UNKNOWN, FoundKernel, gate_file_text
from tritonc.target_names import target_name


def write_gate_file(args: Namespace, client: Client, terminal: Terminal) -> None:
    """Write the gate file, and report what was inferred and what is unknown.

    Raises ArgumentTypeError if the gate file exists, or if there is no kernel.
    """
    path = Path(args.file)
    if path.exists():
        raise ArgumentTypeError(
            f"{path} exists; name another file, as in: tritonc gate new.toml --init ..."
        )
    targets = list(map(target_name, args.target)) or [DEFAULT_TARGET]
    found: list[FoundKernel] = []
    for name in (str(file) for word in args.init for file in files_with_kernels(word)):
        source = Path(os.path.relpath(name, path.parent)).as_posix()
        kernels = file_kernels(name, targets[0], client, terminal.say)
        found += [FoundKernel(source, k.name, _members(k, terminal), _guesses(k)) for k in kernels]
    if not found:
        raise ArgumentTypeError(f"{', '.join(args.init)}: there is no @triton.jit")
    path.write_text(gate_file_text(found, targets, args.triton), encoding="utf-8")
    count = f"{len(found)} kernel{'' if len(found) == 1 else 's'}"
    next_step = "" if args.update_baseline else "; `tritonc gate --update-baseline` comes next"
    terminal.say(f"wrote {path} with {count}{next_step}")


def _guesses(kernel: FileKernel) -> list[str]:
    """Return what was assumed for a kernel, without the flags that change it."""
    lines = (note.removeprefix(f"note: {kernel.name}: ") for note in kernel.notes)
    return [f"guessed: {line.partition('; change it with')[0]}" for line in lines]


def _members(kernel: FileKernel, terminal: Terminal) -> dict[str, Any]:
    """Return the entries that the gate file needs: none if its own file has all."""
    if kernel.is_written:
        return {}
    members = dict(kernel.members)
    for parameter in kernel.unknown:
        group = "constexprs" if parameter["constexpr"] else "signature"
        members[group] = {**(members.get(group) or {}), parameter["name"]: UNKNOWN}
    if kernel.unknown:
        names = ", ".join(parameter["name"] for parameter in kernel.unknown)
        terminal.say(f'note: {kernel.name}: fill in {names}, written as "{UNKNOWN}"')
    return members
