"""Translates a kernel's IR to its run form: the NumPy code that a launch runs."""

import re
from dataclasses import dataclass
from functools import lru_cache

from compiler.back import ir_module, locations
from compiler.diagnostic import KERNEL_FOLDER, USER_FILE, Failure, Span, diagnostic
from compiler.messages.orders import IrBounds
from compiler.target import Target
from compiler.ttir_to_numpy.batched_codegen import RunForm, run_form
from compiler.ttir_to_numpy.generic_form import loop_names, module_of
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.module_text import TranslatedKernel
from compiler.ttir_to_numpy.refusal import Untranslatable
from compiler.ttir_to_numpy.task import generic_form
from launch.checks.precision_causes import causes_in
from launch.messages import Cause, RunOrder

_REMEMBERED = 4
"""Run forms to cache, because the cases of a launch alternate between a few specializations."""
_PLACE = re.compile(r"(.+), line (\d+)")


def translated(order: RunOrder, text: str, watched: frozenset[int] = frozenset()) -> RunForm:
    """Return the run form of the IR `text`; caches the last ones for further cases.

    `watched` are the operations whose integers it shows, by number.

    Raises `Failure`: `needs_gpu` with the line that NumPy cannot run, or `out_of_resources`.
    """
    return _translated(order, text, watched).form


def translated_module(order: RunOrder, text: str) -> Operation:
    """Return the module of the IR `text` as its run form has it: with fused products.

    Raises as `translated` does, which shares its work.
    """
    return _translated(order, text, frozenset()).module


def causes_of(order: RunOrder, text: str) -> list[Cause]:
    """Return what may make the kernel of the IR `text` imprecise; raises as `translated` does."""
    return list(_translated(order, text, frozenset()).causes)


@dataclass(frozen=True)
class _Translated:
    form: RunForm
    module: Operation
    causes: tuple[Cause, ...]


def _translated(order: RunOrder, text: str, watched: frozenset[int]) -> _Translated:
    stepping = order.trace is not None and order.trace.values
    files, parameters = tuple(order.files), tuple(order.parameters)
    what = _Translation(
        text, order.stage, order.target, files, parameters, stepping, order.fp_fusion, watched
    )
    return _form_and_module(what, order.ir_bounds)


@dataclass(frozen=True)
class _Translation:
    """All inputs that determine a run form."""

    text: str
    stage: str
    target: Target
    files: tuple[str, ...]
    parameters: tuple[str, ...]
    stepping: bool
    fp_fusion: bool
    watched: frozenset[int]


@lru_cache(maxsize=_REMEMBERED)
def _form_and_module(what: _Translation, bounds: IrBounds) -> _Translated:
    ir_module.check_size(what.text, what.stage, bounds)
    try:
        generic, symbol = generic_form(what.text, what.target, what.stage)
        # posted IR without locations is its own source
        own_file = what.files[0] if what.files else USER_FILE
        generic = locations.with_path(generic, KERNEL_FOLDER + own_file)
        is_cuda = what.target.backend == "cuda"
        kernel = TranslatedKernel(symbol, what.stage, what.parameters, is_cuda, what.fp_fusion)
        files = dict.fromkeys(what.files, "")
        module = module_of(generic, loop_names(what.text))
        causes = tuple(causes_in(module))  # a run form has other operations: fused products
        form = run_form(module, kernel, files, stepping=what.stepping, watched=what.watched)
    except Untranslatable as refusal:
        raise needs_gpu(refusal) from None
    except RecursionError:
        raise needs_gpu(Untranslatable("a kernel that is nested so deeply")) from None
    return _Translated(form, module, causes)


def needs_gpu(refusal: Untranslatable) -> Failure:
    """Return the failure of a kernel with an operation that only a GPU can run, at its line."""
    message = (
        f"{refusal.what}, which cannot run on the CPU device: it needs a GPU. Launch it on a "
        "device with a GPU"
    )
    match = _PLACE.fullmatch(refusal.location)
    span = Span(match[1], int(match[2])) if match else None
    return Failure("needs_gpu", "ttir", message, [diagnostic("error", "ttir", message, span=span)])
