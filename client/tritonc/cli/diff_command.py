"""`tritonc diff`: shows the differences between two compilations, like `diff`."""

import json
import re
import sys
import tomllib
from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.argument_syntax import value
from tritonc.cli.compiling.compile_command import WantedCompilation, compile_all, report
from tritonc.cli.get_command import compilation_of
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import (
    PAIRS,
    add_json,
    add_kernel,
    add_like,
    add_targets,
    add_wait,
    kernel_members,
    targets_of,
)
from tritonc.cli.posted_file import PostedFile, parameters_of, read_source, specialized
from tritonc.cli.refusal_words import WRONG_REQUEST, is_wrong_request
from tritonc.cli.streams import STANDARD, read, read_python, write_json
from tritonc.cli.sweeping.sweep_space import axis_name
from tritonc.cli.terminal import Say, Terminal, has_colour, table
from tritonc.cli.upgrade_command import two_tritons
from tritonc.compilation import Compilation
from tritonc.diagnostic import POSTED_SOURCE, posted_names, printable
from tritonc.diff import Diff

MAX_LINES = 20
MAX_OPCODES = 12
_KEY = re.compile(r"(?:\S*/v1/compilations/)?([0-9a-f]{64})(?:[/?#]\S*)?")
_REQUESTS = frozenset({".json", ".toml"})
_EPILOG = """\
A and B are keys or URLs of compilations, compile requests (.json, .toml), or kernels (Python, IR),
which are compiled with the given flags. With A alone, it is compiled twice: give --before and
--after, two targets, or two Tritons.

exit codes: 0 both results are the same; 1 they differ, or do not compile; otherwise as for tritonc.

examples:
  tritonc diff before.py after.py --target cuda:90 --like 'x_ptr=fp32[4096]' n=4096
  tritonc diff kernel.py --target cuda:90 --signature '*fp32:16,i32' \\
      --before num_warps=4 --after num_warps=8 --stage ptx
  tritonc diff kernel.py --target cuda:90 --triton 3.8,3.9
"""
_CHANGES = "--before, --after"
_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def add_command(commands: Any) -> None:
    """Add `diff` to the parser's commands."""
    parser = commands.add_parser(
        "diff",
        help="compare two compilations: resources, instructions, and each stage's text",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("a", metavar="A", help="a key, a URL, a request file, or a kernel")
    add("b", metavar="B", nargs="?", help="the same, to compare with A")
    what = "an option, a constexpr, `target` or `triton`"
    add("--before", **PAIRS, help=f"settings of the first compilation of A: {what}")
    add("--after", **PAIRS, help="settings of the second one")
    text = "show the diff of this stage, of several with commas, or of `all` (default: the first)"
    add("--stage", action="append", default=[], metavar="STAGE", help=text)
    add_targets(parser, required=False)
    add_kernel(parser)
    add_like(parser)
    add_json(parser)
    add_wait(parser, default=60)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool | int:
    """Compile what needs compiling, compare, and return whether both results are the same.

    Two kernels that fail are not the same; a wrong request is WRONG_REQUEST. Raises the errors of
    reading files, sending requests and waiting.
    """
    for name in ("a", "b"):
        if (word := getattr(args, name)) and not Path(word).exists():
            setattr(args, name, compilation_of(word, args, client, terminal.say))
    keys, made = _keys(args, client, terminal)
    if any(is_wrong_request(compilation.problem) for compilation in made):
        return WRONG_REQUEST
    shown = [name for word in args.stage for name in word.split(",") if name]
    with waiting(args, terminal, "comparing", keys):
        diff = client.diff(*keys, wait_s=args.wait_s)
    there = [stage.stage for stage in diff.stages]
    for name in shown:
        if name not in {"all", *there}:
            raise ArgumentTypeError(f"--stage {name}: not available; both have {', '.join(there)}")
    if args.json:
        write_json(diff.raw)
    else:
        names = [args.recent.name_of(key) or POSTED_SOURCE for key in keys]
        _report(diff, shown, names, terminal)
    return diff.same and all(compilation.succeeded for compilation in made)


def _keys(
    args: Namespace, client: Client, terminal: Terminal
) -> tuple[list[str], list[Compilation]]:
    """Return the keys of both sides, and what was compiled for them. Raises ArgumentTypeError."""
    notes: list[str] = []
    sides = _sides(args, client, notes.append)
    for line in dict.fromkeys(notes):
        terminal.say(line)
    wanted = [side for side in sides if isinstance(side, WantedCompilation)]
    made = compile_all(wanted, args, client, terminal) if wanted else []
    failed = [
        report(side, compilation, args, client)
        for side, compilation in zip(wanted, made, strict=True)
        if not compilation.succeeded
    ]
    for text in dict.fromkeys(failed):  # both sides may fail alike
        terminal.say(text)
    keys = iter(made)
    return [side if isinstance(side, str) else next(keys).key for side in sides], made


def _sides(args: Namespace, client: Client, say: Say) -> list[WantedCompilation | str]:
    targets = targets_of(args)
    if len(targets) > 2:
        raise ArgumentTypeError(f"--target: give at most two, not {len(targets)}")
    if args.b is not None and (args.before or args.after):
        raise ArgumentTypeError("--before and --after change A alone; leave them out, or B")
    if args.triton is not None and "," in args.triton:
        if args.b is not None:
            raise ArgumentTypeError(f"--triton {args.triton} compares A with itself; leave B out")
        old, new = two_tritons(args.triton, client)
        args.before, args.after = (
            [*args.before, ("triton", old)],
            [*args.after, ("triton", new)],
        )
        args.triton = None
    if args.b is None and not (args.before or args.after or len(targets) == 2):
        message = (
            "nothing to compare with; give B, --before and --after, two targets, or two Tritons"
        )
        raise ArgumentTypeError(message)
    if args.b is None and _KEY.fullmatch(args.a):
        raise ArgumentTypeError(f"{args.a} is a finished compilation; give the other key as B")
    words = (args.a, args.b or args.a)
    changes = (args.before, args.after)
    both: list[str | None] = list(targets) or [None]
    args.standard = read_python(STANDARD) if STANDARD in words else None  # for both sides
    return [
        _side(word, args, target, pairs, client, say)
        for word, target, pairs in zip(words, (both[0], both[-1]), changes, strict=True)
    ]


def _side(
    word: str,
    args: Namespace,
    target: str | None,
    pairs: Sequence[tuple[str, str]],
    client: Client,
    say: Say,
) -> WantedCompilation | str:
    if key := _KEY.fullmatch(word):
        return key[1]
    if Path(word).suffix in _REQUESTS:
        source, members = _request(word)
        members |= kernel_members(args)
    else:
        text = args.standard if word == STANDARD else None
        source, members = read_source(word, args, text), kernel_members(args)
    _change(members, pairs, source, args, client)
    target = members.pop("target", None) if target is None else target
    if pairs and "target" in members:
        target = members.pop("target")
    if target is None:
        raise ArgumentTypeError(f"{word}: no target; give one, such as --target cuda:90")
    members.pop("target", None)
    made = specialized(source, args, members, target, client, say)
    return WantedCompilation(source, target, made)


def _request(path: str) -> tuple[PostedFile, dict[str, Any]]:
    """Return the source of a compile request file, and the request's other members."""
    text = read(path)
    try:
        request = json.loads(text) if Path(path).suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"{path}: {error}") from error
    if not isinstance(request, dict) or not request.keys() & {"source", "ir"}:
        raise ArgumentTypeError(f"{path}: a compile request needs `source` or `ir`")
    ir, files = request.pop("ir", None), request.pop("files", None) or {}
    if ir is None:
        return PostedFile(path, str(request.pop("source")), None, None, files), request
    if not isinstance(ir, dict) or not isinstance(ir.get("text"), str):
        raise ArgumentTypeError(f"{path}: `ir` must be an object with `language` and `text`")
    for name in ("source", "kernel"):
        request.pop(name, None)
    language, canonicalize = ir.get("language", "ttir"), ir.get("canonicalize", False)
    return PostedFile(path, ir["text"], language, canonicalize=canonicalize), request


