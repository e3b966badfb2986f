"""From a kernel's IR to the run form of it that a launch runs."""

from __future__ import annotations

import re

from compiler.back import ir_module, locations
from compiler.diagnostic import KERNEL_FOLDER, USER_FILE, Failure, Span, diagnostic
from compiler.numpy_module.generic_form import module_of
from compiler.numpy_module.module_text import Kernel
from compiler.numpy_module.refusal import Untranslatable
from compiler.numpy_module.run_form import RunForm, run_form
from compiler.numpy_module.task import generic_form
from launch.messages import RunOrder

_PLACE = re.compile(r"(.+), line (\d+)")


def translated(order: RunOrder, text: str) -> RunForm:
    """Return the run form of the IR `text`.

    Raises `Failure`: `needs_gpu` with the line of what NumPy cannot stand for, `out_of_resources`.
    """
    ir_module.check_size(text, order.stage, order.ir_bounds)
    try:
        generic, symbol = generic_form(text, order.target, order.stage)
        generic = locations.with_path(generic, KERNEL_FOLDER + _own_file(order))
        kernel = Kernel(symbol, order.stage, order.parameters)
        stepping = order.trace is not None and order.trace.values
        files = dict.fromkeys(order.files, "")
        return run_form(module_of(generic), kernel, files, stepping=stepping)
    except Untranslatable as refusal:
        raise needs_gpu(refusal) from None
    except RecursionError:
        raise needs_gpu(Untranslatable("its structure is nested too deeply")) from None


def needs_gpu(refusal: Untranslatable) -> Failure:
    """Return the failure of a kernel that has what only a GPU does, at the user's line."""
    message = (
        f"{refusal.what} cannot run on the CPU device: it needs a GPU. Launch it on a device with "
        "a GPU"
    )
    match = _PLACE.fullmatch(refusal.place)
    span = Span(match[1], int(match[2])) if match else None
    return Failure("needs_gpu", "ttir", message, [diagnostic("error", "ttir", message, span=span)])


def _own_file(order: RunOrder) -> str:
    """Return the file whose text IR is that says no places itself: posted IR is its own."""
    return order.files[0] if order.files else USER_FILE
