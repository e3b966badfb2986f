"""The task that translates a kernel's IR to NumPy. Runs no user Python; the IR is data."""

from compiler.back import contexts, ir_module, locations, triton_api
from compiler.back.ir_entry import entry_of
from compiler.messages.orders import NumpyOrder
from compiler.messages.wire import Send
from compiler.target import Target
from compiler.ttir_to_numpy.generic_form import loop_names, module_of
from compiler.ttir_to_numpy.ir import Operation
from compiler.ttir_to_numpy.module_text import TranslatedKernel, module_text
from compiler.ttir_to_numpy.refusal import Untranslatable

_INVALID = "told in generic form"
"""An invalid visibility: MLIR prints modules that fail to verify in generic form."""


def numpy(order: NumpyOrder, body: bytes, send: Send) -> None:
    """Send the module of the IR `body`.

    Raises `Failure` with slug `not_derivable` and the line that NumPy cannot compute.
    """
    text = body.decode()
    ir_module.check_size(text, order.stage, order.ir_bounds)
    try:
        generic, symbol = generic_form(text, order.target, order.stage)
        is_cuda = order.target.backend == "cuda"
        kernel = TranslatedKernel(symbol, order.stage, order.parameters, is_cuda, order.fp_fusion)
        module = module_of(generic, loop_names(text))
        made = module_text(module, kernel, order.files)
    except Untranslatable as refusal:
        raise refusal.failure() from None
    except RecursionError:
        message = "its structure is nested too deeply"
        raise Untranslatable(message).failure() from None
    send({"kind": "stage", "stage": "numpy", "ms": 0.0}, made.encode())


def read_ir(text: str, target: Target, stage: str) -> Operation:
    """Return the module `text`, with MLIR's names of values.

    Raises `Failure` where it has no kernel, `Untranslatable` where it cannot be read.
    """
    generic, _ = generic_form(text, target, stage)
    return module_of(generic)


def generic_form(text: str, target: Target, stage: str) -> tuple[str, str]:
    """Return the module `text` in generic form, and the name of its kernel.

    Raises `Failure` where it has no kernel, `Untranslatable` where MLIR cannot parse it.
    """
    backend = triton_api.make_backend(triton_api.target_of(target))
    context = contexts.new_context(backend)
    try:
        module = locations.parse(text, context)
    except RuntimeError as error:
        message = f"MLIR cannot parse its stage {stage}"
        raise Untranslatable(message) from error
    kernel = entry_of(module, stage).name
    builder = triton_api.ir.builder(context)
    module.get_function(kernel).set_attr("sym_visibility", builder.get_string_attr(_INVALID))
    return str(module), kernel
