"""What an error that a program or torch raised says of why the program cannot be recorded."""

from __future__ import annotations

from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from programs.recorder.not_recordable import NotRecordable
from programs.recorder.user_lines import UserLines

_VALUES_ASKED = ("aten.equal", "aten.is_nonzero", "aten.allclose", "aten._local_scalar_dense")

_UNREAD = ("UnreadValue", "numpy.object_")
"""What torch's errors about values that were not read mention."""


def reason_of(error: BaseException) -> str | None:
    """Return the reason that one of torch's own errors of fake tensors is, None for any other."""
    if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
        return "value_dependent"
    if isinstance(error, UnsupportedOperatorException):
        asks = any(name in str(error) for name in _VALUES_ASKED)
        return "value_dependent" if asks else "unsupported_op"
    return None


def told_of(error: BaseException) -> str:
    """Return what such an error means to the program's author."""
    op = str(getattr(error, "func", ""))
    if isinstance(error, DynamicOutputShapeException):
        return f"the shape of what {op} returns depends on the values of a tensor"
    if reason_of(error) == "value_dependent":
        return f"it needs the value of a tensor that is computed from data ({op})"
    return f"{op} does not say what it returns without being run"


def refusal_of(error: BaseException, lines: UserLines) -> NotRecordable:
    """Return why a program that raised `error` cannot be recorded, and where."""
    place = lines.of(error)
    step: BaseException | None = error
    while step is not None:
        if isinstance(step, NotRecordable):
            step.place = step.place or place
            return step
        reason = reason_of(step)
        if reason is not None:
            return NotRecordable(reason, told_of(step), place)
        step = step.__cause__ or step.__context__
    if isinstance(error, (TypeError, ValueError)) and any(word in str(error) for word in _UNREAD):
        return NotRecordable("value_dependent", f"it needs the value of a tensor: {error}", place)
    reason = "missing_package" if isinstance(error, ModuleNotFoundError) else "program_error"
    return NotRecordable(reason, f"{type(error).__name__}: {error}", place)
