"""A cheat: a candidate's file, a launch that judges it, and the expected answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILES = Path(__file__).parents[2] / "kernels" / "cheats"


@dataclass(frozen=True, slots=True)
class Task:
    """A task for kernels; `in_torch` is the same reference for the naive evaluator."""

    arguments: Mapping[str, Any]
    constexprs: Mapping[str, Any]
    grid: tuple[str | int, ...]
    reference: str
    in_torch: Callable[..., Any]
    tolerance: Mapping[str, Any] = field(default_factory=dict)
    """Tolerance of the reference; if empty, the defaults by dtype."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The required answer of a launch: one of `verdicts`, or failure with `problem`.

    It must have the kinds of findings in `findings`, and may have those in `also`.
    """

    verdicts: tuple[str, ...] = ()
    findings: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    problem: str | None = None

    def differs(self, launch: Mapping[str, Any]) -> str | None:
        """Return the differences between an answer and this expectation, or None."""
        slug = (launch["problem"] or {}).get("slug")
        if slug != self.problem:
            return f"{launch['state']} with {launch['problem']}, not {self.problem}"
        if launch["verdict"] not in (self.verdicts or (None,)):
            return f"verdict {launch['verdict']}, not {self.verdicts}: {launch['findings']}"
        kinds = {found["kind"] for found in launch["findings"] or []}
        if not self.findings <= kinds <= self.findings | self.also:
            return f"findings {sorted(kinds)}, not {sorted(self.findings)}: {launch['findings']}"
        return None


def verdict(*verdicts: str, findings: str = "", also: str = "") -> Answer:
    """Return an answer; kinds are separated by spaces."""
    return Answer(verdicts, frozenset(findings.split()), frozenset(also.split()))


def failed(slug: str) -> Answer:
    """Return the answer of a launch that could not run."""
    return Answer(problem=slug)


@dataclass(frozen=True, slots=True)
class Cheat:
    """One file of tests/kernels/cheats, each device's expected answer, and why it fools others."""

    file: str
    classes: str
    """Numbers of rows in README.md, separated by spaces."""
    task: Task
    cpu: Answer
    gpu: Answer
    fools: str
    """The reason why the naive evaluator answers `naive`."""
    naive: str = "passed"
    """passed | failed | hangs | dies; several words if it is random."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the launch that differ from the task's."""
    on_gpu: Mapping[str, Any] = field(default_factory=dict)
    """Further changes on a GPU."""
    interpreted: bool = True
    """True if the naive evaluator is also fooled on a CPU, where it uses Triton's interpreter."""
    reference_first: bool = True
    """True if the naive evaluator computes the expected values before the candidate runs."""

    @property
    def source(self) -> str:
        """The text, posted as it is."""
        return (FILES / f"{self.file}.py").read_text()

    def body(self, device: Any) -> dict[str, Any]:
        """Return the launch on the CPU device, `"cpu"`, or on a GPU."""
        task, more = self.task, dict(self.changes)
        more |= self.on_gpu if device != "cpu" else {}
        compilation = {"source": self.source, "kernel": "kernel", "target": "cuda:90"}
        compilation["constexprs"] = dict(task.constexprs)
        compilation |= more.pop("compilation", {})
        reference = {"source": task.reference, **task.tolerance}
        arguments = {name: _plain(value) for name, value in task.arguments.items()}
        usual = {"compilation": compilation, "device": device, "grid": list(task.grid)}
        return {**usual, "arguments": arguments, "reference": reference, **more}


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
