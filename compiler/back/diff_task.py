"""The task that compares two compilations: their texts, which hostile code may have worded."""

import json

from compiler.back import nvdisasm
from compiler.diff.compilation_diff import Side, compilation_diff
from compiler.messages.orders import DiffOrder, DiffSide
from compiler.messages.wire import Send


def diff(order: DiffOrder, body: bytes, send: Send) -> None:
    """Send what differs, as JSON; the parts of `body` are the texts of the first, then the second.

    A part that is called `files` is JSON: the user's files by path.
    """
    first = sum(order.a.sizes.values())
    a, b = _side(order.a, body[:first]), _side(order.b, body[first:])
    data = json.dumps(compilation_diff(a, b, order.compared), separators=(",", ":")).encode()
    send({"kind": "stage", "stage": "diff", "ms": 0.0}, data)


def _side(given: DiffSide, body: bytes) -> Side:
    parts = nvdisasm.split(body, given.sizes)
    files = json.loads(parts.pop("files"))
    stages = {name: data.decode(errors="replace") for name, data in parts.items()}
    return Side(given.record, stages, files)
