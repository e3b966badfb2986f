"""The flags that several commands share, and the members of a request that they stand for."""

import argparse
from argparse import Namespace
from typing import Any

from tritonc.cli.argument_syntax import assignment, signature, value
from tritonc.cli.streams import read

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
    add_files(parser)


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add what names further modules."""
    text = "further modules that FILE imports: helpers.py=path/helpers.py"
    parser.add_argument("--file", **PAIRS | {"metavar": "NAME=PATH"}, help=text)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the flag for programs that read the answer."""
    text = "write the whole answer to stdout, as JSON"
    parser.add_argument("--json", action="store_true", help=text)


def add_wait(parser: argparse.ArgumentParser, default: float) -> None:
    """Add how long to wait, in seconds."""
    text = f"how long to wait for it to finish (default {default:g})"
    parser.add_argument("--wait-s", type=float, default=default, metavar="S", help=text)


def kernel_members(given: Namespace) -> dict[str, Any]:
    """Return how the kernel is compiled, as the flags say; what they do not say is left out."""
    members = {
        "target": given.target,
        "kernel": given.kernel,
        "signature": signature(given.signature),
        "constexprs": {name: value(text) for name, text in given.constexpr} or None,
        "hints": {name: text.split(",") for name, text in given.hint} or None,
        "options": {name: value(text) for name, text in given.option} or None,
        "files": {name: read(path) for name, path in given.file} or None,
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
