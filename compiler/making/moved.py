"""Where names of triton.language that old kernels use have gone.

What every release from 3.6 on lacks is looked for in libdevice; what some still have is told by
those, so that a request may name one of them.
"""

from __future__ import annotations

from triton.language.extra import libdevice

DESCRIPTORS = (
    "make a tensor descriptor (tl.make_tensor_descriptor) and use its .load(offsets) and "
    ".store(offsets, value)"
)
BLOCK_POINTERS = (
    "Block pointers were removed in Triton 3.9; the kernel compiles on 3.6 to 3.8 "
    '("triton" in the request names one, where it is offered). On 3.9, '
    f"{DESCRIPTORS}, or use plain pointers with masks."
)
_OF_BLOCK_POINTERS = frozenset({"advance", "make_block_ptr", "boundary_check", "padding_option"})
_NEWER = {
    "aggregate_replace": "3.8", "atomic_load": "3.9", "atomic_poll": "3.9", "atomic_store": "3.9",
    "expect_zero": "3.8", "squeeze": "3.7", "to_tensor": "3.7", "unsqueeze": "3.7",
}  # fmt: skip
_IMPORT_LIBDEVICE = "`from triton.language.extra import libdevice`"


def advice(name: str) -> str | None:
    """Return where `name` of triton.language is to be had, `None` for a name that never was."""
    if name in _OF_BLOCK_POINTERS:
        return BLOCK_POINTERS
    if "experimental_descriptor" in name or "experimental_make_tensor_descriptor" in name:
        return f"This was replaced before Triton 3.6: {DESCRIPTORS}."
    if name == "libdevice":
        return f"libdevice moved: {_IMPORT_LIBDEVICE}, and call libdevice.<function>."
    if name in _NEWER:
        return f"tl.{name} is there from Triton {_NEWER[name]} on."
    if callable(getattr(libdevice, name, None)):
        return f"It is in libdevice: {_IMPORT_LIBDEVICE}, and call libdevice.{name}."
    return None
