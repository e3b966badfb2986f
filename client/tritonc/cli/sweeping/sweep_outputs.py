"""Outputs of `tritonc sweep` except its table; impossible ones are refused before it starts."""

from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator
from dataclasses import dataclass

from tritonc.cli.streams import STANDARD, check_writable

EVERYTHING = "all"
"""Value of --winners for a bundle of every variant that compiled."""
WINNERS = ("json", "triton-config", "autotune-cache", "bundle", EVERYTHING)


@dataclass(frozen=True, slots=True)
class WinnersFile:
    """One word of --winners: a format and a path."""

    word: str
    form: str
    path: str

    @property
    def request(self) -> tuple[str, str]:
        """The format to request from the service, and the variants that it is for."""
        return ("bundle", EVERYTHING) if self.form == EVERYTHING else (self.form, "")


def winners_files(args: Namespace) -> list[WinnersFile]:
    """Return the files of --winners in order. Raises ArgumentTypeError for unknown formats."""
    files = []
    for word in args.winners:
        form, _, path = word.partition("=")
        if form not in WINNERS:
            raise ArgumentTypeError(f"--winners {form}: write one of {', '.join(WINNERS)}")
        files.append(WinnersFile(word, form, path or STANDARD))
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


def _to_standard_output(args: Namespace, files: list[WinnersFile]) -> Iterator[str]:
    if args.json:
        yield "--json"
    if args.csv:
        yield "--csv"
    yield from (f"--winners {file.word}" for file in files if file.path == STANDARD)


def check_winners(args: Namespace, *, is_launch: bool, has_search: bool) -> None:
    """Refuse winners of a sweep that cannot have any. Raises ArgumentTypeError."""
    for file in winners_files(args):
        if file.form == EVERYTHING or (is_launch and has_search):
            continue
        why = "a compilation has no times, so nothing wins; give --argument, --grid and --search"
        if is_launch:
            why = "nothing wins without --search"
        everything = f"{EVERYTHING} takes all variants that compiled"
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