def _change(
    members: dict[str, Any],
    pairs: Sequence[tuple[str, str]],
    source: PostedFile,
    args: Namespace,
    client: Client,
) -> None:
    """Apply the values of --before or --after to the members of a request."""
    if not pairs:
        return
    facts: Mapping[str, Mapping[str, Any]] = {}
    if source.language is None:
        inspection = source.inspected(client)
        facts = parameters_of(inspection, args.kernel or members.get("kernel"))
    for word, text in pairs:
        group, _, name = axis_name(word, facts, _CHANGES).partition(".")
        if group in {"target", "triton"}:
            members[group] = text
        elif group in {"options", "constexprs"}:
            members[group] = {**(members.get(group) or {}), name: value(text)}
        else:
            message = f"{_CHANGES} {word}: not an option, a constexpr, target or triton"
            raise ArgumentTypeError(message)


def _report(diff: Diff, wanted: Sequence[str], names: Sequence[str], terminal: Terminal) -> None:
    """Write the differences: requests, numbers, source lines, and the text of stages.

    `names` are the files of both sides.
    """
    rows = [*diff.differing(), *diff.instruction_counts()]
    if rows:
        cells = [[name, *changes.split(" -> ", 1)] for name, changes in rows]
        terminal.draw(table(["", "a", "b"], cells))
    for line in _lines(diff, names):
        terminal.text(line)
    if diff.same:
        terminal.text("both results are the same")
        return
    terminal.text("\n".join(str(stage) for stage in diff.stages))
    first = diff.first_differing()
    for stage in diff.stages:
        is_shown = stage.stage in wanted or "all" in wanted if wanted else stage is first
        if is_shown and stage.diff is not None:
            _show(stage.diff, terminal)
            if stage.truncated:
                terminal.say(f"note: {stage.stage}: the diff is cut; there are more differences")


