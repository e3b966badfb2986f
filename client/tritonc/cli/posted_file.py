"""A kernel's file to post: its text, the modules it imports, and types given by example.

Nothing in it is executed.
"""

import re
from argparse import ArgumentTypeError, Namespace
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.argument_syntax import launch_argument
from tritonc.cli.streams import STANDARD, name_of, read, read_python
from tritonc.cli.terminal import Say, Terminal
from tritonc.diagnostic import IR_SUFFIXES, Problem
from tritonc.local_imports import local_imports
from tritonc.packages.package import Package, needs_of
from tritonc.service_errors import UnexpectedAnswer
from tritonc.signature_example import signature_of
from tritonc.signature_sources import (
    chosen_kernel,
    completed,
    is_tuned_by_code,
    is_written,
    lacks,
    tuned,
)

_TTGIR = re.compile(r'"ttg\.num-warps"|#ttg\.|^module attributes \{[^}\n]*ttg\.', re.MULTILINE)
_IR = re.compile(r"(?:\s|//[^\n]*\n|#[\w.]+ = [^\n]*\n)*module\b[^\n]*\{")
"""The first line of IR after comments and aliases of attributes and locations."""
_ONLY_OF_PYTHON = ("kernel", "signature", "constexpr", "hint", "file", "like")
DEFAULT_INSPECTION_S = 60.0


@dataclass(frozen=True, slots=True)
class PostedFile:
    """A file to post: `language` of IR, None for Python.

    A Python file has a `package`; of a request, `files` are its modules.
    """

    name: str
    text: str
    language: str | None
    package: Package | None = None
    request_files: Mapping[str, str] = field(default_factory=dict)
    canonicalize: bool = False
    """Of TTIR: it was taken before Triton's first passes."""
    wait_s: float = DEFAULT_INSPECTION_S
    """Seconds that `inspected` waits by default."""

    @property
    def files(self) -> dict[str, str]:
        """The modules that are sent along."""
        return dict(self.request_files) if self.package is None else self.package.files

    @property
    def paths(self) -> dict[str, Path]:
        """The paths of these on this machine, as far as they are known."""
        return {} if self.package is None else self.package.paths

    @property
    def path(self) -> Path | None:
        """The path of the file, None for standard input."""
        return None if self.name == name_of(STANDARD) else Path(self.name)

    @property
    def members(self) -> dict[str, Any]:
        """The members of a compile request for this file."""
        if self.language:
            further = {"canonicalize": True} if self.canonicalize else {}
            return {"ir": {"language": self.language, "text": self.text} | further}
        if self.package is not None:
            return {"source": self.text, **self.package.members}
        return {"source": self.text} | ({"files": dict(self.files)} if self.files else {})

    def inspected(self, client: Client, **asked: Any) -> dict[str, Any]:
        """Return what `Client.inspect` answers for this file. Raises its errors."""
        asked = {"wait_s": self.wait_s} | asked
        if self.package is None:
            return client.inspect(self.text, files=self.files, **asked)
        return client.inspect(self.text, package=self.package, **asked)

    def supply(self, problem: Problem | None) -> bool:
        """Add the modules that a problem asks for; return whether to post the file again."""
        return self.package is not None and self.package.supply(needs_of(problem))

    def say_sent(self, terminal: Terminal) -> None:
        """Report the sent files and their sizes."""
        kind = f" as {self.language}" if self.language else ""
        terminal.say(f"sent {self.name}{kind} ({len(self.text.encode())} bytes)")
        say_modules(terminal, self.files)


def say_modules(terminal: Terminal, files: Mapping[str, str]) -> None:
    """Report modules that are sent along, and their sizes."""
    for path, text in files.items():
        terminal.say(f"  with {path} ({len(text.encode())} bytes)")


