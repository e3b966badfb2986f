"""The task that explains what makes a kernel costly. Runs nothing of the user's: texts are data."""

import json

from compiler.back import nvdisasm
from compiler.diagnostic import Failure
from compiler.explain.explanation import explanation
from compiler.explain.ttgir import TtgirModule, read_ttgir
from compiler.messages.orders import ExplanationOrder
from compiler.messages.wire import Send
from compiler.ttir_to_numpy.refusal import NOT_DERIVABLE, Untranslatable


def explain(order: ExplanationOrder, body: bytes, send: Send) -> None:
    """Send what makes a kernel costly, as JSON. Raises `Failure`."""
    contents = nvdisasm.split(body, order.sizes)
    texts = {stage: text.decode(errors="replace") for stage, text in contents.items()}
    ttgir = _ttgir(texts.pop("ttgir"), order.target) if "ttgir" in texts else None
    document = explanation(texts, ttgir, order.target, order.num_warps)
    data = json.dumps(document, separators=(",", ":")).encode()
    send({"kind": "stage", "stage": "explanation", "ms": 0.0}, data)


def _ttgir(text: str, target: str) -> TtgirModule:
    try:
        return read_ttgir(text, target)
    except Untranslatable as refusal:
        message = f"the kernel cannot be explained: {refusal}"
        raise Failure(NOT_DERIVABLE, "explanation", message) from refusal
    except RecursionError as error:
        message = "the kernel cannot be explained: its structure is nested too deeply"
        raise Failure(NOT_DERIVABLE, "explanation", message) from error
