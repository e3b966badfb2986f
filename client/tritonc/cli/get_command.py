"""`tritonc get`, `cancel` and `list`: show a job by its key or id, or the user's newest jobs."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from dataclasses import asdict
from itertools import islice
from textwrap import shorten
from typing import Any

from tritonc._sync.client import Client
from tritonc.batch import Batch, item_text
from tritonc.cli.compiling.compile_report import describe
from tritonc.cli.interruption import waiting
from tritonc.cli.kernel_flags import add_json, add_wait
from tritonc.cli.streams import write_json
from tritonc.cli.sweeping.sweep_report import closing_lines, sweep_table
from tritonc.cli.terminal import Say, Terminal, table
from tritonc.compilation import Compilation, CompileFailed
from tritonc.diagnostic import POSTED_SOURCE, with_own_lines
from tritonc.launch import Launch
from tritonc.own_list import KINDS, ListItem
from tritonc.programs.program import Program
from tritonc.proof import Proof
from tritonc.service_errors import ProblemError
from tritonc.sweeps.sweep import Sweep

KEY_DIGITS = 64  # of a compilation's key
_JOB_ID = re.compile("[0-9a-f]{32}")  # of any other job
MAX_ROWS = 100
MAX_DETAIL_CHARS = 80
_MAX_LISTED = 8
EITHER = "the key of a compilation, or the id of another job; a prefix; @last"

Result = Compilation | Launch | Program | Proof | Sweep | Batch
_STATES = ("queued", "running", "succeeded", "completed", "failed", "cancelled")
_MAX_ITEMS = 1_000
_PAGE_ITEMS = 100
_COLUMNS = ("created (UTC)", "kind", "state", "verdict or error", "kernel", "target", "id")


def add_commands(commands: Any) -> None:
    """Add these commands to the parser's."""
    add_wait(_add(commands, "get", get, "show a compilation, launch, program, ..."), default=0)
    _add(commands, "cancel", cancel, "cancel a job, or your interest in a compilation")