def read_source(path: str, args: Namespace, text: str | None = None) -> PostedFile:
    """Return a file to post. It is IR by its suffix or --language, otherwise Python.

    `text` is its content if known. `given.asked` has the modules that earlier requests asked for,
    by file. Raises OSError for unreadable or empty files, and ArgumentTypeError for flags that
    do not apply to IR.
    """
    language, canonicalize = getattr(args, "language", None), getattr(args, "canonicalize", False)
    if path == STANDARD and text is None:
        text = read_python(path)
    if language or (path == STANDARD and _IR.match(text or "")) or Path(path).suffix in IR_SUFFIXES:
        text = read(path) if text is None else text
        if useless := [f"--{flag}" for flag in _ONLY_OF_PYTHON if getattr(args, flag, None)]:
            message = f"{', '.join(useless)}: {path} is IR, which fixes kernel and types"
            raise ArgumentTypeError(message)
        _refuse_empty(path, text)
        language = language or _language(path, text)
        if canonicalize and language != "ttir":
            message = f"--canonicalize: {name_of(path)} is {language.upper()}, not TTIR"
            raise ArgumentTypeError(message)
        return PostedFile(name_of(path), text, language, canonicalize=canonicalize)
    if canonicalize:
        message = f"--canonicalize: {name_of(path)} is Python, whose first passes always run"
        raise ArgumentTypeError(message)
    text = read_python(path) if text is None else text
    _refuse_empty(path, text)
    named = {name: read_python(file) for name, file in args.file}
    sends = not args.no_local_imports
    package = Package.of_file(Path(path), text, named=named, sends_modules=sends)
    package.supply(getattr(args, "asked", {}).get(path, ()))
    wait_s = getattr(args, "wait_s", None) or DEFAULT_INSPECTION_S  # 0 waits for no result only
    return PostedFile(name_of(path), text, None, package, wait_s=wait_s)


def _refuse_empty(path: str, text: str) -> None:
    """Raise OSError, as for a file that cannot be read: `watch` waits for its next save."""
    if not text.strip():
        raise OSError(f"{name_of(path)} is empty")


def read_program(path: str, args: Namespace, text: str | None = None) -> PostedFile:
    """Return a program to post, with the modules that it imports; `text` is it if known.

    Raises OSError for unreadable or empty files, and ImportsTooLarge.
    """
    text = read_python(path) if text is None else text
    _refuse_empty(path, text)
    named = {name: read_python(file) for name, file in args.file}
    imported = {} if args.no_local_imports else local_imports(Path(path), text)
    return PostedFile(name_of(path), text, None, None, imported | named)


