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


_INSTEAD = {
    "aten._nested_tensor_from_mask_left_aligned.default": "an encoder makes nested tensors of "
    "padded sequences; build it with enable_nested_tensor=False",
    "aten._pack_padded_sequence.default": "run the module on the padded sequences, and mask what "
    "it returns",
    "aten._use_cudnn_ctc_loss.default": "write the sum over paths with torch.logaddexp",
    "aten._use_cudnn_ctc_loss.Tensor": "write the sum over paths with torch.logaddexp",
    "aten._unique2.default": "use torch.sort, and compare neighbours",
    "aten.bincount.default": "use torch.zeros(bins).scatter_add_(0, x, ones)",
    "aten.linalg_ldl_solve.default": "use torch.linalg.solve",
    "aten.linalg_lstsq.default": "use torch.linalg.pinv(a) @ b, or torch.linalg.qr and "
    "solve_triangular",
    "aten.linalg_lu_solve.default": "use torch.linalg.solve",
    "aten.lu_unpack.default": "use torch.linalg.lu",
    "aten.masked_select.default": "use torch.where(mask, x, 0)",
    "aten.mvlgamma.default": "add torch.lgamma(x - i / 2) for each i below p",
    "aten.nonzero.default": "use torch.where(mask, x, 0), which keeps the shape",
    "aten._embedding_bag.default": "use torch.nn.functional.embedding and its sum or mean",
    "aten._embedding_bag_forward_only.default": "use torch.nn.functional.embedding and its sum or "
    "mean",
}
"""What to write in the place of ops that cannot be recorded, or not safely replayed."""


def instead_of(op: str) -> str:
    """Return what a refusal of an op adds: what to write instead, where that is known."""
    return f": {_INSTEAD[op]}" if op in _INSTEAD else ""


def reason_of(error: BaseException) -> str | None:
    """Return the reason that one of torch's own errors of fake tensors is, None for any other."""
    if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
        return "value_dependent"
    if isinstance(error, UnsupportedOperatorException):
        asks = any(name in str(error) for name in _VALUES_ASKED)
        return "value_dependent" if asks else "unsupported_op"
    return None


def message_of(error: BaseException) -> str:
    """Return what such an error means to the program's author."""
    op = str(getattr(error, "func", ""))
    if isinstance(error, DynamicOutputShapeException):
        return f"the shape of what {op} returns depends on the values of a tensor{instead_of(op)}"
    if reason_of(error) == "value_dependent":
        return f"it needs the value of a tensor that is computed from data ({op})"
    return f"{op} does not say what it returns without being run{instead_of(op)}"


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
            return NotRecordable(reason, message_of(step), place)
        step = step.__cause__ or step.__context__
    if isinstance(error, (TypeError, ValueError)) and any(word in str(error) for word in _UNREAD):
        return NotRecordable("value_dependent", f"it needs the value of a tensor: {error}", place)
    reason = "missing_package" if isinstance(error, ModuleNotFoundError) else "program_error"
    return NotRecordable(reason, f"{type(error).__name__}: {error}", place)
