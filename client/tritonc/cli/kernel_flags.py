"""The flags that several commands share, and the members of a request that they stand for."""

import argparse
import math
from argparse import Namespace
from typing import Any

from tritonc.cli.argument_syntax import assignment, signature, value
from tritonc.cli.completion_command import targets

WORDS: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
PAIRS = WORDS | {"type": assignment, "metavar": "NAME=VALUE"}


def add_kernel(parser: argparse.ArgumentParser) -> None:
    """Add what says how a kernel is compiled."""
    add = parser.add_argument
    add("--kernel", metavar="NAME", help="needed when the file has several")
    types = "'name=*fp32:16' ..., or all by position: '*fp32:16,*fp32,i32'"
    add("--signature", **WORDS, metavar="TYPE", help=types)
    add("--constexpr", **PAIRS, help="compile-time values")
    add("--hint", **PAIRS, help="x_ptr=divisible_by_16, ...; several with commas")
    add("--option", **PAIRS, help="num_warps=4, num_stages=3, ...")
    add("--triton", metavar="VERSION", help="a Triton version that the service offers")
    add("--language", choices=["ttir", "ttgir"], help="of IR in FILE; else seen from its text")
    add_files(parser)


def add_targets(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the targets of a command that can do several at once."""
    text = "cuda:90, ...; several with commas or with --target again; `tritonc targets` lists them"
    one: dict[str, Any] = {"action": "append", "default": [], "dest": "targets", "type": _targets}
    # one word each, so that a FILE may stand behind it
    flag: Any = parser.add_argument(
        "--target", **one, required=required, metavar="TARGET", help=text
    )
    flag.completer = targets  # what argcomplete asks for candidates


def add_like(parser: argparse.ArgumentParser) -> None:
    """Add types by example."""
    text = "types by example, as Triton's JIT infers them: 'x_ptr=fp32[4096,4096]' n=98432 k=1"
    parser.add_argument("--like", **PAIRS, help=text)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add what names further modules, and what is told of what was sent."""
    text = "further modules that FILE imports: helpers.py=path/helpers.py"
    parser.add_argument("--file", **PAIRS | {"metavar": "NAME=PATH"}, help=text)
    text = "send no modules beside those of --file; else those that FILE imports are found here"
    parser.add_argument("--no-local-imports", action="store_true", help=text)
    text = "say what is sent, and the id of what is submitted"
    parser.add_argument("--verbose", "-v", action="store_true", help=text)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the flag for programs that read the answer; it may stand before the command, too."""
    text = "write the whole answer to stdout, as one JSON document; errors, too"
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=text)


def add_wait(parser: argparse.ArgumentParser, default: float) -> None:
    """Add how long to wait, in seconds."""
    text = f"how long to wait for it to finish (default {default:g})"
    parser.add_argument("--wait-s", type=seconds, default=default, metavar="S", help=text)


def targets_of(given: Namespace) -> list[str]:
    """Return the targets in their order, each once."""
    return list(dict.fromkeys(name for word in given.targets for name in word.split(",")))


def kernel_members(given: Namespace) -> dict[str, Any]:
    """Return how the kernel is compiled, as the flags say; what they do not say is left out.

    For which target, and what the source is, is not among it.
    """
    members = {
        "kernel": given.kernel,
        "signature": signature(given.signature),
        "constexprs": {name: value(text) for name, text in given.constexpr} or None,
        "hints": {name: text.split(",") for name, text in given.hint} or None,
        "options": {name: value(text) for name, text in given.option} or None,
        "triton": given.triton,
    }
    return {name: member for name, member in members.items() if member is not None}


def rare_members(given: Namespace) -> dict[str, Any]:
    """Return what the rarer flags of a compilation say."""
    rare = {
        "priority": given.priority,
        "timeout_s": given.timeout_s,
        "refresh": given.refresh or None,
    }
    return {name: member for name, member in rare.items() if member is not None}


def number(word: str) -> float:
    """Read a number that JSON has. Raises ArgumentTypeError for any other, such as nan."""
    try:
        read = float(word)
    except ValueError:
        read = math.nan
    if not math.isfinite(read):
        raise argparse.ArgumentTypeError(f"{word!r} is no number")
    return read


def seconds(word: str) -> float:
    """Read how many seconds, perhaps inf. Raises ArgumentTypeError for what is none, or is less."""
    read = math.inf if word == "inf" else number(word)
    if read < 0:
        raise argparse.ArgumentTypeError(f"{word} is less than 0")
    return read


def count(word: str) -> int:
    """Read how many. Raises ArgumentTypeError for what is no whole number, and less than 0."""
    try:
        read = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number") from None
    if read < 0:
        raise argparse.ArgumentTypeError(f"{word} is less than 0")
    return read


def _targets(word: str) -> str:
    if not all(word.split(",")):
        raise argparse.ArgumentTypeError(f"{word!r} has an empty target in it")
    return word
