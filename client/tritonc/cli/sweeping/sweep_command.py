"""`tritonc sweep`: runs many variants of a kernel and shows them in a table as they finish."""

import sys
import time
from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import (
    PAIRS,
    WORDS,
    add_json,
    add_kernel,
    add_like,
    add_targets,
    add_wait,
    count,
    number,
    targets_of,
)
from tritonc.cli.launching.launch_members import add_launch, unused_of_launches
from tritonc.cli.launching.request_file import read_request
from tritonc.cli.posted_file import PostedFile, read_source
from tritonc.cli.recent_keys import remember
from tritonc.cli.refusal_words import WRONG_REQUEST, in_flags, wrong_row
from tritonc.cli.streams import STANDARD, read, write, write_json
from tritonc.cli.sweeping.sweep_report import (
    WINNERS,
    check_alone,
    check_outputs,
    check_winners,
    closing_lines,
    live_view,
    sweep_table,
    winners_files,
)
from tritonc.cli.sweeping.sweep_space import SWEPT, base_of, is_launch, space_of
from tritonc.cli.terminal import Terminal
from tritonc.launch_body import LaunchRequest
from tritonc.service_errors import ProblemError, WaitExpired
from tritonc.sweeps.sweep import Sweep

REFRESH_EVERY_S = 0.5
MAX_ROWS = 100
MAX_WRONG = 3
_BESIDE_ROWS = 8  # terminal lines for headings, the bar and the prompt
EPILOG = """\
axes, with --space NAME=VALUE,VALUE,...:
  BLOCK_SIZE=64,128          a constexpr, an option, or an argument, as the kernel has it
  options.num_warps=2,4      with its group, to be explicit
  triton=3.8.0,3.9.0         also: target, and source=before.py,after.py
  'grid=[128],["cdiv(n, BLOCK_SIZE)"]'
All combinations run, except where --where is false: --where 'BLOCK_SIZE >= 32 * num_warps'.
With --argument, --grid, --device, or a --request that has them, each variant is launched.

exit codes: 0 the sweep is over and has a good row; 1 it has none; 2 the request is wrong for all.

example:
  tritonc sweep vector_add.py --like 'x_ptr=fp32[4096]' 'y_ptr=fp32[4096]' \\
      'output_ptr=fp32[4096]' n_elements=4096 --target cuda:80,cuda:90 \\
      --space BLOCK_SIZE=512,1024 --space num_warps=2,4 --sort registers
"""


def add_command(commands: Any) -> None:
    """Add `sweep` to the parser's commands."""
    parser = commands.add_parser(
        "sweep",
        help="compile or launch many variants of a kernel, and show one table",
        epilog=EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run, **unused_of_launches())
    add = parser.add_argument
    add("source", metavar="FILE", nargs="?", help="Python file with the kernel, IR, or -")
    add("--space", **PAIRS | {"metavar": "AXIS=VALUES"}, help="an axis and its values; see below")
    add("--autotune", action="store_true", help="use the configurations of @triton.autotune")
    add("--where", action="append", default=[], metavar="EXPR", help="skip variants if false")
    add_targets(parser, required=False)
    add_kernel(parser)
    add_like(parser)
    add_launch(parser)
    add("--search", choices=["halving", "exhaustive"], help="find the fastest variant; GPU only")
    add("--budget-s", type=number, metavar="S", help="start no more variants after S seconds")
    text = "file with a contract, or -: prove each variant for all sizes"
    add("--contract", metavar="PATH", help=text)
    add("--instructions", action="store_true", help="also count machine instructions")
    add("--id", metavar="ID", help="show, and wait for, an earlier sweep")
    add("--sort", default="", metavar="COLUMNS", help="registers, or -occupancy,registers, ...")
    add("--limit", type=count, default=MAX_ROWS, metavar="N", help=f"rows (default {MAX_ROWS})")
    add("--csv", action="store_true", help="write all rows to stdout as CSV")
    text = f"write the winners to PATH, - is stdout: {', '.join(WINNERS)} (all that compiled)"
    add("--winners", **WORDS, metavar="FORMAT[=PATH]", help=text)
    add_json(parser)
    add_wait(parser, default=600)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool | int:
    """Sweep and show the table; return whether any row is good, or WRONG_REQUEST.

    Raises the errors of reading files, sending requests and waiting.
    """
    check_alone(args)
    check_outputs(args)
    going_on: list[str] = []
    unposted = None
    with waiting(args, terminal, "submitting the sweep", going_on):
        if args.id:
            sweep = client.sweeps.get(args.id, sort=args.sort, limit=0)
        else:
            unposted = unposted_sweep(args, client, terminal)
            sweep = unposted.post(client)
    while True:
        going_on[:] = [sweep.id]
        remember(args, [sweep.id])
        if args.verbose:
            terminal.say(f"submitted {sweep.id}")
        try:
            if not sweep.finished:
                _wait(args, client, terminal, sweep, going_on)
            final = client.sweeps.get(sweep.id, sort=sort_order(args, sweep))
            if unposted is None or not unposted.supply(final):
                return _shown(args, client, terminal, final, going_on)
        except ProblemError:
            again = f"tritonc sweep --id {sweep.id}"
            terminal.say(f"sweep {sweep.id} still exists; show it with: {again}")
            raise
        sweep = unposted.post(client)


