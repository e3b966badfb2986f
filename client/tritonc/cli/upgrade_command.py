"""`tritonc upgrade`: shows what another Triton changes in the kernels of files or a package."""

from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.file_kernels import DEFAULT_TARGET, LINE_EVERY_S, FileKernel, named_kernels
from tritonc.cli.kernel_flags import add_json, add_targets, add_wait, targets_of
from tritonc.cli.posted_file import PostedFile
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal, table
from tritonc.diagnostic import POSTED_SOURCE
from tritonc.gate.cells import OfferedTritons, version_order
from tritonc.gate.gated_kernel import BudgetTable, GatedKernel
from tritonc.gate.report_text import one_line, shown_path
from tritonc.gate.source_lines import SourceLines
from tritonc.upgrade.kernel_change import KernelChange
from tritonc.upgrade.proposals import patch
from tritonc.upgrade.upgrade_run import Upgrade, UpgradeRow, run_upgrade

MAX_CLASSES = 3
COLUMNS = [
    "kernel", "target", "spills", "registers", "occupancy", "instructions", "classes", "compile s",
    "machine code",
]  # fmt: skip
EPILOG = """\
Kernels are compiled with both Tritons, with the types that the file, pyproject.toml or use give,
and ranked: failures, spills, occupancy, instructions, compile time. Proposed settings were
compiled, and need no more than the old Triton did; time them before you keep them.

exit codes: 0 no kernel became worse; 1 some did; otherwise as for tritonc.

examples:
  tritonc upgrade kernels/ --triton 3.8,3.9 --target cuda:90 --target hip:gfx942
  tritonc upgrade my_package --triton 3.6,3.9 --patch upgrade.patch
"""


