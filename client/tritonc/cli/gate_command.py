"""`tritonc gate`: compiles the kernels of a file for a matrix and checks budgets, for CI."""

import os
import sys
from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.argument_syntax import launch_argument
from tritonc.cli.file_kernels import DEFAULT_TARGET, FileKernel, named_kernels
from tritonc.cli.interruption import Interrupted
from tritonc.cli.kernel_flags import WORDS, add_json, add_wait
from tritonc.cli.streams import STANDARD, write, write_json
from tritonc.cli.terminal import Terminal, table
from tritonc.diagnostic import printable
from tritonc.gate.checkout import Checkout
from tritonc.gate.first_gate_file import UNKNOWN, FoundKernel, gate_file_text
from tritonc.gate.gate_file import DEFAULT_NAME
from tritonc.gate.gate_judgement import Check, GateJudgement
from tritonc.gate.gate_run import BaselineFile, GateNotRun, GateRun, run_gate
from tritonc.gate.gated_kernel import Matrix
from tritonc.gate.judgement_json import judgement_json
from tritonc.gate.markdown_report import markdown_report
from tritonc.gate.report_text import one_line, shown_path
from tritonc.gate.sarif_report import github_report, sarif_report
from tritonc.target_names import target_name

MAX_ROWS = 200
EPILOG = """\
exit codes:
  0  all budgets are kept
  1  a budget is broken, a kernel does not compile, or a launch fails
  2  nothing was judged: the file is wrong, or the service is unreachable or did not finish in time

docs/how-to/gate.md of tritond describes the file.

examples:
  tritonc gate --init src/kernels --update-baseline
  tritonc gate
"""
REPORTS: dict[str, Callable[[GateJudgement], str]] = {
    "markdown": markdown_report,
    "sarif": sarif_report,
    "github": github_report,
}
_REPORTED = {
    "markdown": "a summary in Markdown",
    "sarif": "SARIF, for code scanning,",
    "github": "GitHub's annotations of a pull request",
}


