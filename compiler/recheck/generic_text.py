"""Has MLIR print a module in generic form, which `reader` parses."""

from compiler.back import contexts, ir_entry, locations, triton_api
from compiler.recheck.not_modelled import NotModelled
from compiler.target import Target

_STAGE = "ttir"
_NO_VISIBILITY = "printed in generic form"
"""MLIR prints a module that is not valid in generic form."""


def generic_text(text: str, target: Target) -> str:
    """Return a module in generic form. Raises NotModelled, and `Failure` without a kernel."""
    backend = triton_api.make_backend(triton_api.target_of(target))
    context = contexts.new_context(backend)
    try:
        module = locations.parse(text, context)
    except RuntimeError as error:
        message = "a module that MLIR cannot parse"
        raise NotModelled(message) from error
    kernel = module.get_function(ir_entry.entry_of(module, _STAGE).name)
    kernel.set_attr(
        "sym_visibility", triton_api.ir.builder(context).get_string_attr(_NO_VISIBILITY)
    )
    return str(module)
