"""The tasks that derive something from a compilation's texts: its lines, exports, differences.

All of it is pure text that hostile code may have worded, so it is read in a child and not next to
the store. Runs nothing of the user's.
"""

import json
from collections.abc import Callable, Mapping

from compiler.back import mlir_log, nvdisasm
from compiler.back.nvdisasm import NOT_DERIVABLE, disassembly
from compiler.diagnostic import KERNEL_FOLDER, Failure
from compiler.diff.compilation_diff import Side, compilation_diff
from compiler.export.c import c_header
from compiler.export.cuda_inline import cuda_inline_header
from compiler.export.exported_kernel import ExportedKernel, NotExportable, kernel_of
from compiler.export.python import python_module
from compiler.export.rust import rust_module
from compiler.instructions.instruction_mix import ASSEMBLIES, instruction_mix
from compiler.lines.hot_lines import hot_lines as hot_lines_of
from compiler.lines.hot_lines import read_counters
from compiler.lines.line_map import MAPS, line_maps, table
from compiler.messages.orders import (
    DerivedTextOrder,
    DiffOrder,
    DiffSide,
    ExportOrder,
    HotLinesOrder,
    InstructionsOrder,
    LinesOrder,
    LogOrder,
)
from compiler.messages.reports import LogReport
from compiler.messages.wire import Send

DERIVED: Mapping[str, Callable[[Mapping[str, bytes]], str]] = {"sass": nvdisasm.sass}
"""The functions that make the text of each derived stage from those that its kind `reads`."""


def derived_text(order: DerivedTextOrder, body: bytes, send: Send) -> None:
    """Send the text of the derived stage of `order`. Raises `Failure`."""
    text = DERIVED[order.stage](nvdisasm.split(body, order.sizes))
    send({"kind": "stage", "stage": order.task, "ms": 0.0}, text.encode())


def lines(order: LinesOrder, body: bytes, send: Send) -> None:
    """Send the line table, as JSON, of the artifacts in `body`.

    Of a `cubin` without its `sass` that is made too, while the others are mapped, and sent as a
    separate stage; where it cannot be built, the table does without. Raises `Failure`.
    """
    parts = nvdisasm.split(body, order.sizes)
    texts = {stage: parts[stage].decode(errors="replace") for stage in parts if stage in MAPS}
    if "cubin" in parts:
        with disassembly(parts) as finish:
            maps = line_maps(texts)
            sass = _sass(finish)
        if sass is not None:
            send({"kind": "stage", "stage": "sass", "ms": 0.0}, sass.encode())
            maps |= line_maps({"sass": sass})
    else:
        maps = line_maps(texts)
    data = json.dumps({"lines": table(maps)}, separators=(",", ":")).encode()
    send({"kind": "stage", "stage": "lines", "ms": 0.0}, data)


def instructions(order: InstructionsOrder, body: bytes, send: Send) -> None:
    """Send how many instructions of each kind an assembly has, as JSON.

    Of a `cubin` its `sass` is created first, and sent as a separate stage. Raises `Failure`.
    """
    parts = nvdisasm.split(body, order.sizes)
    if "cubin" in parts:
        with disassembly(parts) as finish:
            sass = finish()
        send({"kind": "stage", "stage": "sass", "ms": 0.0}, sass.encode())
        mix = instruction_mix("sass", sass)
    else:
        (stage,) = parts.keys() & ASSEMBLIES.keys()
        mix = instruction_mix(stage, parts[stage].decode(errors="replace"))
    data = json.dumps(mix.as_json(), separators=(",", ":")).encode()
    send({"kind": "stage", "stage": "instructions", "ms": 0.0}, data)


def hot_lines(order: HotLinesOrder, body: bytes, send: Send) -> None:
    """Send what a profiler counted, as JSON, by instruction and by the user's line.

    The lines are null where the cubin cannot be disassembled. Raises `Failure`.
    """
    parts = nvdisasm.split(body, order.sizes)
    counted = read_counters(parts["counters"])
    with disassembly(parts) as finish:
        sass = _sass(finish)
    lines = hot_lines_of(counted, sass, order.entry)
    data = json.dumps(lines, separators=(",", ":")).encode()
    send({"kind": "stage", "stage": "hot_lines", "ms": 0.0}, data)


def _sass(finish: Callable[[], str]) -> str | None:
    try:
        return finish()
    except Failure as failure:
        if failure.slug == NOT_DERIVABLE:
            return None
        raise


FORMATS: Mapping[str, Callable[[ExportedKernel, bytes], str]] = {
    "c": c_header,
    "rust": rust_module,
    "python": python_module,
    "cuda-inline": lambda kernel, ptx: cuda_inline_header(kernel, ptx.decode()),
}


def export(order: ExportOrder, body: bytes, send: Send) -> None:
    """Send the export; `body` is the artifact that its format contains.

    Raises `Failure` with slug `not_derivable`.
    """
    try:
        text = FORMATS[order.format](kernel_of({**order.record}), body)
    except NotExportable as error:
        raise Failure("not_derivable", "export", str(error)) from error
    send({"kind": "stage", "stage": "export", "ms": 0.0}, text.encode())


def log(order: LogOrder, body: bytes, send: Send) -> LogReport:
    """Return the diagnostics that `body` contains."""
    del send
    sources = {KERNEL_FOLDER + path: text for path, text in order.files.items()}
    text = body.decode(errors="replace")
    messages = mlir_log.diagnostics(text, sources, order.stage)
    return LogReport(diagnostics=mlir_log.with_places(messages, order.ir, sources))


def diff(order: DiffOrder, body: bytes, send: Send) -> None:
    """Send what differs, as JSON; the parts of `body` are the texts of the first, then the second.

    A part that is called `files` is JSON: the user's files by path.
    """
    first = sum(order.a.sizes.values())
    a, b = _side(order.a, body[:first]), _side(order.b, body[first:])
    data = json.dumps(compilation_diff(a, b, order.compared), separators=(",", ":")).encode()
    send({"kind": "stage", "stage": "diff", "ms": 0.0}, data)


def _side(order: DiffSide, body: bytes) -> Side:
    parts = nvdisasm.split(body, order.sizes)
    files = json.loads(parts.pop("files"))
    stages = {name: data.decode(errors="replace") for name, data in parts.items()}
    return Side(order.record, stages, files)