def add_command(commands: Any) -> None:
    """Add `gate` to the parser's commands."""
    parser = commands.add_parser(
        "gate",
        help="check kernels against budgets, for CI",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("file", metavar="FILE", nargs="?", default=DEFAULT_NAME, help=f"default: {DEFAULT_NAME}")
    text = "write FILE first, for the kernels in these files and folders; "
    text += "combine with --target, --triton"
    add("--init", nargs="+", metavar="SOURCE", default=[], help=text)
    add("--kernel", **WORDS, metavar="NAME", help="judge only these kernels of the file")
    add("--target", **WORDS, metavar="TARGET", help="replaces the file's targets")
    add("--triton", **WORDS, metavar="VERSION", help="replaces the file's Triton versions")
    text = "replaces the file's baseline; relative to the working directory"
    add("--baseline", metavar="PATH", help=text)
    text = "write the current measurements to the baseline, for you to commit"
    add("--update-baseline", action="store_true", help=text)
    text = (
        "the root of the checkout: paths are relative to it, and FILE cannot read or write "
        "outside of it; default: the git checkout of FILE, otherwise the folder of FILE"
    )
    add("--checkout", metavar="FOLDER", help=text)
    text = "treat cells that are new, or only in the baseline, as broken"
    add("--strict", action="store_true", help=text)
    for name, text in _REPORTED.items():
        add(f"--{name}", metavar="PATH", help=f"write {text} to PATH, - is stdout")
    add_json(parser)
    add_wait(parser, default=900)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Judge and report; return whether the gate passes. With --init, first write the file.

    Raises ArgumentTypeError with all errors if nothing could be judged.
    """
    if args.checkout is None:
        return _run(args, client, terminal, Checkout.around(Path(args.file).parent))
    with chdir(args.checkout):
        return _run(args, client, terminal, Checkout(Path.cwd().resolve()))


def _run(args: Namespace, client: Client, terminal: Terminal, checkout: Checkout) -> bool:
    if args.init:
        _write_gate_file(args, client, terminal)
        if not args.update_baseline:
            return True
    asked = _settings(args, checkout, terminal)
    with terminal.progress("asking the service") as say:
        try:
            judgement, baseline = run_gate(client, asked, say)
        except GateNotRun as error:
            raise ArgumentTypeError(f"nothing was judged:\n{error}") from error
        except KeyboardInterrupt:
            raise Interrupted(
                "interrupted: nothing was judged, and pending work was cancelled"
            ) from None
    if args.update_baseline:
        _write_baseline(baseline, asked, terminal)
    reports = {name: path for name in REPORTS if (path := getattr(args, name)) is not None}
    for name, path in reports.items():
        led = path if path == STANDARD else str(checkout.named(Path(path)))
        write(REPORTS[name](judgement), led)
    if args.json:
        write_json(judgement_json(judgement))
    elif "-" not in reports.values():
        _draw(judgement, terminal)
    return judgement.is_good


def _settings(args: Namespace, checkout: Checkout, terminal: Terminal) -> GateRun:
    matrix = Matrix(tuple(args.target) or None, tuple(args.triton) or None)
    return GateRun(
        path=Path(args.file),
        checkout=checkout,
        read_argument=launch_argument,
        matrix=matrix,
        kernels=tuple(args.kernel),
        baseline=None if args.baseline is None else Path(args.baseline),
        is_update=args.update_baseline,
        is_strict=args.strict,
        say_inferred=terminal.say,
        wait_s=args.wait_s,
    )


def _write_baseline(written: BaselineFile, asked: GateRun, terminal: Terminal) -> None:
    path, baseline = written
    asked.baseline_led(path).write_text(baseline.text(), encoding="utf-8")
    terminal.say(f"wrote {path}; commit it")


def _draw(judgement: GateJudgement, terminal: Terminal) -> None:
    columns = ["kernel", "target", "Triton", "budget", "found", "where"]
    for title, checks in (("broken", judgement.bad), ("not judged", judgement.unjudged)):
        if checks:
            terminal.draw(table(columns, map(_row, checks[:MAX_ROWS]), title))
        if len(checks) > MAX_ROWS:
            terminal.text(f"... and {len(checks) - MAX_ROWS} more; --json has all of them")
    lines = [
        f"{g.place}: {check.cell.title}, {check.metric}: {g.counts()}: {g.text}"
        for check in judgement.bad
        for g in check.lines
    ]
    for line in lines[:MAX_ROWS]:
        terminal.text(one_line(line))
    for name, target, triton in judgement.missing[:MAX_ROWS]:
        where = printable(f"{name} for {target} with Triton {triton}")
        terminal.say(f"note: only the baseline has {where}")
    terminal.text(f"gate {'passed' if judgement.is_good else 'FAILED'}: {judgement.sentence()}")
    sys.stdout.flush()


def _row(check: Check) -> list[str]:
    where = f"{shown_path(check.path)}:{check.line}"
    return [one_line(cell) for cell in (*check.cell.key, check.metric, check.summary, where)]


def _write_gate_file(args: Namespace, client: Client, terminal: Terminal) -> None:
    """Write the gate file, and report what was inferred and what is unknown.

    Raises ArgumentTypeError if the gate file exists, or if there is no kernel. If the service was
    lost, or was too slow, it writes what was read, and raises that error.
    """
    path = Path(args.file)
    if path.exists():
        raise ArgumentTypeError(
            f"{path} exists; name another file, as in: tritonc gate new.toml --init ..."
        )
    targets = list(map(target_name, args.target)) or [DEFAULT_TARGET]
    read = named_kernels(args.init, targets[0], client, terminal, args.wait_s)
    kernels = [
        FoundKernel(_relative(k, path.parent), k.name, _members(k, terminal), _guesses(k))
        for k in read.kernels
    ]
    path.write_text(gate_file_text(kernels, targets, args.triton), encoding="utf-8")
    count = f"{len(kernels)} kernel{'' if len(kernels) == 1 else 's'}"
    next_step = "" if args.update_baseline else "; `tritonc gate --update-baseline` comes next"
    if read.error is not None:
        terminal.say(f"wrote {path} with {count}, not all that there are")
        raise read.error
    terminal.say(f"wrote {path} with {count}{next_step}")


def _relative(kernel: FileKernel, folder: Path) -> str:
    return Path(os.path.relpath(kernel.posted.name, folder)).as_posix()


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