def add_command(commands: Any) -> None:
    """Add `upgrade` to the parser's commands."""
    parser = commands.add_parser(
        "upgrade",
        help="show what another Triton changes, why, and what restores the old budget",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    text = "Python files with kernels, folders, or the name of an installed package"
    add("sources", metavar="FILE|PACKAGE", nargs="+", help=text)
    text = "the version in use and the next one, such as 3.8,3.9"
    add("--triton", required=True, metavar="OLD,NEW", help=text)
    add("--patch", metavar="PATH", help="write the proposed settings as a patch for `git apply`")
    add_targets(parser, required=False)
    add_json(parser)
    add_wait(parser, default=900)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Compile, compare and report; return True if no kernel became worse.

    Raises ArgumentTypeError, and the errors of the client.
    """
    tritons = two_tritons(args.triton, client)
    targets = targets_of(args) or [DEFAULT_TARGET]
    read = named_kernels(args.sources, targets[0], client, terminal, args.wait_s)
    if read.error is not None:
        raise read.error
    kernels = [_gated(kernel, targets) for kernel in read.kernels]
    with terminal.progress("compiling", line_every_s=LINE_EVERY_S) as say:
        upgrade = run_upgrade(client, kernels, tritons, args.wait_s, say)
    if args.patch is not None:
        _write_patch(args.patch, upgrade, terminal)
    if args.json:
        write_json(
            {
                "rows": [_row(row) for row in upgrade.rows],
                "unjudged": [_failure(change) for change in upgrade.unjudged],
            }
        )
    else:
        _report(upgrade, terminal)
    return not upgrade.worse


def two_tritons(word: str, client: Client) -> tuple[str, str]:
    """Return the two offered versions that a word names. Raises ArgumentTypeError."""
    written = word.split(",")
    if len(written) != 2:
        raise ArgumentTypeError(f"--triton {word}: give two versions, such as 3.8,3.9")
    offered = OfferedTritons.from_json(client.targets())
    old, new = map(offered.version, written)
    if old is None or new is None:
        there = ", ".join(sorted(offered.targets, key=version_order))
        raise ArgumentTypeError(f"--triton {word}: no worker has both; available: {there}")
    return old, new


def _gated(kernel: FileKernel, targets: Sequence[str]) -> GatedKernel:
    path = Path(kernel.posted.name)
    return GatedKernel(
        name=kernel.name,
        place=f"{path}: {kernel.name}",
        path=path,
        members={"source": kernel.posted.text, **kernel.members},
        lines=_source_lines(path, kernel.posted),
        launch=None,
        targets=tuple(targets),
        tritons=(),
        budgets=BudgetTable(),
        package=kernel.posted.package,
    )


def _source_lines(path: Path, posted: PostedFile) -> SourceLines:
    # more modules come when the service asks for them
    return SourceLines(path, ChainMap({POSTED_SOURCE: posted.text}, posted.files), posted.paths)


def _report(upgrade: Upgrade, terminal: Terminal) -> None:
    if upgrade.rows:
        terminal.draw(table(COLUMNS, map(_cells, upgrade.rows)))
    for row in upgrade.rows:
        if row.change.is_worse:
            terminal.text("\n".join(_explained(row)))
    for change in upgrade.unjudged:
        name = change.cell.kernel.name
        terminal.say(one_line(f"note: {name} compiles with neither: {change.new.failure}"))
    same = sum(row.is_identical for row in upgrade.rows)
    terminal.text(
        f"{len(upgrade.rows)} compared: {len(upgrade.worse)} worse, {same} with the same "
        f"machine code, {len(upgrade.unjudged)} not judged"
    )


def _cells(row: UpgradeRow) -> list[str]:
    change = row.change
    if change.new.failure is not None or change.old.failure is not None:
        state = "fails now" if change.new.failure is not None else "failed before"
        return [change.cell.kernel.name, change.cell.target, "", "", "", state, "", "", ""]
    classes = list(change.classes())[:MAX_CLASSES]
    return [
        change.cell.kernel.name,
        change.cell.target,
        change.shown_spills(),
        change.shown("registers"),
        change.shown("occupancy"),
        change.shown("instructions"),
        ", ".join(f"{name} {new - old:+d}" for name, old, new in classes),
        change.shown("compile_ms", 1000),
        "the same" if row.is_identical else "differs",
    ]


def _explained(row: UpgradeRow) -> Iterator[str]:
    change = row.change
    yield one_line(f"{change.cell.kernel.name} for {change.cell.target}:")
    if change.new.failure is not None:
        where = f"{shown_path(change.cell.kernel.lines.path(change.new.file))}:{change.new.line}"
        yield "  " + one_line(f"{where}: {change.new.failure}")
        return
    for growth in change.lines():
        yield f"  {one_line(str(growth))}"
    if row.responsible is not None:
        yield "  " + one_line(f"first differing {row.responsible}")
    else:
        yield "  Triton's passes agree; LLVM or the assembler makes the difference"
    if row.proposal is not None and row.proposed is not None:
        after = KernelChange(change.cell, change.old, row.proposed)
        grid = "; check the grid" if row.proposal.member == "constexprs" else ""
        yield "  " + one_line(
            f"proposed: {row.proposal}: spills {after.shown_spills()}, occupancy "
            f"{after.shown('occupancy')}, instructions {after.shown('instructions')}{grid}"
        )
    else:
        rest = f"; {row.untried} more settings were not tried" if row.untried else ""
        yield f"  no setting that was tried restores the old budget{rest}"


def _write_patch(path: str, upgrade: Upgrade, terminal: Terminal) -> None:
    """Write the patch: the worst row of each kernel decides, since a comment is for all targets."""
    chosen = {
        row.change.cell.kernel: row.proposal for row in reversed(upgrade.rows) if row.proposal
    }
    text = "".join(patch(proposal) for proposal in chosen.values() if proposal is not None)
    if not text:
        terminal.say(f"note: nothing to propose, so {path} is not written")
        return
    Path(path).write_text(text, encoding="utf-8")
    terminal.say(f"wrote {path}; where a launch passes these settings, change it as well")


def _row(row: UpgradeRow) -> dict[str, Any]:
    change, proposal = row.change, row.proposal
    return {
        **_failure(change),
        "worse": change.is_worse,
        "identical": row.is_identical,
        "before": _numbers(change.old.metrics),
        "now": _numbers(change.new.metrics),
        "lines": [
            {"file": shown_path(g.path), "line": g.line, "before": g.before, "now": g.now}
            for g in change.lines()
        ],
        "pass": None if row.responsible is None else row.responsible.name,
        "proposal": None
        if proposal is None
        else {
            "setting": f"{proposal.member}.{proposal.name}",
            "value": proposal.value,
            "patch": patch(proposal),
        },
        "untried": row.untried,
    }


def _failure(change: KernelChange) -> dict[str, Any]:
    cell = change.cell
    return {"kernel": cell.kernel.name, "target": cell.target, "failure": change.new.failure}


def _numbers(metrics: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(metrics.items()))
