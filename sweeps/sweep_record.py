"""The record of a sweep's job, and the complete answer."""

from typing import Any, Literal

from pydantic import Field

from compiler.compilation import Record
from compiler.diagnostic import Assumption
from compiler.problem import Problem
from sweeps.row import SweepRow
from sweeps.search.winning import Winner

SweepState = Literal["queued", "running", "completed", "failed", "cancelled"]


class SearchEffort(Record):
    """The cost of a search."""

    launches: int = Field(description="that were over")
    timed_ms: float = Field(
        description="of timed runs on GPUs, their medians by their repeats; without warming up and "
        "what lies between runs"
    )
    measuring_ms: float = Field(description="from the first launch to the last answer")
    compiling_ms: float = Field(
        description="from the beginning until all variants were compiled, measuring meanwhile"
    )


class SweepEnd(Record):
    """The end of a sweep; its rows are stored separately."""

    state: SweepState
    winners: list[Winner] = Field(default_factory=list)
    search: SearchEffort | None = None
    budget_ended: bool = False
    note: str | None = None
    problem: Problem | None = None


class AxisOfTable(Record):
    """One axis of the table; `values` are labels where the values themselves are long."""

    name: str
    values: list[Any]


class Sweep(Record):
    """A sweep as it is now."""

    id: str
    url: str
    state: SweepState
    kind: Literal["compilations", "launches"]
    axes: list[AxisOfTable]
    counts: dict[str, int] = Field(description="rows by state; they add up to `total`")
    total: int = Field(description="rows of the sweep, whatever the query leaves out")
    matched: int = Field(description="rows that the query asks for, on all its pages")
    next_offset: int | None = Field(
        default=None,
        description="the `offset` of the first row that was left out, as an answer has 32 MiB at "
        "most; null: none was",
    )
    rows: list[SweepRow]
    winners: list[Winner] = Field(
        default_factory=list, description="of a search: one for each problem size and target"
    )
    search: SearchEffort | None = Field(default=None, description="what a search took")
    budget_ended: bool = Field(
        default=False, description="whether `budget_s` ended before all that was to be done"
    )
    pruned: dict[str, int] = Field(
        default_factory=dict, description="rows that were not run, by reason"
    )
    assumptions: list[Assumption] = Field(
        default_factory=list, description="what taking the source's own autotuner assumes"
    )
    note: str | None = None
    problem: Problem | None = None
