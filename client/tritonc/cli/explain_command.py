"""`tritonc explain`: why a kernel spills, what limits its occupancy, and what was tried."""

from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.compiling.compile_command import WantedCompilation, compile_all, report
from tritonc.cli.explain_report import explanation_json, write_explanation
from tritonc.cli.file_kernels import DEFAULT_TARGET
from tritonc.cli.get_command import KEY_DIGITS, compilation_of
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import (
    add_json,
    add_kernel,
    add_like,
    add_targets,
    add_wait,
    kernel_members,
    targets_of,
)
from tritonc.cli.posted_file import PostedFile, read_source, specialized
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal
from tritonc.compilation import Compilation, CompileFailed
from tritonc.diagnostic import POSTED_SOURCE
from tritonc.explain.explanation import explained
from tritonc.gate.cells import Cell
from tritonc.gate.gated_kernel import BudgetTable, GatedKernel
from tritonc.gate.source_lines import SourceLines
from tritonc.upgrade.upgrade_run import MEASURED

_NOT_OF_KERNEL = ("target", "triton", "include", "stop_after", "priority", "timeout_s", "refresh")
_EPILOG = """\
Settings are compiled side by side: other num_warps, num_stages and maxnreg, and smaller blocks. One
is marked (*) as worth timing: it keeps the unit that multiplies matrices, spills least, then has
the highest occupancy. Nothing is timed; `tritonc sweep` can do that.

examples:
  tritonc explain matmul.py --target cuda:90
  tritonc explain @last
"""


def add_command(commands: Any) -> None:
    """Add `explain` to the parser's commands."""
    parser = commands.add_parser(
        "explain",
        help="show why a kernel spills, what limits its occupancy, and what other settings change",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    text = "a compilation's key, a prefix, @last, or a kernel, which is compiled first"
    parser.add_argument("key", metavar="KEY|FILE", help=text)
    add_targets(parser, required=False)
    add_kernel(parser)
    add_like(parser)
    add_json(parser)
    add_wait(parser, default=300)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Compile a file, try settings, and report; return whether the kernel compiles.

    Raises ArgumentTypeError, and the errors of the client.
    """
    if not Path(args.key).exists():
        args.key = compilation_of(args.key, args, client, terminal.say)
    is_key = not Path(args.key).exists() and len(args.key) == KEY_DIGITS
    if is_key:
        source, members, compilation = _of_key(args, client)
        text = CompileFailed(compilation).render(source.name)
    else:
        wanted = _of_file(args, client, terminal)
        both = [wanted]
        [compilation] = compile_all(both, args, client, terminal)
        [wanted] = both
        source, members = wanted.source, dict(wanted.members)
        text = report(wanted, compilation, args, client)
    if not compilation.succeeded:
        if args.json:
            write_json(compilation.raw)
        terminal.say(text)
        return False
    if not compilation.resources:
        stage = compilation.stop_after
        file = args.recent.name_of(args.key) or "FILE"
        message = f"{args.key} ends at {stage}, before the machine code that explain reads"
        raise ArgumentTypeError(f"{message}; write `tritonc explain {file}`")
    cell = _cell(source, members, compilation)
    with waiting(args, terminal, "trying settings", []) as say:
        explanation = explained(client, cell, compilation, args.wait_s, say)
    if args.json:
        write_json(explanation_json(explanation))
    else:
        write_explanation(explanation, terminal)
    return True


def _of_file(args: Namespace, client: Client, terminal: Terminal) -> WantedCompilation:
    targets = targets_of(args) or [DEFAULT_TARGET]
    if len(targets) > 1:
        raise ArgumentTypeError(f"--target: give one, not {len(targets)}")
    source = read_source(args.key, args)
    make = partial(specialized, source, args, kernel_members(args), targets[0], client)
    return WantedCompilation(source, targets[0], make(terminal.say), make)


def _of_key(args: Namespace, client: Client) -> tuple[PostedFile, dict[str, Any], Compilation]:
    """Return what was posted, and the compilation."""
    compilation = client.get(args.key, wait_s=args.wait_s)
    request: Mapping[str, Any] = client.request(args.key)
    name = args.recent.name_of(args.key)
    ir = request.get("ir")
    if isinstance(ir, Mapping):
        source = PostedFile(
            name or f"user.{ir.get('language')}",
            str(ir.get("text")),
            str(ir.get("language")),
            canonicalize=ir.get("canonicalize") is True,
        )
    else:
        files = request.get("files") or {}
        text = str(request.get("source"))
        source = PostedFile(name or POSTED_SOURCE, text, None, None, files)
    return source, dict(request), compilation


def _cell(source: PostedFile, members: Mapping[str, Any], compilation: Compilation) -> Cell:
    path = source.path or Path(source.name)
    kept = {name: m for name, m in members.items() if name not in _NOT_OF_KERNEL}
    # IR may have lines of the source that it was made from, which is not here
    own = f"user.{source.language}" if source.language else POSTED_SOURCE
    texts = {own: source.text, **source.files}
    kernel = GatedKernel(
        name=compilation.kernel or source.name,
        place=source.name,
        path=path,
        members={**source.members, **kept},
        lines=SourceLines(
            path, texts, {name: path.parent / name for name in source.files} | source.paths
        ),
        launch=None,
        targets=(compilation.target,),
        tritons=(),
        budgets=BudgetTable(),
    )
    return Cell(kernel, compilation.target, str(compilation.toolchain.get("triton")), MEASURED)
