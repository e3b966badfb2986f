"""Flags that several commands share, and the request members that they set."""

import argparse
import math
from argparse import Namespace
from typing import Any

from tritonc.cli.argument_syntax import assignment, signature, value
from tritonc.cli.completion_command import targets
from tritonc.target_names import target_name

WORDS: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
PAIRS = WORDS | {"type": assignment, "metavar": "NAME=VALUE"}


def add_kernel(parser: argparse.ArgumentParser) -> None:
    """Add the flags that control how a kernel is compiled."""
    add = parser.add_argument
    add("--kernel", metavar="NAME", help="required if the file has several kernels")
    types = (
        "'name=*fp32:16' ..., or all by position: '*fp32:16,*fp32,i32'; default: from a "
        "`# tritonc:` comment, pyproject.toml, or use (see `tritonc inspect`)"
    )
    add("--signature", **WORDS, metavar="TYPE", help=types)
    add("--constexpr", **PAIRS, help="compile-time values")
    add("--hint", **PAIRS, help="x_ptr=divisible_by_16, ...; several with commas")
    add("--option", **PAIRS, help="num_warps=4, num_stages=3, ...")
    add("--triton", metavar="VERSION", help="a Triton version that the service offers")
    add("--language", choices=["ttir", "ttgir"], help="of IR in FILE; default: by name or text")
    text = "TTIR in FILE was taken before Triton's first passes (`--emit source`): run them, too"
    add("--canonicalize", action="store_true", help=text)
    add_files(parser)


def add_targets(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the targets of a command that accepts several."""
    text = "cuda:90, h100, ...; several with commas or repeated --target; see `tritonc targets`"
    settings: dict[str, Any] = {
        "action": "append",
        "default": [],
        "dest": "targets",
        "type": _targets,
    }
    # each flag takes one word, so that FILE may follow it
    flag: Any = parser.add_argument(
        "--target", **settings, required=required, metavar="TARGET", help=text
    )
    flag.completer = targets  # argcomplete calls it for candidates


def add_like(parser: argparse.ArgumentParser) -> None:
    """Add types by example."""
    text = "types by example, as Triton's JIT infers them: 'x_ptr=fp32[4096,4096]' n=98432 k=1"
    parser.add_argument("--like", **PAIRS, help=text)
    parser.set_defaults(autotune=False)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the flags for further modules, and for showing what was sent."""
    text = "further modules that FILE imports: helpers.py=path/helpers.py"
    parser.add_argument("--file", **PAIRS | {"metavar": "NAME=PATH"}, help=text)
    text = "send only the modules of --file; default: also those that FILE imports locally"
    parser.add_argument("--no-local-imports", action="store_true", help=text)
    text = "show what is sent, and the id of the submitted job"
    parser.add_argument("--verbose", "-v", action="store_true", help=text)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json; it may also come before the command."""
    text = "write the whole answer, or the error, to stdout as one JSON document"
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=text)


def add_wait(parser: argparse.ArgumentParser, default: float) -> None:
    """Add the maximum wait in seconds."""
    text = f"how long to wait for the result, in seconds (default {default:g})"
    parser.add_argument("--wait-s", type=seconds, default=default, metavar="S", help=text)


def targets_of(args: Namespace) -> list[str]:
    """Return the distinct targets in their order, by the service's names."""
    names = [name for word in args.targets for name in word.split(",")]
    return list(dict.fromkeys(map(target_name, names)))


def kernel_members(args: Namespace) -> dict[str, Any]:
    """Return the compile settings that the flags give.

    The target and the source are not included.
    """
    members = {
        "kernel": args.kernel,
        "signature": signature(args.signature),
        "constexprs": {name: value(text) for name, text in args.constexpr} or None,
        "hints": {name: text.split(",") for name, text in args.hint} or None,
        "options": {name: value(text) for name, text in args.option} or None,
        "triton": args.triton,
    }
    return {name: member for name, member in members.items() if member is not None}


def rare_members(args: Namespace) -> dict[str, Any]:
    """Return the settings of the rarer compile flags."""
    rare = {
        "priority": args.priority,
        "timeout_s": args.timeout_s,
        "refresh": args.refresh or None,
    }
    return {name: member for name, member in rare.items() if member is not None}


def number(word: str) -> float:
    """Parse a number that JSON can represent. Raises ArgumentTypeError for others, such as nan."""
    try:
        read = float(word)
    except ValueError:
        read = math.nan
    if not math.isfinite(read):
        raise argparse.ArgumentTypeError(f"{word!r} is not a number")
    return read


def seconds(word: str) -> float:
    """Parse a duration in seconds, perhaps inf. Raises ArgumentTypeError if it is negative."""
    read = math.inf if word == "inf" else number(word)
    if read < 0:
        raise argparse.ArgumentTypeError(f"{word} is negative; give 0 or more")
    return read


def count(word: str) -> int:
    """Parse a count. Raises ArgumentTypeError unless it is a whole number of at least 0."""
    try:
        read = int(word)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{word!r} is not a whole number") from None
    if read < 0:
        raise argparse.ArgumentTypeError(f"{word} is negative; give 0 or more")
    return read


def _targets(word: str) -> str:
    if not all(word.split(",")):
        raise argparse.ArgumentTypeError(f"{word!r} contains an empty target; remove a comma")
    return word
