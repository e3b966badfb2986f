"""The tables of a run: kernels by package, and the causes of refusals."""

import re
from collections import Counter
from collections.abc import Iterable

from public_files.outcomes import Outcome
from public_files.packages import PublicPackage


def show(packages: list[PublicPackage], outcomes: list[Outcome]) -> None:
    """Print the tables as Markdown."""
    print("| package | files | all compile | kernels | compiled | plain compiles | here | equal |")
    print("|---|---|---|---|---|---|---|---|")
    for package in packages:
        of_it = [outcome for outcome in outcomes if outcome.package == package.name]
        print(_row(f"{package.name} {package.version}", of_it))
    print(_row("**all**", outcomes))
    _show_causes("refused here, and compiled by plain Triton", _refused(outcomes, True))
    _show_causes("refused here, not compared", _refused(outcomes, False))
    print("\n| compiled, but another PTX |\n|---|")
    for outcome in outcomes:
        if outcome.is_direct and not outcome.reason and not outcome.is_equal:
            print(f"| `{outcome.package}:{outcome.file}:{outcome.kernel}` ({outcome.way}) |")
    print(f"\n{sum(outcome.cpu_s for outcome in outcomes):.0f} s of CPU time in the worker")


def _row(name: str, outcomes: list[Outcome]) -> str:
    files = {outcome.file for outcome in outcomes}
    whole = files - {outcome.file for outcome in outcomes if outcome.reason}
    compared = [outcome for outcome in outcomes if outcome.is_compared]
    compiled = [outcome for outcome in compared if not outcome.reason]
    cells = (
        name,
        len(files),
        len(whole),
        len(outcomes),
        sum(not outcome.reason for outcome in outcomes),
        len(compared),
        f"{len(compiled)} ({100 * len(compiled) / len(compared):.1f} %)" if compared else "-",
        sum(outcome.is_equal for outcome in compiled),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _refused(outcomes: Iterable[Outcome], is_compared: bool) -> list[Outcome]:
    return [
        outcome for outcome in outcomes if outcome.reason and outcome.is_compared is is_compared
    ]


def _show_causes(title: str, refused: list[Outcome]) -> None:
    print(f"\n| {title} | kernels | for example |\n|---|---|---|")
    causes = Counter(_cause(outcome.reason) for outcome in refused)
    for cause, count in causes.most_common():
        first = next(outcome for outcome in refused if _cause(outcome.reason) == cause)
        print(f"| {cause} | {count} | `{first.package}:{first.file}:{first.kernel}` |")


def _cause(reason: str) -> str:
    """Return a reason without places, names and numbers."""
    text = re.sub(r"[\w./-]+\.py:\d+: ", "", reason)
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "...", text)
    return re.sub(r"\d+", "N", text)[:160].replace("|", "/")
