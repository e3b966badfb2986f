"""`tritonc get` and `cancel`: show a job by its key or id, as the command that made it would."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from typing import Any

from tritonc._sync.client import Client
from tritonc.batch import Batch, item_text
from tritonc.cli.compiling.compile_report import describe
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import add_json, add_wait
from tritonc.cli.streams import write_json
from tritonc.cli.sweeping.sweep_report import closing_lines, sweep_table
from tritonc.cli.terminal import Terminal, table
from tritonc.compilation import Compilation, CompileFailed
from tritonc.diagnostic import POSTED_SOURCE
from tritonc.launch import Launch
from tritonc.programs.program import Program
from tritonc.proof import Proof
from tritonc.service_errors import ProblemError
from tritonc.sweeps.sweep import Sweep

KEY_DIGITS = 64  # of a compilation's key; other ids are shorter
MOST_ROWS = 100
EITHER = "the key of a compilation, or the id of another job; a prefix; @last"

Result = Compilation | Launch | Program | Proof | Sweep | Batch


def add_commands(commands: Any) -> None:
    """Add these commands to the parser's."""
    add_wait(_add(commands, "get", get, "show a compilation, launch, program, ..."), default=0)
    _add(commands, "cancel", cancel, "cancel a job, or your interest in a compilation")


def get(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the result of a key or id; return True, whatever its state."""
    with waiting(args, terminal, f"waiting for {args.key}", [args.key]):
        result = _first(args, client, lambda jobs: jobs.get(args.key, wait_s=args.wait_s))
    _write(result, args, terminal)
    return True


def cancel(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Cancel a job, and write what there is of it; return True."""
    with waiting(args, terminal, f"cancelling {args.key}", []):
        result = _first(args, client, lambda jobs: jobs.cancel(args.key))
    _write(result, args, terminal)
    return True


def _add(commands: Any, name: str, run: Callable[..., bool], text: str) -> ArgumentParser:
    parser: ArgumentParser = commands.add_parser(name, help=text)
    parser.add_argument("key", metavar="KEY", help=EITHER)
    add_json(parser)
    parser.set_defaults(run=run)
    return parser


def _first(args: Namespace, client: Client, ask: Callable[[Any], Result]) -> Result:
    """Return what the first collection that knows the id answers: ids do not show their kind.

    Raises ArgumentTypeError if none knows it, and ProblemError.
    """
    if len(args.key) >= KEY_DIGITS:
        return ask(client)
    for jobs in (client.launches, client.programs, client.sweeps, client.proofs, client.batches):
        try:
            return ask(jobs)
        except ProblemError as error:
            if error.slug not in {"not_found", "forbidden"}:
                raise
    raise ArgumentTypeError(f"404 not_found: you have no job {args.key}")


def _write(result: Result, args: Namespace, terminal: Terminal) -> None:
    name = args.recent.name_of(args.key) or POSTED_SOURCE
    if args.json:
        write_json(result.raw)
        return
    match result:
        case Compilation():
            if result.succeeded:
                terminal.text(describe(result, name))
                return
            terminal.text(f"compilation {result.key}: {result.state}")
            if result.finished:
                terminal.text(CompileFailed(result).render(name))
        case Sweep():
            if result.rows:
                terminal.draw(sweep_table(result, result.rows[:MOST_ROWS]))
            if (more := len(result.rows) - MOST_ROWS) > 0:
                terminal.text(f"and {more} more rows; `tritonc sweep --id {result.id}` shows all")
            terminal.text("\n".join(closing_lines(result)))
        case Batch():
            cells = [[str(item.index), item.state, item_text(item)] for item in result.items]
            terminal.draw(table(["item", "state", "result"], cells))
        case _:
            kind = type(result).__name__.lower()
            terminal.text(f"{kind} {result.id}: {result.state}")
            terminal.text(result.render(name))