def _lines(diff: Diff, names: Sequence[str]) -> Iterator[str]:
    """Yield opcodes, and lines of the files `names`, whose instruction counts differ."""
    instructions = diff.instructions or {}
    opcodes = (instructions.get("delta") or {}).get("by_opcode") or {}
    if opcodes:
        changes = [f"{name} {more:+d}" for name, more in islice(opcodes.items(), MAX_OPCODES)]
        more = f", and {len(opcodes) - MAX_OPCODES} more" if len(opcodes) > MAX_OPCODES else ""
        yield f"opcodes: {', '.join(changes)}{more}"
    rows = instructions.get("by_line") or []
    for row in rows[:MAX_LINES]:
        counts = ", ".join(f"{kind} {more:+d}" for kind, more in row["delta"]["by_class"].items())
        yield f"{_place(row, names)}: {counts}"
    if len(rows) > MAX_LINES:
        yield f"and {len(rows) - MAX_LINES} more lines"


def _place(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return a row's line on each side, by its own file; once where both are the same."""
    if not row["file"]:
        return "no line"
    at: dict[str, list[str]] = {}  # line numbers by file
    for name, line in zip(names, (row["a_line"], row["b_line"]), strict=True):
        lines = at.setdefault(posted_names(name).get(row["file"], row["file"]), [])
        if line and str(line) not in lines:
            lines.append(str(line))
    return " -> ".join(f"{file}:{' -> '.join(lines)}" for file, lines in at.items() if lines)


def _show(text: str, terminal: Terminal) -> None:
    if not has_colour(sys.stdout, terminal.environment):
        terminal.text(text)
        return
    from rich.text import Text

    console = terminal.console(sys.stdout)
    for line in printable(text).splitlines():
        console.print(Text(line, _STYLES.get(line[:1], "")), soft_wrap=True)
