"""A kernel's file to post: its text, the modules it imports, and types given by example.

Nothing in it is executed.
"""

import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.argument_syntax import launch_argument
from tritonc.cli.streams import name_of, read, read_python
from tritonc.cli.terminal import Terminal
from tritonc.local_imports import MAX_FILES, local_imports
from tritonc.signature_example import signature_of

IR_SUFFIXES = frozenset({".ttir", ".ttgir", ".mlir"})
_TTGIR = re.compile(r'"ttg\.num-warps"|#ttg\.|^module attributes \{[^}\n]*ttg\.', re.MULTILINE)
_ONLY_OF_PYTHON = ("kernel", "signature", "constexpr", "hint", "file", "like")


@dataclass(frozen=True, slots=True)
class PostedFile:
    """A file to post: `language` of IR, None for Python; `files` are the modules to send along."""

    name: str
    text: str
    language: str | None
    files: Mapping[str, str]

    @property
    def members(self) -> dict[str, Any]:
        """The members of a compile request for this file."""
        if self.language:
            return {"ir": {"language": self.language, "text": self.text}}
        return {"source": self.text} | ({"files": dict(self.files)} if self.files else {})

    def say_sent(self, terminal: Terminal) -> None:
        """Report the sent files and their sizes."""
        kind = f" as {self.language}" if self.language else ""
        terminal.say(f"sent {self.name}{kind} ({len(self.text.encode())} bytes)")
        for path, text in self.files.items():
            terminal.say(f"  with {path} ({len(text.encode())} bytes)")


def read_source(
    path: str, given: Namespace, text: str | None = None, most_files: int = MAX_FILES
) -> PostedFile:
    """Return a file to post. It is IR by its suffix or --language, otherwise Python.

    `text` is its content if known. At most `most_files` imported modules are sent along. Raises
    OSError for unreadable files, ImportsTooLarge, and ArgumentTypeError for flags that do not
    apply to IR.
    """
    language = getattr(given, "language", None)
    if language or Path(path).suffix in IR_SUFFIXES:
        text = read(path) if text is None else text
        if useless := [f"--{flag}" for flag in _ONLY_OF_PYTHON if getattr(given, flag, None)]:
            message = f"{', '.join(useless)}: {path} is IR, which fixes kernel and types"
            raise ArgumentTypeError(message)
        return PostedFile(name_of(path), text, language or _language(path, text), {})
    text = read_python(path) if text is None else text
    named = {name: read_python(file) for name, file in given.file}
    found = {} if given.no_local_imports else local_imports(Path(path), text, most_files)
    return PostedFile(name_of(path), text, None, found | named)


def by_example(
    source: PostedFile, given: Namespace, members: dict[str, Any], target: str, client: Client
) -> dict[str, Any]:
    """Return `members` with types from the examples of --like; explicit ones take precedence.

    The service is asked for the parameters, since annotations decide. Raises ArgumentTypeError
    for an invalid example.
    """
    if not given.like:
        return members
    if isinstance(members.get("signature"), str):
        raise ArgumentTypeError("--like needs a --signature by name: --signature 'x_ptr=*fp32:16'")
    examples = {name: launch_argument(text) for name, text in given.like}
    facts = parameters_of(client.inspect(source.text, files=source.files), given.kernel)
    try:
        made = signature_of(examples, facts, target=target)
    except ValueError as error:
        raise ArgumentTypeError(f"--like {error}") from error
    added = {"signature": made.signature, "constexprs": made.constexprs, "hints": made.hints}
    merged = {name: {**member, **members.get(name, {})} for name, member in added.items() if member}
    return {**members, **merged}


def parameters_of(
    inspection: Mapping[str, Any], kernel: str | None
) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of the kernel by name; nothing if the kernel is ambiguous."""
    kernels = inspection.get("kernels") or ()
    called = {name for one in kernels for name in one.get("calls") or ()}
    wanted = [one for one in kernels if one["name"] == kernel]
    wanted = wanted if kernel else [one for one in kernels if one["name"] not in called]
    if len(wanted) != 1:
        return {}  # compiling reports the error and lists the kernels
    return {parameter["name"]: parameter for parameter in wanted[0]["parameters"]}


def _language(path: str, text: str) -> str:
    suffix = Path(path).suffix.removeprefix(".")
    if suffix in {"ttir", "ttgir"}:
        return suffix
    return "ttgir" if _TTGIR.search(text) else "ttir"
