"""Attributes of an IR module: its warps, its CTAs, its target.

Bounds on IR before the back end sees it: what passes here may still be slow, but not absurd.
"""

import math
import re
from typing import Any

from compiler.diagnostic import Diagnostic, Failure, diagnostic
from compiler.languages import BY_IR
from compiler.messages.orders import BackOrder, IrBounds

_SHOWN = {"source": "frontend"} | {ir: known.shown_stage for ir, known in BY_IR.items()}
_TENSOR = re.compile(r"(?:tensor|memdesc)<\s*((?:\d+\s*x\s*)+)")
_MAX_DIGITS = 18


def check_size(text: str, stage: str, bounds: IrBounds) -> None:
    """Raise `Failure` (`out_of_resources`) if IR is larger than `bounds` allow."""
    size = len(text)
    if size > bounds.size_bytes:
        raise _too_large(stage, f"{size:,} bytes of IR", f"{bounds.size_bytes:,} bytes")
    # every operation is on a separate line, and so are the locations at the end
    operations = text.count("\n") - text.count("\n#loc")
    if operations > bounds.operations:
        limit = f"{bounds.operations:,} operations"
        raise _too_large(stage, f"{operations:,} operations in its IR", limit)
    for shape in {match[1] for match in _TENSOR.finditer(text)}:
        extents = [extent.strip() for extent in shape.split("x") if extent.strip()]
        longest = max(map(len, extents))
        if longest > _MAX_DIGITS:
            what = f"a tensor with an extent of {longest:,} digits"
            raise _too_large(stage, what, f"{bounds.tensor_elements:,} elements")
        elements = math.prod(map(int, extents))
        if elements > bounds.tensor_elements:
            what = f"a tensor of {'x'.join(extents)} = {elements:,} elements"
            raise _too_large(stage, what, f"{bounds.tensor_elements:,} elements")


def _too_large(stage: str, what: str, limit: str) -> Failure:
    message = f"the kernel has {what}; the limit is {limit}. Use smaller blocks or unroll less."
    shown = _SHOWN.get(stage, stage)
    return Failure("out_of_resources", shown, message, [diagnostic("error", shown, message)])


_OF_OPTIONS = {"num_warps": "ttg.num-warps", "num_ctas": "ttg.num-ctas"}
_THREADS_PER_WARP = "ttg.threads-per-warp"
_TARGET = re.compile(r'ttg\.target"? = "([^"]*)"')


def options_of(module: Any, language: str) -> dict[str, int]:
    """Return the options that the module carries, which win over the request's."""
    return _attributes(module) if BY_IR[language].carries_options else {}


def check_lowerable(module: Any, target: Any, language: str) -> None:
    """Raise `Failure` (`compile_error`) for a module that cannot be lowered as it is."""
    threads = module.get_int_attr(_THREADS_PER_WARP)
    if BY_IR[language].carries_options and "num_warps" not in _attributes(module):
        message = (
            f"the module does not set {_OF_OPTIONS['num_warps']}, as every TTGIR module does: "
            'if it is TTIR, post it with "language": "ttir"'
        )
    elif threads is not None and threads != target.warp_size:
        message = (
            f"the module is made for warps of {threads} threads; "
            f"{target.backend}:{target.arch} has warps of {target.warp_size}"
        )
    else:
        return
    raise Failure("compile_error", language, message, [diagnostic("error", language, message)])


def contradictions(module: Any, order: BackOrder) -> list[Diagnostic]:
    """Return the module's attributes that contradict `order`."""
    language, options = order.language, order.options
    has_options = BY_IR[language].carries_options
    wins = "the module's applies" if has_options else "the option applies, as TTIR has none yet"
    messages = [
        diagnostic(
            "note",
            language,
            f"the module sets {_OF_OPTIONS[name]} = {value}, the options {name} = {options[name]}: "
            f"{wins}",
        )
        for name, value in _attributes(module).items()
        if options.get(name, value) != value
    ]
    # aliases of layouts come before the module's own line
    lines = module.str_nodebug().splitlines()
    own_line = next((line for line in lines if line.startswith(("module", '"builtin.module"'))), "")
    made_for = _TARGET.search(own_line)
    asked_for = str(order.target)
    if has_options and made_for is not None and made_for[1] != asked_for:
        message = (
            f"the module was made for {made_for[1]} and is compiled for {asked_for}, which may "
            "lack its instructions: TTIR can be compiled for any target, TTGIR for its own"
        )
        messages.append(diagnostic("warning", language, message))
    return messages


def _attributes(module: Any) -> dict[str, int]:
    values = {name: module.get_int_attr(attribute) for name, attribute in _OF_OPTIONS.items()}
    return {name: value for name, value in values.items() if value is not None}