def specialized(
    source: PostedFile,
    args: Namespace,
    members: dict[str, Any],
    target: str,
    client: Client,
    say: Say,
    *,
    swept: Collection[str] = (),
    with_hints: bool = True,
    inspection: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return `members` with types: those given, by the examples of --like, or found otherwise.

    Without --like, what --signature does not give comes from the file, pyproject.toml or use;
    `say` gets what was assumed, in one line. Parameters in `swept` get their values elsewhere.
    Without `with_hints`, nothing is assumed of sizes and strides. `inspection` is that of the
    source, if it is known. Raises ArgumentTypeError for an
    invalid example, and InvalidSignatureSource.
    """
    is_by_position = isinstance(members.get("signature"), str)
    is_given = is_by_position and not is_written(source.text, source.path)
    if source.language or (is_given and not args.like):
        return members
    if args.like and isinstance(members.get("signature"), str):
        raise ArgumentTypeError("--like needs a --signature by name: --signature 'x_ptr=*fp32:16'")
    examples = {name: launch_argument(text) for name, text in args.like}
    inspection = source.inspected(client) if inspection is None else inspection
    if not examples:
        if args.autotune:
            swept = {*swept, *_constexprs(inspection, members.get("kernel"))}
        asked = client, target
        return _completed(
            source, members, inspection, say, asked=asked, swept=swept, with_hints=with_hints
        )
    facts = parameters_of(inspection, args.kernel)
    try:
        made = signature_of(examples, facts, target=target)
    except ValueError as error:
        raise ArgumentTypeError(f"--like {error}") from error
    added = {"signature": made.signature, "constexprs": made.constexprs, "hints": made.hints}
    merged = {name: {**member, **members.get(name, {})} for name, member in added.items() if member}
    return {**members, **merged}


def with_constexprs(
    source: dict[str, Any],
    launch: Mapping[str, Any],
    posted: PostedFile | None,
    client: Client,
    say: Say,
    *,
    swept: Collection[str] = (),
) -> dict[str, Any]:
    """Return the kernel of a launch with the constexprs that the command line does not give.

    The arguments give the types. Raises InvalidSignatureSource.
    """
    if posted is None or posted.language or "source" not in source:
        return source
    if source.get("constexprs") and not is_written(posted.text, posted.path):
        return source
    inspection = posted.inspected(client)
    arguments = launch.get("arguments")
    named = {*swept, *(arguments if isinstance(arguments, Mapping) else ())}
    asked = client, source.get("target")
    return _completed(posted, source, inspection, say, asked=asked, swept=named, with_types=False)


def _constexprs(inspection: Mapping[str, Any], kernel: str | None) -> list[str]:
    """Return the constexprs without a default, which an autotuner may set."""
    facts = parameters_of(inspection, kernel)
    return [name for name, fact in facts.items() if fact["constexpr"] and not fact["default"]]


def _completed(
    source: PostedFile,
    members: Mapping[str, Any],
    inspection: Mapping[str, Any],
    say: Say,
    *,
    asked: tuple[Client, str | None],
    swept: Collection[str] = (),
    with_types: bool = True,
    with_hints: bool = True,
) -> dict[str, Any]:
    """Return `members`, completed by the file, pyproject.toml or use; `say` gets a line.

    A service and a target are `asked` for configurations that only executing the file shows.
    Raises InvalidSignatureSource, and UnexpectedAnswer for a malformed inspection.
    """
    try:
        kernel = chosen_kernel(inspection, members.get("kernel"))
        if kernel is None:
            return dict(members)  # compiling reports the error and lists the kernels
        client, target = asked
        is_open = members.get("signature") is None or lacks(kernel, members)
        if with_types and not is_open and not is_written(source.text, source.path):
            return dict(members)
        if is_tuned_by_code(kernel) and target is not None and ":" in target and not swept:
            name = kernel["name"]
            read = source.inspected(client, kernel=name, target=target)
            kernel = tuned(kernel, read.get("autotune"))
        rest = [fact for fact in kernel["parameters"] if fact["name"] not in swept]
        made = completed(
            members,
            {**kernel, "parameters": rest},
            text=source.text,
            path=source.path,
            with_types=with_types,
            with_hints=with_hints,
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise UnexpectedAnswer(f"the inspection of {source.name} is malformed") from error
    if made.inferred:
        for warning in kernel.get("warnings") or ():
            say(f"warning: {kernel['name']}: {warning}")
        launch = kernel.get("launch")
        how = f"its launch on line {launch['line']} passes" if launch else "assumes"
        say(
            f"note: {kernel['name']}: {how} {made.inferred}; change it with --signature and "
            "--constexpr; `tritonc inspect` shows why"
        )
    return made.members


def parameters_of(
    inspection: Mapping[str, Any], kernel: str | None
) -> dict[str, Mapping[str, Any]]:
    """Return the parameters of the kernel by name; nothing if the kernel is ambiguous."""
    facts = chosen_kernel(inspection, kernel)
    return {fact["name"]: fact for fact in facts["parameters"]} if facts else {}


def _language(path: str, text: str) -> str:
    suffix = Path(path).suffix.removeprefix(".")
    if suffix in {"ttir", "ttgir"}:
        return suffix
    return "ttgir" if _TTGIR.search(text) else "ttir"