def _shown(
    args: Namespace, client: Client, terminal: Terminal, final: Sweep, going_on: list[str]
) -> bool | int:
    """Write the requested outputs of a sweep that is over; return what `run` does."""
    if args.csv:
        write(client.sweeps.csv(final.id, sort=args.sort), STANDARD)
    if args.json:
        write_json(final.raw)
    _report(args, final, terminal)
    for file in winners_files(args):
        with waiting(args, terminal, f"{file.form} of the winners", going_on):
            form, of = file.request
            content = client.sweeps.winners(final.id, form, of=of, wait_s=args.wait_s)
        write(content, file.path)
    wrong = [wrong_row(row.problem, args) for row in final.rows]
    if wrong and all(wrong):  # no row could be any better
        terminal.say("\n".join(dict.fromkeys(wrong[:MAX_WRONG])))
        return WRONG_REQUEST
    return final.state == "completed" and any(row.good for row in final.rows)


@dataclass(frozen=True, slots=True)
class UnpostedSweep:
    """A sweep to post: what it varies, and the file of its kernel."""

    base: Mapping[str, Any] | LaunchRequest
    space: Any
    swept: Mapping[str, Any]
    sort: str
    posted: PostedFile | None

    def post(self, client: Client) -> Sweep:
        """Post the sweep without waiting for its rows. Raises the errors of the client."""
        package = None if self.posted is None else self.posted.package
        how: dict[str, Any] = {"package": package, "sort": self.sort, "wait_s": 0, "check": False}
        return client.sweep(self.base, self.space, **self.swept, **how)

    def supply(self, sweep: Sweep) -> bool:
        """Add the modules that rows ask for; return whether to post it again."""
        package = None if self.posted is None else self.posted.package
        return package is not None and package.supply(sweep.needs)


def unposted_sweep(
    args: Namespace, client: Client, terminal: Terminal, text: str | None = None
) -> UnpostedSweep:
    """Return the sweep of the flags; `text` is the kernel's file if known.

    Raises ArgumentTypeError, and the errors of reading files and sending requests.
    """
    request = read_request(args.request)
    swept = {name: request.pop(name) for name in SWEPT if name in request}
    posted = None if args.source is None else read_source(args.source, args, text)
    if posted is not None and args.verbose:
        posted.say_sent(terminal)
    targets = targets_of(args)
    space = space_of(args, {"space": swept.pop("space", {})}, posted, targets, client)
    launches = is_launch(args, request)
    if args.search and not launches:
        raise ArgumentTypeError("--search: compilations have no times; give --argument and --grid")
    has_search = bool(args.search or swept.get("search"))
    check_winners(args, is_launch=launches, has_search=has_search)
    base = base_of(args, request, posted, targets, space, client, terminal.say)
    swept["where"] = [*swept.get("where", ()), *args.where]
    include = dict.fromkeys([*swept.get("include", ()), "instruction_mix"])
    if args.instructions:
        swept["include"] = list(include)
    if args.search:
        swept["search"] = {**swept.get("search", {}), "kind": args.search}
    if args.contract is not None:
        swept["contract"] = read(args.contract)
    if args.budget_s is not None:
        swept["budget_s"] = args.budget_s
    return UnpostedSweep(base, space, swept, args.sort, posted)


def _wait(
    args: Namespace, client: Client, terminal: Terminal, sweep: Sweep, going_on: list[str]
) -> None:
    """Wait until the sweep is over, drawing its table on a terminal.

    Raises WaitExpired, and Interrupted.
    """
    with waiting(args, terminal, "", going_on, is_silent=True):
        if terminal.is_live:
            last = _drawn(args, client, terminal, sweep)
        else:
            last = client.sweeps.get(sweep.id, wait_s=args.wait_s, limit=0)
    if not last.finished:
        raise WaitExpired(last.id, f"{last.over} of {last.total} rows are done", args.wait_s)


def _drawn(args: Namespace, client: Client, terminal: Terminal, sweep: Sweep) -> Sweep:
    from rich.live import Live
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    console = terminal.console(sys.stderr)
    bar = Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console)
    task = bar.add_task("", total=sweep.total)
    deadline = time.monotonic() + args.wait_s
    with Live(bar, console=console, transient=True) as live:
        while True:
            left_s = deadline - time.monotonic()
            sweep = client.sweeps.get(
                sweep.id,
                sort=sort_order(args, sweep),
                limit=max(1, console.height - _BESIDE_ROWS),
                wait_s=max(0.0, min(REFRESH_EVERY_S, left_s)),
            )
            bar.update(task, completed=sweep.over)
            live.update(live_view(sweep, bar))
            if sweep.finished or left_s <= 0:
                return sweep


def _report(args: Namespace, sweep: Sweep, terminal: Terminal) -> None:
    is_quiet = args.json or args.csv
    shown = sweep.rows[: args.limit]
    rows = [replace(row, problem=in_flags(row.problem, args)) for row in shown]
    if not is_quiet:
        if rows:
            terminal.draw(sweep_table(sweep, rows))
        if len(rows) < len(sweep.rows):
            more = len(sweep.rows) - len(rows)
            terminal.say(f"{more} more rows; --limit {len(sweep.rows)} and --csv show all")
    for line in closing_lines(sweep):
        terminal.say(line)


def sort_order(args: Namespace, sweep: Sweep) -> str:
    """Return the sort order: the requested one, otherwise by time if there are times."""
    return args.sort or ("median_us" if sweep.kind == "launches" else "")
