"""What Triton's own functions were given when they raised: types, by the names they use.

Reads an exception's traceback; a version of Triton that names things otherwise tells nothing here.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping

import triton.language as tl

from compiler.making import wording

_LANGUAGE = "triton.language."
_MOST_NAMES = 20


def operands(error: BaseException | None) -> dict[str, str]:
    """Return the types of the tensors that the function which raised `error` was looking at.

    Of the innermost function of triton.language that knows any: `{"lhs": "fp32[16, 32]", ...}`.
    """
    if error is None:
        return {}
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        if str(frame.f_globals.get("__name__")).startswith(_LANGUAGE):
            found = _tensors(frame.f_locals)
            if found:
                return found
    return {}


def _tensors(values: Mapping[str, object]) -> dict[str, str]:
    names = [name for name, value in values.items() if isinstance(value, tl.tensor)]
    return {name: wording.cleaned(str(values[name].type)) for name in names[:_MOST_NAMES]}  # type: ignore[attr-defined]
