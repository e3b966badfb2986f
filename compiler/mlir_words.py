"""What MLIR and LLVM complain of, in the words of whoever wrote the kernel, and what to do.

Pure text; a message that nothing better is known for stays as it is.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_RETURNS = "failed to legalize operation 'tt.return'"
_MASK = re.compile(
    r"'tt\.(?P<operation>\w{1,30})' op operand #\d+ must be 1-bit signless integer .*"
    r"but got '(?:tensor<(?P<shape>[\dx]{0,40}x)?)?(?P<element>\w{1,10})"
)
_ELEMENTS = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "bf16": "bf16"}
_HINTS = (
    (
        "input constraints does not match|with one output cannot return|without outputs must",
        "Each register of tl.inline_asm_elementwise has one constraint: outputs with = first, then "
        "one input for each argument. A register has 32 bits, so that pack=2 of fp32 needs two.",
    ),
    (
        r"invalid operand in inline asm",
        "The text names an operand ($0, $1, ...) that `constraints` does not have: outputs are "
        "counted first, then inputs.",
    ),
    (
        r"couldn't allocate (input|output) reg|invalid operand for inline asm|unknown constraint|"
        r"Copying to an illegal type|constraint",
        "A constraint of tl.inline_asm_elementwise does not fit its operand: "
        '"=r,r" is 32-bit integer or fp32 bits, "l" 64 bits, "h" 16 bits, "f" fp32, "d" fp64 '
        '(on AMD "=v,v").',
    ),
    (
        r"Cannot select",
        "LLVM has no instruction for this on the target: try another target, another dtype, "
        "or another Triton version.",
    ),
    (
        r"out of resource|shared memory|exceeds",
        "Use smaller blocks, fewer num_stages or fewer warps.",
    ),
    (
        r"value type matches ptr type",
        "The value is not of the pointer's type: convert it with .to(...). An accumulator that is "
        "given to tl.dot must have the dtype of the product, usually tl.float32.",
    ),
    (
        r"ptr type matches (?:cmp|val) type",
        "Give the values the type that the pointer points at, such as tl.full((), 0, tl.int64).",
    ),
    (
        r"cache modifier '\w+' is not supported for stores",
        'tl.store takes ".wb", ".cg", ".cs" and ".wt".',
    ),
    (
        r"cache modifier '\w+' is not supported for loads",
        'tl.load takes ".ca", ".cg", ".cs" and ".cv".',
    ),
)


class Told(NamedTuple):
    """A complaint, and what to do about it."""

    message: str
    hint: str | None


def told(message: str) -> Told:
    """Return a complaint of MLIR or LLVM in words, with advice if there is some."""
    if message.startswith(_RETURNS):
        return Told(
            "the kernel returns a value",
            "A kernel returns nothing: write the value to memory with tl.store. A helper is "
            "compiled with the kernel that calls it: name that one in `kernel`.",
        )
    if (match := _MASK.match(message)) is not None:
        element = _ELEMENTS.get(match["element"], match["element"].replace("i", "int"))
        shape = (match["shape"] or "").rstrip("x").replace("x", ", ")
        return Told(
            f"the mask of tl.{match['operation']} is of type {element}"
            f"{f'[{shape}]' if shape else ''}, not a condition",
            "Compare: mask=m != 0, or mask=offsets < n.",
        )
    hint = next((text for pattern, text in _HINTS if re.search(pattern, message)), None)
    return Told(message, hint)
