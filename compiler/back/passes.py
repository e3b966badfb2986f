"""The task that runs the pipeline again and shows the effect of each pass on the module.

Triton has its pass managers print before every pass when MLIR_ENABLE_DUMP is set; what Triton does
with LLVM itself after the last of them (translate, link, optimize) is watched here.
"""

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from compiler.back import contexts, ir_module, locations, tool_process, triton_api
from compiler.diagnostic import KERNEL_FOLDER, Failure
from compiler.messages.orders import PassesOrder
from compiler.messages.wire import Send
from compiler.stages import BY_NAME

_ANY = re.compile(r"^// -----// .*$\n?", re.MULTILINE)
_BEFORE = re.compile(
    r"// -----// IR Dump Before (?P<pass>\w+)(?:: (?P<name>[\w.-]+)(?:\{(?P<options>.*)\})?)?"
    r"(?: \((?P<argument>[\w.-]+)\))? \((?P<operation>'[\w.]+' operation[^)]*)\)"
)
_ENABLED = "MLIR_ENABLE_DUMP"


@dataclass(frozen=True)
class Dump:
    """The module before one pass. `operation` is the pass's root."""

    name: str
    options: str
    operation: str
    text: str


class Capture:
    """The text printed since it was created or last taken."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def take(self) -> list[Dump]:
        """Return the modules printed, and forget them."""
        text = tool_process.content_of(self._descriptor).decode(errors="replace")
        os.ftruncate(self._descriptor, 0)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return list(read(text))


@contextmanager
def printing() -> Iterator[Capture]:
    """Have every pass manager print to the capture that is yielded."""
    with tool_process.stderr_in_memory() as descriptor:
        os.environ[_ENABLED] = "1"
        try:
            yield Capture(descriptor)
        finally:
            del os.environ[_ENABLED]


def read(text: str) -> Iterator[Dump]:
    """Yield the dumps in `text`, without those of passes' inner steps."""
    marks = list(_ANY.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    for mark, end in zip(marks, ends, strict=True):
        match = _BEFORE.match(mark[0])
        if match is not None:
            name = match["name"] or match["argument"] or match["pass"]
            options = match["options"] or ""
            yield Dump(name, options, match["operation"], text[mark.end() : end].strip("\n"))


_STEPS = {
    "to_module": "translate-to-llvm-ir",
    "link_extern_libs": "link-device-libraries",
    "optimize_module": "llvm-optimize",
}
"""Functions of `triton._C.libtriton.llvm` that are given the whole module first, by our names."""


@dataclass(frozen=True)
class LlvmStep:
    """One step, and the module as it was before it."""

    name: str
    before: str


@contextmanager
def watched(lower: Callable[..., Any]) -> Iterator[list[LlvmStep]]:
    """Yield the list of the steps that `lower`, a stage of a backend, is about to take."""
    steps: list[LlvmStep] = []
    names = vars(sys.modules[_module_of(lower)])
    original = names["llvm"]
    names["llvm"] = _Watched(original, steps)
    try:
        yield steps
    finally:
        names["llvm"] = original


def _module_of(lower: Callable[..., Any]) -> str:
    return str(lower.__module__)


class _Watched:
    """Replaces the `llvm` module of Triton's C++ side."""

    def __init__(self, original: Any, steps: list[LlvmStep]) -> None:
        self._original = original
        self._steps = steps

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._original, name)
        if name not in _STEPS:
            return member

        def noting(module: Any, *arguments: Any, **options: Any) -> Any:
            self._steps.append(LlvmStep(_STEPS[name], str(module).strip("\n")))
            return member(module, *arguments, **options)

        return noting


MAX_BYTES = 24 << 20
"""Limit of all bodies together; later ones are left out, and the answer reports it."""


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
    """The steps so far. A pass's result is the next one's input, or the stage's artifact."""

    steps: list[_Step] = field(default_factory=list)

    def add(self, stage: str, dumps: list[Dump], last: str) -> None:
        following = [item.text for item in dumps[1:]] + [last]
        self.steps += [
            _Step(stage, item.name, item.options, item.operation, item.text, after)
            for item, after in zip(dumps, following, strict=True)
        ]


def passes(order: PassesOrder, body: bytes, send: Send) -> None:
    """Send the passes, as JSON, that lower the IR `body`.

    `canonicalize` means that it is the stage `source`, so that TTIR's own passes come first. A pass
    that fails is the last one told. Raises `Failure` when `body` cannot be parsed.
    """
    text, language = body.decode(), order.language
    ir_module.check_size(text, language, order.ir_bounds)
    backend = triton_api.make_backend(triton_api.target_of(order.target))
    options = backend.parse_options({**order.options})
    stages = triton_api.stages_of(backend, options, language)
    trace, error = _Trace(), None
    module = _parsed(text, backend, order)
    metadata = {"target": backend.target, **vars(options)}
    with printing() as printed:
        for name in _names(list(stages), order):
            try:
                module = _run(name, stages[name], module, metadata, printed, trace)
            except Exception as raised:  # noqa: BLE001 - the answer reports it
                trace.add(name, printed.take(), "")
                error = {"stage": name, "message": str(raised) or type(raised).__name__}
                break
    answer = _answer(trace.steps, error)
    send({"kind": "stage", "stage": "passes", "ms": 0.0}, answer)


def _parsed(text: str, backend: Any, order: PassesOrder) -> Any:
    context = contexts.new_context(backend)
    try:
        module = locations.parse(text, context)
        if order.locations is not None:
            locations.restore(module, context, order.locations)
            return module
        return locations.under_path(module, f"{KERNEL_FOLDER}user.{order.language}")
    except (RuntimeError, ValueError) as error:
        message = f"the IR of this compilation cannot be parsed again: {error}"
        raise Failure("lowering_failed", order.language, message) from error


def _names(names: list[str], order: PassesOrder) -> list[str]:
    """Return the stages that passes of MLIR or LLVM make, up to `stop_after`."""
    start = names.index(order.language) if order.language in names else -1
    start += not order.canonicalize
    known = [name for name in names[max(start, 0) :] if BY_NAME[name].has_passes]
    stop = order.stop_after
    return known[: known.index(stop) + 1] if stop in known else known


def _run(
    name: str,
    lower: Callable[..., Any],
    module: Any,
    metadata: dict[str, Any],
    printed: Capture,
    trace: _Trace,
) -> Any:
    if name != "llir":
        made = lower(module, metadata)
        trace.add(name, printed.take(), str(made).strip("\n"))
        return made
    with watched(lower) as steps:
        made = lower(module, metadata)
    trace.add(name, printed.take(), steps[0].before if steps else str(made))
    texts = [step.before for step in steps] + [str(made).strip("\n")]
    trace.steps += [
        _Step(name, step.name, "", "LLVM module", before, after)
        for step, before, after in zip(steps, texts, texts[1:], strict=False)
    ]
    return made


def _answer(steps: list[_Step], error: dict[str, str] | None) -> bytes:
    entries, left_bytes = [], MAX_BYTES
    for step in steps:
        changed = step.before != step.after
        size = len(step.before) + len(step.after) if changed else 0
        left_bytes -= size
        shown = changed and left_bytes >= 0
        entries.append(
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
    answer = {"passes": entries, "truncated": left_bytes < 0, "error": error}
    return json.dumps(answer, separators=(",", ":")).encode()
