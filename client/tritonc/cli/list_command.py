"""`tritonc list`: the user's own jobs, newest first."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from typing import Any

from tritonc._sync.client import Client
from tritonc.cli.kernel_flags import add_json
from tritonc.cli.streams import write_json
from tritonc.cli.terminal import Terminal, table
from tritonc.own_list import KINDS, ListItem
from tritonc.service_errors import ProblemError

STATES = ("queued", "running", "succeeded", "completed", "failed", "cancelled")
MOST_ITEMS = 1_000
PAGE_ITEMS = 100
_COLUMNS = ("created (UTC)", "kind", "state", "verdict", "kernel", "target", "id")


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    parser: ArgumentParser = commands.add_parser("list", help="list your own jobs, newest first")
    parser.add_argument(
        "kind", nargs="?", choices=KINDS, help="only jobs of this kind; default: of all"
    )
    parser.add_argument(
        "--state", action="append", default=[], choices=STATES, help="only jobs in this state"
    )
    parser.add_argument(
        "--limit", type=_limit, default=20, metavar="N", help="how many jobs (default 20)"
    )
    add_json(parser)
    parser.set_defaults(run=list_own)


def list_own(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the newest jobs of one kind, or of all kinds together."""
    found: list[tuple[str, ListItem]] = []
    for kind in (args.kind,) if args.kind else KINDS:
        try:
            found += [(kind, item) for item in _newest(client, kind, args)]
        except ProblemError as error:
            if args.kind or error.slug != "forbidden":
                raise  # of all kinds, those that the API key may see
    found.sort(key=lambda each: each[1].created_at, reverse=True)
    found = found[: args.limit]
    if args.json:
        write_json({"items": [{"collection": kind} | asdict(item) for kind, item in found]})
    elif found:
        terminal.draw(table(_COLUMNS, (_row(kind, item) for kind, item in found)))
    else:
        terminal.say("no such jobs; the service lists them as long as it keeps their results")
    return True


def _newest(client: Client, kind: str, args: Namespace) -> list[ListItem]:
    items: list[ListItem] = []
    after = None
    while len(items) < args.limit:
        some = min(PAGE_ITEMS, args.limit - len(items))
        page = client.list(kind, state=args.state, limit=some, after=after)
        items += page.items
        after = page.next
        if after is None:
            break
    return items


def _row(kind: str, item: ListItem) -> list[str]:
    created = item.created_at[:19].replace("T", " ")
    counts = dict(item.counts or {})
    if kind == "sweeps":
        counts["left"] = counts.pop("total", 0) - counts.pop("over", 0)
    named = (f"{count} {name}" for name, count in counts.items() if count)
    verdict = item.verdict or ", ".join(named)
    return [
        *(created, kind, item.state, verdict, item.kernel or ""),
        *(item.target or "", item.id),
    ]


def _limit(text: str) -> int:
    limit = int(text)
    if not 1 <= limit <= MOST_ITEMS:
        raise ValueError
    return limit
