"""A sweep as the client sees it: one kernel, many variants, a row for each.

Reading is lenient, so that a newer service works: what is unknown stays in `raw`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from tritonc.compilation import UNFINISHED
from tritonc.diagnostic import Problem
from tritonc.launch_run import GOOD


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One variant; what is not known of it, or does not apply, is None.

    `values` are by axis (`constexprs.BLOCK_SIZE`, `target`), a label where the value is long.
    `state` is queued, running, succeeded (compiled), completed (ran), failed, refused, cancelled,
    or pruned (not worth running: `pruned` says why). `occupancy` goes from 0 to 1.
    """

    index: int
    values: Mapping[str, Any]
    state: str
    compilation_key: str | None
    cache: str | None
    registers: int | None
    spill_store_bytes: int | None
    spill_load_bytes: int | None
    shared_bytes: int | None
    occupancy: float | None
    code_bytes: int | None
    instruction_mix: Mapping[str, Any] | None
    compile_ms: float | None
    launch_id: str | None
    verdict: str | None
    median_us: float | None
    interval_us: tuple[float, float] | None
    repeats: int | None
    pruned: Mapping[str, Any] | None
    problem: Problem | None
    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "SweepRow":
        """Read a row. Raises KeyError or TypeError when it is none."""
        problem, interval = body.get("problem"), body.get("interval_us")
        known: dict[str, Any] = {item.name: body.get(item.name) for item in fields(cls)}
        known |= {name: body[name] for name in ("index", "values", "state")} | {"raw": body}
        known["problem"] = None if problem is None else Problem.from_json(problem)
        known["interval_us"] = None if interval is None else (interval[0], interval[1])
        return cls(**known)

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state not in UNFINISHED

    @property
    def good(self) -> bool:
        """Whether it compiled, and where it was run, nothing speaks against it."""
        if self.state == "completed":
            return self.verdict in GOOD
        return self.state in {"succeeded", "pruned"}


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep, at the moment it was asked for.

    `state` is queued, running, completed, failed or cancelled; `counts` says how many rows are in
    which state. `rows` are those of the query, `matched` on all its pages, of `total`. `winners`
    has, for each problem size, the fastest variant, its lead and its interval; `pruned` counts what
    was not run, by reason, and `note` says what there is to say of the whole.
    """

    id: str
    state: str
    kind: str
    axes: Mapping[str, tuple[Any, ...]]
    counts: Mapping[str, int]
    total: int
    matched: int
    rows: tuple[SweepRow, ...]
    winners: tuple[Mapping[str, Any], ...]
    pruned: Mapping[str, int]
    note: str | None
    problem: Problem | None
    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Sweep":
        """Read a sweep. Raises KeyError or TypeError when it is none."""
        problem, rows = body.get("problem"), tuple(map(SweepRow.from_json, body["rows"]))
        return cls(
            id=body["id"],
            state=body["state"],
            kind=body.get("kind") or "",
            axes={axis["name"]: tuple(axis["values"]) for axis in body["axes"]},
            counts=body["counts"],
            total=body.get("total", len(rows)),
            matched=body.get("matched", len(rows)),
            rows=rows,
            winners=tuple(body.get("winners") or ()),
            pruned=body.get("pruned") or {},
            note=body.get("note"),
            problem=None if problem is None else Problem.from_json(problem),
            raw=body,
        )

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen; a state newer than this client counts as finished."""
        return self.state not in UNFINISHED

    @property
    def over(self) -> int:
        """How many rows are over."""
        return sum(count for state, count in self.counts.items() if state not in UNFINISHED)
