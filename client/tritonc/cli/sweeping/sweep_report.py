"""The outputs of `tritonc sweep`: its table, progress and winners, and files to write."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tritonc.cli.terminal import TextTable
from tritonc.sweeps.sweep import Sweep
from tritonc.sweeps.sweep_row import SweepRow, short_names, sweep_cells

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.progress import Progress
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from tritonc.cli.streams import STANDARD, check_writable

_EVERYTHING = "all"
"""Value of --winners for a bundle of every variant that compiled."""
WINNERS = ("json", "triton-config", "autotune-cache", "bundle", _EVERYTHING)


def sweep_table(sweep: Sweep, rows: Sequence[SweepRow]) -> TextTable:
    """Return the rows as a table, winners marked."""
    heads, cells = sweep_cells(sweep.axes, rows, sweep.won)
    return TextTable(heads, cells)


def closing_lines(sweep: Sweep) -> list[str]:
    """Return the winners, and notes on the sweep as a whole."""
    counts = ", ".join(f"{count} {state}" for state, count in sweep.counts.items())
    pruned = ", ".join(f"{count} {reason}" for reason, count in sweep.pruned.items())
    return [
        *(_winner(winner) for winner in sweep.winners),
        *([f"not run: {pruned}"] if pruned else []),
        *(
            ["note: the time budget ran out before everything was done"]
            if sweep.budget_ended
            else []
        ),
        *(f"note: assumed, line {item['line']}: {item['message']}" for item in sweep.assumptions),
        *([f"note: {sweep.note}"] if sweep.note else []),
        *([f"error: {sweep.problem}"] if sweep.problem else []),
        f"sweep {sweep.id}: {sweep.state}, {counts or 'no rows'}",
    ]


def live_view(sweep: Sweep, bar: "Progress") -> "RenderableType":
    """Return the display of a running sweep: the finished rows and a progress bar."""
    from rich.console import Group

    over = [row for row in sweep.rows if row.finished]
    return Group(sweep_table(sweep, over).drawn(), bar) if over else Group(bar)


def _winner(winner: Mapping[str, Any]) -> str:
    size = winner.get("problem_size")
    where = f"{f'for {size} ' if size else ''}on {winner.get('target', 'this target')}"
    if winner.get("variant") is None:
        return f"no winner {where}: {winner.get('note') or 'nothing was timed'}"
    values = winner.get("values") or {}
    axes = " ".join(
        f"{short}={value}"
        for short, value in zip(short_names(values), values.values(), strict=True)
    )
    median_us, lead = winner.get("median_us"), winner.get("lead") or {}
    parts = [f"fastest {where}: #{winner['variant']} {axes}"]
    parts += [f"{median_us:.4g} us"] if median_us is not None else []
    if lead:
        low, high = lead.get("interval_percent") or ("?", "?")
        ahead = (
            f"{lead.get('percent'):.3g} % ahead of #{lead.get('over')} ({low:.3g} to {high:.3g})"
        )
        parts.append(ahead if lead.get("clear") else f"{ahead}, possibly a tie")
    parts += [] if winner.get("verified") else ["not verified: there is no reference"]
    return ", ".join(parts) + (f"; {winner['note']}" if winner.get("note") else "")


@dataclass(frozen=True, slots=True)
class _WinnersFile:
    """One word of --winners: a format and a path."""

    word: str
    form: str
    path: str

    @property
    def request(self) -> tuple[str, str]:
        """The format to request from the service, and the variants that it is for."""
        return ("bundle", _EVERYTHING) if self.form == _EVERYTHING else (self.form, "")


def winners_files(args: Namespace) -> list[_WinnersFile]:
    """Return the files of --winners in order. Raises ArgumentTypeError for unknown formats."""
    files = []
    for word in args.winners:
        form, _, path = word.partition("=")
        if form not in WINNERS:
            raise ArgumentTypeError(f"--winners {form}: write one of {', '.join(WINNERS)}")
        files.append(_WinnersFile(word, form, path or STANDARD))
    return files


def check_outputs(args: Namespace) -> None:
    """Refuse outputs that could not be written later. Raises ArgumentTypeError."""
    files = winners_files(args)
    for file in files:
        check_writable(file.path, f"--winners {file.word}")
    written = list(_to_standard_output(args, files))
    if len(written) > 1:
        both = " and ".join(written[:2])
        raise ArgumentTypeError(
            f"{both}: both write to standard output; give a file name, or leave one out"
        )


def _to_standard_output(args: Namespace, files: list[_WinnersFile]) -> Iterator[str]:
    if args.json:
        yield "--json"
    if args.csv:
        yield "--csv"
    yield from (f"--winners {file.word}" for file in files if file.path == STANDARD)


def check_winners(args: Namespace, *, is_launch: bool, has_search: bool) -> None:
    """Refuse winners of a sweep that cannot have any. Raises ArgumentTypeError."""
    for file in winners_files(args):
        if file.form == _EVERYTHING or (is_launch and has_search):
            continue
        why = "a compilation has no times, so nothing wins; give --argument, --grid and --search"
        if is_launch:
            why = "nothing wins without --search"
        everything = f"{_EVERYTHING} takes all variants that compiled"
        raise ArgumentTypeError(f"--winners {file.word}: {why}; {everything}")


def check_alone(args: Namespace) -> None:
    """Raise ArgumentTypeError for flags of a new sweep with --id, which names an old one."""
    flags = {
        args.source or "FILE": args.source,
        "--request": args.request,
        "--space": args.space,
        "--autotune": args.autotune,
        "--where": args.where,
        "--target": args.targets,
        "--triton": args.triton,
        "--signature": args.signature,
        "--constexpr": args.constexpr,
        "--option": args.option,
        "--like": args.like,
        "--argument": args.argument,
        "--grid": args.grid,
        "--device": args.device,
        "--reference": args.reference,
        "--search": args.search,
        "--budget-s": args.budget_s,
        "--instructions": args.instructions,
    }
    useless = [flag for flag, word in flags.items() if word]
    if args.id and useless:
        message = f"--id {args.id}: this sweep exists already; leave out {', '.join(useless)}"
        raise ArgumentTypeError(message)
