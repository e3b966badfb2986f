"""A sweep as answered by the service: one kernel, many variants, a row for each.

Parsing is lenient, so that newer services work; unknown members stay in `raw`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tritonc.compilation import UNFINISHED
from tritonc.data_frames import data_frame
from tritonc.diagnostic import Problem, printable
from tritonc.html_panes import cells_pane, framed, plain
from tritonc.members import read_members
from tritonc.packages.package import needs_of
from tritonc.sweeps.sweep_row import MEASURED, SweepRow, short_names, sweep_cells


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep at the time of the request.

    `state` is queued, running, completed, failed or cancelled; `counts` has the number of rows by
    state. `rows` are those of the query; `matched` counts all its rows, of `total` in the sweep.
    `winners` has the fastest variant, its lead and its interval for each problem size; `pruned`
    counts the rows that did not run, by reason; `budget_ended` is true if `budget_s` ended before
    all rows; `assumptions` are those about the source's own autotuner; `note` has other remarks.
    `next_offset` is that of the first row which did not fit into the answer, None if all did.
    """

    id: str
    state: str
    axes: Mapping[str, tuple[Any, ...]]
    counts: Mapping[str, int]
    total: int
    matched: int
    rows: tuple[SweepRow, ...]
    kind: str = ""
    winners: tuple[Mapping[str, Any], ...] = ()
    pruned: Mapping[str, int] = field(default_factory=dict)
    budget_ended: bool = False
    assumptions: tuple[Mapping[str, Any], ...] = ()
    note: str | None = None
    next_offset: int | None = None
    problem: Problem | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Sweep":
        """Parse a sweep. Raises KeyError or TypeError if it is malformed."""
        rows = tuple(map(SweepRow.from_json, body["rows"]))
        sizes = {name: body.get(name, len(rows)) for name in ("total", "matched")}
        axes = {axis["name"]: tuple(axis["values"]) for axis in body["axes"]}
        problem = Problem.of(body)
        return read_members(cls, body, axes=axes, rows=rows, problem=problem, raw=body, **sizes)

    @property
    def finished(self) -> bool:
        """True if the sweep has ended; states newer than this client count as ended."""
        return self.state not in UNFINISHED

    @property
    def over(self) -> int:
        """The number of finished rows."""
        return sum(count for state, count in self.counts.items() if state not in UNFINISHED)

    @property
    def won(self) -> frozenset[int]:
        """The indices of the winners' rows."""
        variants = (winner.get("variant") for winner in self.winners)
        return frozenset(index for index in variants if index is not None)

    @property
    def needs(self) -> tuple[str, ...]:
        """The modules that its rows ask for."""
        problems = [self.problem, *(row.problem for row in self.rows)]
        return tuple(dict.fromkeys(name for item in problems for name in needs_of(item)))

    def to_pandas(self) -> Any:
        """Return the rows as a DataFrame: a column for each axis, then what the service measured.

        Raises ModuleNotFoundError without pandas.
        """
        heads = short_names(self.axes)
        return data_frame(
            [
                {
                    "variant": row.index,
                    **{h: row.values.get(axis) for h, axis in zip(heads, self.axes, strict=True)},
                    **{name: getattr(row, name) for name in MEASURED},
                }
                for row in self.rows
            ]
        )

    def __repr__(self) -> str:
        """Return one line: the id, the state, and the number of rows by state."""
        counts = ", ".join(f"{count} {state}" for state, count in self.counts.items())
        return printable(f"<Sweep {self.id}: {self.state}, {counts or 'no rows'}>")

    def _repr_html_(self) -> str:
        heads, cells = sweep_cells(self.axes, self.rows, self.won)
        return framed(
            plain(repr(self), is_good=self.state == "completed"), cells_pane(heads, cells)
        )
