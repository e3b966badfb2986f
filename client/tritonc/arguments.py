"""The command line's words: the parser, and how NAME=VALUE is read. Nothing is done here."""

import argparse
import json
from collections.abc import Sequence
from typing import Any

EPILOG = """\
exit codes:
  0  done
  1  the kernel did not compile; diagnostics are on standard error
  2  the request is wrong: unknown option, type, target, file, key, or not permitted
  3  the service cannot be reached, or cannot serve now
  4  not finished within --wait-s; `tritonc get KEY` asks again

environment:
  TRITOND_URL      where the service is (default http://127.0.0.1:8000)
  TRITOND_API_KEY  the key to send; not a flag, because command lines are visible to others
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of `tritonc`; the chosen command is in `command`."""
    root = argparse.ArgumentParser(
        prog="tritonc",
        description="Compile Triton GPU kernels on a tritond service.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("--url", help="where the service is; overrides TRITOND_URL")
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_compile(commands.add_parser("compile", help="compile a kernel"))
    _add_wait(_add_key(commands.add_parser("get", help="show a compilation")), default=0)
    artifact = _add_key(commands.add_parser("artifact", help="write one stage's bytes to stdout"))
    artifact.add_argument("stage", metavar="STAGE", help="ttir, ttgir, llir, ptx, cubin, ...")
    _add_wait(artifact, default=60)
    _add_key(commands.add_parser("cancel", help="withdraw interest in a compilation"))
    commands.add_parser("targets", help="show targets and options, as JSON")
    commands.add_parser("system", help="show the state of the deployment, as JSON")
    return root


def assignment(word: str) -> tuple[str, str]:
    """Split NAME=TEXT. Raises ArgumentTypeError for a word without a name or without `=`."""
    name, equals, text = word.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{word!r} is not NAME=VALUE")
    return name, text


def value(text: str) -> Any:
    """Return a JSON value, True, False or None; any other text is a string, as in `fp16` or `ieee`.

    So 16 is an int, 0.5 a float, "16" a string, [1, 2] a tuple and {"dtype": "bf16"} a dtype.
    """
    python = {"True": True, "False": False, "None": None}
    if text in python:
        return python[text]
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def signature(words: Sequence[str]) -> dict[str, str] | str | None:
    """Return a signature: one word without `=` is a list of types by position, others are named."""
    if len(words) == 1 and "=" not in words[0]:
        return words[0]
    return dict(assignment(word) for word in words) or None


def _add_compile(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="FILE", help="Python file with the kernel, or - for standard input")
    add("--target", required=True, help="cuda:90, ...; `tritonc targets` lists them")
    add("--kernel", metavar="NAME", help="needed when the file has several")
    words: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    pairs = words | {"type": assignment, "metavar": "NAME=VALUE"}
    types = 'name=*fp32:16 ..., or all by position: "*fp32:16,*fp32,i32"'
    add("--signature", **words, metavar="TYPE", help=types)
    add("--constexpr", **pairs, help="compile-time values")
    add("--hint", **pairs, help="x_ptr=divisible_by_16, ...; several with commas")
    add("--option", **pairs, help="num_warps=4, num_stages=3, ...")
    add("--file", **pairs, help="further modules that FILE imports: helpers.py=path/helpers.py")
    add("--emit", **words, metavar="STAGE[=PATH]", help="write a stage to PATH, - is stdout")
    add("--stop-after", metavar="STAGE", help="default: the target's last stage")
    add("--triton", metavar="VERSION", help="a Triton version that the service offers")
    add("--priority", choices=["interactive", "batch"])
    add("--timeout-s", type=float, metavar="S", help="bound of the compile itself")
    add("--refresh", action="store_true", help="compile again, and replace what was cached")
    add("--json", action="store_true", help="write the whole answer to stdout, as JSON")
    _add_wait(parser, default=60)


def _add_key(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("key", metavar="KEY", help="the compilation's key: 64 hexadecimal digits")
    return parser


def _add_wait(parser: argparse.ArgumentParser, default: float) -> None:
    text = f"how long to wait for it to finish (default {default:g})"
    parser.add_argument("--wait-s", type=float, default=default, metavar="S", help=text)
