"""The task of recording programs. Its zygote has no other tasks, as `warm_up()` patches torch."""

import json
import time
from typing import Any

import torch
import triton

from compiler.messages.wire import Send, Task, task_of
from programs.recorder import recorder_warming
from programs.recorder.record import record
from programs.recorder.record_order import NotRecordable, RecordOrder, RecordReport, Unrecordable

__all__ = ["TASKS", "libraries", "warm_up"]

warm_up = recorder_warming.warm_up


def record_program(order: RecordOrder, body: Any, send: Send) -> RecordReport:
    """Record the program in `body`; send its tape, or report why there is none."""
    texts = json.loads(bytes(body))
    started = time.monotonic()
    try:
        recorded = record(order, texts["source"], texts["files"])
    except NotRecordable as refusal:
        file, line = refusal.place or (None, None)
        why = Unrecordable(reason=refusal.reason, detail=refusal.detail, file=file, line=line)
        return RecordReport(not_recordable=why)
    spent_ms = round((time.monotonic() - started) * 1000, 1)
    send({"kind": "stage", "stage": "tape", "ms": spent_ms}, recorded.tape)
    return RecordReport(
        not_recordable=None, draws_inputs=recorded.draws_inputs, attempts=recorded.attempts
    )


TASKS: dict[str, Task] = dict([task_of(RecordOrder, record_program)])


def libraries() -> dict[str, str]:
    """Return the versions on which a tape depends, besides its program."""
    return {"torch": torch.__version__, "triton": triton.__version__}
