"""`tritonc usage`: what a caller used, by day."""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.kernel_flags import add_json
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal, table

ALL = "*"
_COLUMNS = {
    "day": "day (UTC)",
    "caller": "caller",
    "requests": "requests",
    "received_bytes": "bytes received",
    "sent_bytes": "bytes sent",
    "cpu_seconds": "CPU seconds",
    "gpu_seconds": "GPU seconds",
}


def add_command(commands: Any) -> None:
    """Add `usage` to the parser's commands."""
    parser = commands.add_parser("usage", help="show what you used on each of the last 35 days")
    text = "of another API key by its id, or * for all (only for admins)"
    parser.add_argument("--caller", metavar="ID", help=text)
    add_json(parser)
    parser.set_defaults(run=run)


def run(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the days as a table, newest first; return True."""
    usage = client.usage(args.caller)
    if args.json:
        write_json(usage)
        return True
    days = usage.get("days") or ()
    if not days:
        terminal.say("nothing was used in the last 35 days")
        return True
    members = [name for name in _COLUMNS if name != "caller" or args.caller == ALL]
    rows = ([_cell(day, member) for member in members] for day in days)
    terminal.draw(table([_COLUMNS[member] for member in members], rows))
    return True


def _cell(day: Mapping[str, Any], member: str) -> str:
    amount = day.get(member)
    return f"{amount:,}" if isinstance(amount, int | float) else str(amount)
