"""A batch as the client sees it: what became of each of its requests, in their order."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tritonc.compilation import Compilation
from tritonc.diagnostic import Problem, printable
from tritonc.html_panes import cells_pane, framed, plain
from tritonc.launch import Launch
from tritonc.programs.program import Program

ACCEPTED = 202


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One request: in the end it has a result or a problem.

    `status` is the HTTP status that it would have alone, 202 while it is not over. A result that
    is too long to be sent with the others is a problem that says so; `url` has it.
    """

    index: int
    status: int
    state: str
    url: str | None
    result: Compilation | Launch | Program | None
    problem: Problem | None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "BatchItem":
        """Read an item. Raises KeyError or TypeError when it is none."""
        result, problem = body.get("result"), body.get("problem")
        return cls(
            index=body["index"],
            status=body["status"],
            state=body.get("state") or "",
            url=body.get("url"),
            result=None if result is None else _result(result),
            problem=None if problem is None else Problem.from_json(problem),
        )

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status != ACCEPTED

    @property
    def good(self) -> bool:
        """Whether it compiled, or its launch or program has a good verdict."""
        result = self.result
        if isinstance(result, Compilation):
            return result.succeeded
        return result is not None and result.good


@dataclass(frozen=True, slots=True)
class Batch:
    """Many requests posted together; `counts` says how many are in which state."""

    id: str
    counts: Mapping[str, int]
    items: tuple[BatchItem, ...]
    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Batch":
        """Read a batch. Raises KeyError or TypeError when it is none."""
        items = tuple(BatchItem.from_json(item) for item in body["items"])
        return cls(id=body["id"], counts=body["counts"], items=items, raw=body)

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen to any item."""
        return all(item.finished for item in self.items)

    def __repr__(self) -> str:
        """Return one line: the id, and how many items are in which state."""
        counts = ", ".join(f"{count} {state}" for state, count in self.counts.items())
        return printable(f"<Batch {self.id}: {counts or 'no items'}>")

    def _repr_html_(self) -> str:
        cells = [[str(item.index), item.state, _told(item)] for item in self.items]
        is_good = all(item.good or not item.finished for item in self.items)
        return framed(plain(repr(self), is_good=is_good), cells_pane(["#", "state", ""], cells))


def _told(item: BatchItem) -> str:
    """Return what there is to say of an item in a line."""
    return str(item.problem) if item.result is None and item.problem else repr(item.result)


def _result(body: Mapping[str, Any]) -> Compilation | Launch | Program:
    """Read a result: a compilation is known by its key, a program by its reward."""
    if "id" not in body:
        return Compilation.from_json(body)
    return Program.from_json(body) if "reward" in body else Launch.from_json(body)
