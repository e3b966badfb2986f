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


def winners_files(given: Namespace) -> list[WinnersFile]:
    """Return the files of --winners in order. Raises ArgumentTypeError for unknown formats."""
    files = []
    for word in given.winners:
        form, _, path = word.partition("=")
        if form not in WINNERS:
            raise ArgumentTypeError(f"--winners {form}: write one of {', '.join(WINNERS)}")
        files.append(WinnersFile(word, form, path or STANDARD))
    return files


def check_outputs(given: Namespace) -> None:
    """Refuse outputs that could not be written later. Raises ArgumentTypeError."""
    files = winners_files(given)
    for file in files:
        check_writable(file.path, f"--winners {file.word}")
    written = list(_to_standard_output(given, files))
    if len(written) > 1:
        both = " and ".join(written[:2])
        raise ArgumentTypeError(
            f"{both}: both write to standard output; give a file name, or leave one out"
        )


def _to_standard_output(given: Namespace, files: list[WinnersFile]) -> Iterator[str]:
    if given.json:
        yield "--json"
    if given.csv:
        yield "--csv"
    yield from (f"--winners {file.word}" for file in files if file.path == STANDARD)


def check_winners(given: Namespace, *, is_launch: bool, has_search: bool) -> None:
    """Refuse winners of a sweep that cannot have any. Raises ArgumentTypeError."""
    for file in winners_files(given):
        if file.form == EVERYTHING or (is_launch and has_search):
            continue
        why = "a compilation has no times, so nothing wins; give --argument, --grid and --search"
        if is_launch:
            why = "nothing wins without --search"
        everything = f"{EVERYTHING} takes all variants that compiled"
        raise ArgumentTypeError(f"--winners {file.word}: {why}; {everything}")


def check_alone(given: Namespace) -> None:
    """Raise ArgumentTypeError for flags of a new sweep with --id, which names an old one."""
    flags = {
        given.source or "FILE": given.source,
        "--request": given.request,
        "--space": given.space,
        "--autotune": given.autotune,
        "--where": given.where,
        "--target": given.targets,
        "--triton": given.triton,
        "--signature": given.signature,
        "--constexpr": given.constexpr,
        "--option": given.option,
        "--like": given.like,
        "--argument": given.argument,
        "--grid": given.grid,
        "--device": given.device,
        "--reference": given.reference,
        "--search": given.search,
        "--budget-s": given.budget_s,
        "--instructions": given.instructions,
    }
    useless = [flag for flag, word in flags.items() if word]
    if given.id and useless:
        message = f"--id {given.id}: this sweep exists already; leave out {', '.join(useless)}"
        raise ArgumentTypeError(message)
