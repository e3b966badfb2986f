"""A batch as answered by the service: a result for each request, in order."""

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
    """One request of a batch, which ends with a result or a problem.

    `status` is the HTTP status of the same request on its own, 202 while it is unfinished. For a
    result too large for the batch's answer, `problem` is `too_large` and `url` has the result.
    """

    index: int
    status: int
    state: str
    url: str | None
    result: Compilation | Launch | Program | None
    problem: Problem | None

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "BatchItem":
        """Parse an item. Raises KeyError or TypeError if it is malformed."""
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
        """True if the item has ended."""
        return self.status != ACCEPTED

    @property
    def good(self) -> bool:
        """True if it compiled, or its launch or program has a good verdict."""
        result = self.result
        if isinstance(result, Compilation):
            return result.succeeded
        return result is not None and result.good


@dataclass(frozen=True, slots=True)
class Batch:
    """Many requests posted together; `counts` has the number of items by state.

    `state` is `running` until every item has ended, then `completed`; "" for a service that gives
    none.
    """

    id: str
    counts: Mapping[str, int]
    items: tuple[BatchItem, ...]
    raw: Mapping[str, Any]
    state: str = ""

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Batch":
        """Parse a batch. Raises KeyError or TypeError if it is malformed."""
        items = tuple(BatchItem.from_json(item) for item in body["items"])
        state = body.get("state") or ""
        return cls(id=body["id"], counts=body["counts"], items=items, raw=body, state=state)

    @property
    def finished(self) -> bool:
        """True if every item has ended."""
        return all(item.finished for item in self.items)

    def __repr__(self) -> str:
        """Return one line: the id, and the number of items by state."""
        counts = ", ".join(f"{count} {state}" for state, count in self.counts.items())
        return printable(f"<Batch {self.id}: {counts or 'no items'}>")

    def _repr_html_(self) -> str:
        cells = [[str(item.index), item.state, item_text(item)] for item in self.items]
        is_good = all(item.good or not item.finished for item in self.items)
        return framed(plain(repr(self), is_good=is_good), cells_pane(["#", "state", ""], cells))


def item_text(item: BatchItem) -> str:
    """Return a summary of an item in one line."""
    return str(item.problem) if item.result is None and item.problem else repr(item.result)


def _result(body: Mapping[str, Any]) -> Compilation | Launch | Program:
    """Parse a result: a compilation has no id, and only a program has a reward."""
    if "id" not in body:
        return Compilation.from_json(body)
    return Program.from_json(body) if "reward" in body else Launch.from_json(body)
