"""The tables of a run: equal results by package, and the reasons for the rest."""

from dataclasses import dataclass

from corpus.packages import Package
from corpus.posts import Outcome


@dataclass(frozen=True)
class Row:
    """One package: the outcome of each tried kernel; `None` for kernels that Triton refuses."""

    package: Package
    tried: list[Outcome | None]

    @property
    def posted(self) -> list[Outcome]:
        """The outcomes of kernels that compile directly, all of which were posted."""
        return [outcome for outcome in self.tried if outcome is not None]


def show(rows: list[Row]) -> None:
    """Print both tables as Markdown."""
    print("| package | tried | compile directly, posted | equal PTX | share | a line more: equal |")
    print("|---|---|---|---|---|---|")
    for held_out, name in ((False, "all of these"), (True, "held out")):
        group = [row for row in rows if row.package.held_out is held_out]
        for row in group:
            print(_line(f"{row.package.name} {row.package.version}", row.tried))
        print(_line(f"**{name}**", [outcome for row in group for outcome in row.tried]))
    print("\n| kernel | what came back |\n|---|---|")
    for outcome in (outcome for row in rows for outcome in row.posted):
        if outcome.reason or outcome.moved or outcome.retried:
            text = outcome.reason or outcome.moved or "equal, with more time"
            print(f"| `{outcome.id}` | {text[:300]} |")


def _line(name: str, tried: list[Outcome | None]) -> str:
    posted = [outcome for outcome in tried if outcome is not None]
    equal = [outcome for outcome in posted if outcome.reason is None]
    moved = [outcome.moved for outcome in equal if outcome.was_moved]
    share = f"{100 * len(equal) / len(posted):.1f} %" if posted else "-"
    cells = (
        name,
        len(tried),
        len(posted),
        len(equal),
        share,
        f"{moved.count(None)} of {len(moved)}",
    )
    return f"| {' | '.join(map(str, cells))} |"
