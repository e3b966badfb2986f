"""A compilation as answered by the service: frozen views of the JSON.

Parsing is lenient, so that newer services work; unknown members stay in `raw`.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tritonc.diagnostic import POSTED_SOURCE, Diagnostic, Problem, printable, render_all
from tritonc.html_panes import cells_pane, framed, plain
from tritonc.members import read_members
from tritonc.service_errors import TritoncError

UNFINISHED = frozenset({"queued", "running"})


@dataclass(frozen=True, slots=True)
class Artifact:
    """The output of one stage: the URL of its bytes, not the bytes."""

    digest: str
    size_bytes: int
    media_type: str
    url: str

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Artifact":
        """Parse an artifact; unknown members are ignored."""
        return read_members(cls, body)

    @property
    def is_text(self) -> bool:
        """True if the bytes are text (IR, PTX) and not a binary (cubin, hsaco)."""
        return self.media_type.startswith("text/")


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compilation at the time of the request.

    `state` is queued, running, succeeded, failed or cancelled; `cache` is hit, miss or join for a
    posted compilation, and None for a fetched one. `artifacts` are in the order of the stages.
    `included` has the artifacts requested with `include`: text as str, binaries as bytes. Members
    that depend on the backend (options, abi, metadata, resources) are passed through unchanged.
    """

    key: str
    state: str
    cache: str | None = None
    queue_position: int | None = None
    kernel: str | None = None
    target: str = ""
    stop_after: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    toolchain: Mapping[str, Any] = field(default_factory=dict)
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    included: Mapping[str, str | bytes] = field(default_factory=dict)
    parameters: tuple[Mapping[str, Any], ...] = ()
    abi: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, Any] = field(default_factory=dict)
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    complete: bool = True
    """True if everything that can matter was executed as Python does."""
    assumptions: tuple[Mapping[str, Any], ...] = ()
    """Assumptions otherwise: `file`, `line`, `message`. Each is a warning, too."""
    stdout: str = ""
    problem: Problem | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "Compilation":
        """Parse a compilation. Raises KeyError or TypeError if it is malformed."""
        artifacts = {s: Artifact.from_json(a) for s, a in (body.get("artifacts") or {}).items()}
        return read_members(
            cls,
            body,
            artifacts=artifacts,
            included={
                stage: text
                if stage not in artifacts or artifacts[stage].is_text
                else base64.b64decode(text, validate=True)
                for stage, text in (body.get("included") or {}).items()
            },
            diagnostics=tuple(map(Diagnostic.from_json, body.get("diagnostics") or ())),
            problem=Problem.of(body),
            raw=body,
        )

    @property
    def finished(self) -> bool:
        """True if the compilation has ended; states newer than this client count as ended."""
        return self.state not in UNFINISHED

    @property
    def succeeded(self) -> bool:
        """True if it reached every requested stage."""
        return self.state == "succeeded"

    def raise_unless_succeeded(self) -> "Compilation":
        """Return this compilation if it succeeded, otherwise raise CompileFailed."""
        if self.succeeded:
            return self
        raise CompileFailed(self)

    def __repr__(self) -> str:
        """Return one line: kernel, state, registers, and the beginning of the key."""
        registers = self.resources.get("registers", self.resources.get("vgpr"))
        facts = [self.state, *([] if registers is None else [f"{registers} registers"])]
        name = self.kernel or "kernel"
        return printable(
            f"<Compilation {name} for {self.target}: {', '.join(facts)}, key {self.key[:16]}>"
        )

    def _repr_html_(self) -> str:
        diagnostics = render_all(self.diagnostics)
        numbers = [
            [name, str(number)]
            for name, number in self.resources.items()
            if isinstance(number, int | float) and not isinstance(number, bool)
        ]
        return framed(
            plain(repr(self), is_good=self.succeeded),
            *([plain(diagnostics, is_good=self.succeeded)] if diagnostics else []),
            *([cells_pane(["resource", "value"], numbers)] if numbers else []),
        )


class CompileFailed(TritoncError):
    """A compilation did not succeed; the message reads like a compiler's output.

    `compilation` has what is available, such as the artifacts of the reached stages.
    """

    def __init__(self, compilation: Compilation) -> None:
        super().__init__(compilation.key)
        self.compilation = compilation

    @property
    def problem(self) -> Problem | None:
        """The reason; None for a cancelled compilation."""
        return self.compilation.problem

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The compiler's messages, with source locations."""
        return self.compilation.diagnostics

    def render(self, source_name: str = POSTED_SOURCE) -> str:
        """Return diagnostics and outcome, with `source_name` as the name of the posted source."""
        parts = [render_all(self.diagnostics, source_name)] if self.diagnostics else []
        if not any(d.severity == "error" for d in self.diagnostics):
            parts.append(f"error: {self.problem or f'the compilation is {self.compilation.state}'}")
        return "\n".join([*parts, self._outcome()])

    def __str__(self) -> str:
        """Return the text of `render` with the service's file names."""
        return self.render()

    def _outcome(self) -> str:
        slug = self.problem.slug if self.problem else self.compilation.state
        reached = ", ".join(self.compilation.artifacts) or "none"
        again = "; may work when tried again" if self.problem and self.problem.retryable else ""
        return f"{slug or 'failed'} (stages reached: {reached}{again})"
