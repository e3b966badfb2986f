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
        of_it = [one for one in outcomes if one.package == package.name]
        print(_row(f"{package.name} {package.version}", of_it))
    print(_row("**all**", outcomes))
    _show_causes("refused here, and compiled by plain Triton", _refused(outcomes, True))
    _show_causes("refused here, not compared", _refused(outcomes, False))
    print("\n| compiled, but another PTX |\n|---|")
    for one in outcomes:
        if one.is_direct and not one.reason and not one.is_equal:
            print(f"| `{one.package}:{one.file}:{one.kernel}` ({one.way}) |")
    print(f"\n{sum(one.cpu_s for one in outcomes):.0f} s of CPU time in the worker")


def _row(name: str, outcomes: list[Outcome]) -> str:
    files = {one.file for one in outcomes}
    whole = files - {one.file for one in outcomes if one.reason}
    compared = [one for one in outcomes if one.is_compared]
    compiled = [one for one in compared if not one.reason]
    cells = (
        name,
        len(files),
        len(whole),
        len(outcomes),
        sum(not one.reason for one in outcomes),
        len(compared),
        f"{len(compiled)} ({100 * len(compiled) / len(compared):.1f} %)" if compared else "-",
        sum(one.is_equal for one in compiled),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _refused(outcomes: Iterable[Outcome], is_compared: bool) -> list[Outcome]:
    return [one for one in outcomes if one.reason and one.is_compared is is_compared]


def _show_causes(title: str, refused: list[Outcome]) -> None:
    print(f"\n| {title} | kernels | for example |\n|---|---|---|")
    causes = Counter(_cause(one.reason) for one in refused)
    for cause, count in causes.most_common():
        first = next(one for one in refused if _cause(one.reason) == cause)
        print(f"| {cause} | {count} | `{first.package}:{first.file}:{first.kernel}` |")


def _cause(reason: str) -> str:
    """Return a reason without places, names and numbers."""
    text = re.sub(r"[\w./-]+\.py:\d+: ", "", reason)
    text = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "...", text)
    return re.sub(r"\d+", "N", text)[:160].replace("|", "/")
