"""The task that runs the pipeline again and tells what each pass made of the module."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from compiler.excerpt import KERNEL_FOLDER
from compiler.making import bounds, dump, llvm_steps, locations, toolchain
from compiler.making.failure import Failure

Send = Callable[[dict[str, Any], bytes], None]

MLIR_STAGES = ("ttir", "ttgir", "llir")
MOST_BYTES = 24 << 20
"""Of all bodies together; those after it are left out, and the answer says so."""


@dataclass(frozen=True)
class _Step:
    stage: str
    name: str
    options: str
    operation: str
    before: str
    after: str


@dataclass
class _Trace:
    """The steps so far. What a pass gave is what the next one got, or the stage's artifact."""

    steps: list[_Step] = field(default_factory=list)

    def add(self, stage: str, dumps: list[dump.Dump], last: str) -> None:
        following = [item.text for item in dumps[1:]] + [last]
        self.steps += [
            _Step(stage, item.name, item.options, item.operation, item.text, after)
            for item, after in zip(dumps, following, strict=True)
        ]


def passes(header: dict[str, Any], body: bytes, send: Send) -> dict[str, Any]:
    """Send the passes, as JSON, that lower the IR `body`.

    `header` is that of `back`; its `canonicalize` says that `body` is the stage `source`, so that
    TTIR's own passes come first. A pass that fails is the last one told. Raises `Failure` when
    `body` cannot be parsed.
    """
    text, language = body.decode(), header["language"]
    bounds.check(text, language, header)
    backend = toolchain.make_backend(toolchain.target_of(header["target"]))
    options = backend.parse_options(header["options"])
    stages = toolchain.stages_of(backend, options, gluon=language == "glir")
    trace, error = _Trace(), None
    module = _parsed(text, backend, header)
    metadata = {"target": backend.target, **vars(options)}
    with dump.printing() as printed:
        for name in _names(list(stages), header):
            try:
                module = _run(name, stages[name], module, metadata, printed, trace)
            except Exception as raised:  # noqa: BLE001 - told in the answer
                trace.add(name, printed.take(), "")
                error = {"stage": name, "message": str(raised) or type(raised).__name__}
                break
    answer = _answer(trace.steps, error)
    send({"kind": "stage", "stage": "passes", "ms": 0.0}, answer)
    return {}


def _parsed(text: str, backend: Any, header: dict[str, Any]) -> Any:
    context = toolchain.new_context(backend)
    try:
        module = locations.parse(text, context)
        if header.get("locations") is not None:
            locations.restore(module, context, header["locations"])
            return module
        return locations.under_path(module, f"{KERNEL_FOLDER}user.{header['language']}")
    except (RuntimeError, ValueError) as error:
        message = f"the IR of this compilation cannot be parsed again: {error}"
        raise Failure("lowering_failed", header["language"], message) from error


def _names(names: list[str], header: dict[str, Any]) -> list[str]:
    """Return the stages that passes of MLIR or LLVM make, up to `stop_after`."""
    start = names.index(header["language"]) if header["language"] in names else -1
    start += not header.get("canonicalize")
    known = [name for name in names[max(start, 0) :] if name in MLIR_STAGES]
    stop = header["stop_after"]
    return known[: known.index(stop) + 1] if stop in known else known


def _run(
    name: str,
    lower: Callable[..., Any],
    module: Any,
    metadata: dict[str, Any],
    printed: dump.Capture,
    trace: _Trace,
) -> Any:
    if name != "llir":
        made = lower(module, metadata)
        trace.add(name, printed.take(), str(made).strip("\n"))
        return made
    with llvm_steps.watched(lower) as steps:
        made = lower(module, metadata)
    trace.add(name, printed.take(), steps[0].before if steps else str(made))
    texts = [step.before for step in steps] + [str(made).strip("\n")]
    trace.steps += [
        _Step(name, step.name, "", "LLVM module", before, after)
        for step, before, after in zip(steps, texts, texts[1:], strict=False)
    ]
    return made


def _answer(steps: list[_Step], error: dict[str, str] | None) -> bytes:
    told, left_bytes = [], MOST_BYTES
    for step in steps:
        changed = step.before != step.after
        size = len(step.before) + len(step.after) if changed else 0
        left_bytes -= size
        shown = changed and left_bytes >= 0
        told.append(
            {
                "stage": step.stage,
                "name": step.name,
                "options": step.options,
                "operation": step.operation,
                "changed": changed,
                "before": step.before if shown else None,
                "after": step.after if shown else None,
            }
        )
    answer = {"passes": told, "truncated": left_bytes < 0, "error": error}
    return json.dumps(answer, separators=(",", ":")).encode()