def get(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the result of a key or id; return True, whatever its state."""
    with waiting(args, terminal, f"waiting for {args.key}", [args.key]):
        result = _first(args.key, client, lambda jobs: jobs.get(args.key, wait_s=args.wait_s))
    _write(result, args, terminal)
    return True


def cancel(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Cancel a job, and write what there is of it; return True."""
    with waiting(args, terminal, f"cancelling {args.key}", []):
        result = _first(args.key, client, lambda jobs: jobs.cancel(args.key))
    _write(result, args, terminal)
    return True


def _add(commands: Any, name: str, run: Callable[..., bool], text: str) -> ArgumentParser:
    parser: ArgumentParser = commands.add_parser(name, help=text)
    parser.add_argument("key", metavar="KEY", help=EITHER)
    add_json(parser)
    parser.set_defaults(run=run)
    return parser


def compilation_of(key: str, args: Namespace, client: Client, say: Say) -> str:
    """Return the key of the one compilation of a launch, program or other job; `say` gets a line.

    What is not the id of a job is returned as it is. Raises ArgumentTypeError for a job without a
    compilation, or with several.
    """
    if not _JOB_ID.fullmatch(key):
        return key
    job = _first(key, client, lambda jobs: jobs.get(key))
    kind, keys = type(job).__name__.lower(), _compilations(job)
    if len(keys) == 1:
        [(only, kernel)] = keys.items()
        say(f"note: {kind} {key} has one compilation: {only} ({kernel})")
        return only
    if keys:
        listed = "".join(f"\n  {each}  {name}" for each, name in islice(keys.items(), _MAX_LISTED))
        more = len(keys) - _MAX_LISTED
        listed += f"\n  and {more} more, see `tritonc get {key} --json`" if more > 0 else ""
        raise ArgumentTypeError(f"{kind} {key} has several compilations; give one of:{listed}")
    file = args.recent.name_of(key) or "FILE"
    remedy = f"`tritonc compile {file} --target cuda:90` makes one, which is then @last"
    if args.command == "explain":
        remedy = f"write `tritonc explain {file}`"
    is_on_cpu = isinstance(job, Launch) and (job.device or {}).get("interpreter")
    why = f"{kind} {key} ran on the CPU device, so it" if is_on_cpu else f"{kind} {key}"
    raise ArgumentTypeError(f"{why} has no compilation; {remedy}")


def _compilations(job: Result) -> dict[str, str]:
    """Return the kernel of each compilation of a job, or its row of a sweep, by its key."""
    pairs: list[tuple[str | None, str]] = []
    match job:
        case Compilation():
            pairs = [(job.key, job.kernel or "")]
        case Launch(compilation=Compilation() as compilation):
            return _compilations(compilation)
        case Program():
            pairs = [(kernel.compilation_key, kernel.name) for kernel in job.kernels]
        case Sweep():
            pairs = [(row.compilation_key, f"row {row.index}") for row in job.rows]
        case Proof():
            pairs = [(job.raw.get("compilation_key"), str(job.raw.get("kernel")))]
        case Batch():
            results = (item.result for item in job.items if item.result is not None)
            pairs = [pair for result in results for pair in _compilations(result).items()]
    return {key: name for key, name in pairs if key}


def _first(key: str, client: Client, ask: Callable[[Any], Result]) -> Result:
    """Return what the first collection that knows the id answers: ids do not show their kind.

    Raises ArgumentTypeError if none knows it, and ProblemError.
    """
    if len(key) >= KEY_DIGITS:
        return ask(client)
    for jobs in (client.launches, client.programs, client.sweeps, client.proofs, client.batches):
        try:
            return ask(jobs)
        except ProblemError as error:
            if error.slug not in {"not_found", "forbidden"}:
                raise
    raise ArgumentTypeError(
        f"404 not_found: you have no job {key}; `tritonc list` shows those that are kept"
    )


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
                terminal.draw(sweep_table(result, result.rows[:MAX_ROWS]))
            if (more := len(result.rows) - MAX_ROWS) > 0:
                terminal.text(f"and {more} more rows; `tritonc sweep --id {result.id}` shows all")
            terminal.text("\n".join(closing_lines(result)))
        case Batch():
            cells = [[str(item.index), item.state, item_text(item)] for item in result.items]
            terminal.draw(table(["item", "state", "result"], cells))
        case _:
            kind = type(result).__name__.lower()
            terminal.text(f"{kind} {result.id}: {result.state}")
            terminal.text(result.render(name))


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    parser: ArgumentParser = commands.add_parser("list", help="list your own jobs, newest first")
    parser.add_argument(
        "kind", nargs="?", choices=KINDS, help="only jobs of this kind; default: of all"
    )
    parser.add_argument(
        "--state", action="append", default=[], choices=_STATES, help="only jobs in this state"
    )
    parser.add_argument(
        "--limit", type=_limit, default=20, metavar="N", help="how many jobs (default 20)"
    )
    add_json(parser)
    parser.set_defaults(run=_list_own)


def _list_own(args: Namespace, client: Client, terminal: Terminal) -> bool:
    """Write the newest jobs of one kind, or of all kinds together."""
    listed: list[tuple[str, ListItem]] = []
    for kind in (args.kind,) if args.kind else KINDS:
        try:
            listed += [(kind, item) for item in _newest(client, kind, args)]
        except ProblemError as error:
            if args.kind or error.slug != "forbidden":
                raise  # of all kinds, those that the API key may see
    listed.sort(key=lambda each: each[1].created_at, reverse=True)
    listed = listed[: args.limit]
    if args.json:
        write_json({"items": [{"collection": kind} | asdict(item) for kind, item in listed]})
    elif listed:
        terminal.draw(table(_COLUMNS, (_row(kind, item, args) for kind, item in listed)))
    else:
        terminal.say("no such jobs; the service lists them as long as it keeps their results")
    return True


def _newest(client: Client, kind: str, args: Namespace) -> list[ListItem]:
    items: list[ListItem] = []
    after = None
    while len(items) < args.limit:
        some = min(_PAGE_ITEMS, args.limit - len(items))
        page = client.list(kind, state=args.state, limit=some, after=after)
        items += page.items
        after = page.next
        if after is None:
            break
    return items


def _row(kind: str, item: ListItem, args: Namespace) -> list[str]:
    created = item.created_at[:19].replace("T", " ")
    counts = dict(item.counts or {})
    if kind == "sweeps":
        counts["left"] = counts.pop("total", 0) - counts.pop("over", 0)
    named = (f"{count} {name}" for name, count in counts.items() if count)
    verdict = item.verdict or _failure(item, args) or ", ".join(named)
    return [
        *(created, kind, item.state, verdict, item.kernel or ""),
        *(item.target or "", item.id),
    ]


def _failure(item: ListItem, args: Namespace) -> str:
    if item.slug is None or item.detail is None:
        return item.slug or ""
    name = args.recent.name_of(item.id) or POSTED_SOURCE
    detail = shorten(with_own_lines(item.detail, name), MAX_DETAIL_CHARS, placeholder="...")
    return f"{item.slug}: {detail}"


def _limit(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= _MAX_ITEMS or len(text) > 9:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 to {_MAX_ITEMS:,}")
    return int(text)
