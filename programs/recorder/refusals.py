"""Finds the line of the user's program that is running, and why an error ended its recording."""

import sys
from collections.abc import Collection
from traceback import walk_tb
from types import FrameType, TracebackType
from typing import TypeGuard

from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from compiler.diagnostic import KERNEL_FOLDER
from programs.recorder.record_order import NotRecordable

UserLine = tuple[str, int]
"""The user's name of a file, and a line from 1."""
_VALUES_ASKED = ("aten.equal", "aten.is_nonzero", "aten.allclose", "aten._local_scalar_dense")

_OPAQUE = ("OpaqueValue", "numpy.object_")
"""Words in torch's errors about values that the recording does not have."""


_INSTEAD = {
    "aten._nested_tensor_from_mask_left_aligned.default": "an encoder makes nested tensors of "
    "padded sequences; construct it with enable_nested_tensor=False",
    "aten._pack_padded_sequence.default": "run the module on the padded sequences, and mask its "
    "results",
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
    "aten.mvlgamma.default": "sum torch.lgamma(x - i / 2) over i < p",
    "aten.nonzero.default": "use torch.where(mask, x, 0), which keeps the shape",
    "aten._embedding_bag.default": "use torch.nn.functional.embedding and its sum or mean",
    "aten._embedding_bag_forward_only.default": "use torch.nn.functional.embedding and its sum or "
    "mean",
}
"""Replacements of ops that cannot be recorded, or cannot be replayed safely."""


class UserLines:
    """The lines of a program's files; `paths` as in `co_filename` of their code."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)

    def innermost(self) -> UserLine | None:
        """Return the innermost line of the user that is running."""
        frame: FrameType | None = sys._getframe(1)
        paths = self._paths
        while frame is not None:
            if frame.f_code.co_filename in paths:
                return named(frame.f_code.co_filename), frame.f_lineno
            frame = frame.f_back
        return None

    def at(self, frame: FrameType) -> UserLine | None:
        """Return the line that `frame` runs, None if it is not the user's."""
        path = frame.f_code.co_filename
        return (named(path), frame.f_lineno) if path in self._paths else None

    def is_unparsed(self, error: BaseException) -> TypeGuard[SyntaxError]:
        """Return True if one of the user's files cannot be parsed."""
        return isinstance(error, SyntaxError) and error.filename in self._paths

    def of(self, error: BaseException) -> UserLine | None:
        """Return the innermost line of the user in an error's traceback."""
        if self.is_unparsed(error):
            return named(str(error.filename)), error.lineno or 1
        place = None
        step: TracebackType | None = error.__traceback__
        while step is not None:
            path = step.tb_frame.f_code.co_filename
            if path in self._paths:
                place = named(path), step.tb_lineno
            step = step.tb_next
        return place


def named(path: str) -> str:
    """Return the user's name of a file of the program."""
    return path.removeprefix(KERNEL_FOLDER)


def instead_of(op: str) -> str:
    """Return `: ` and a replacement of an op, or "" without a known one."""
    return f": {_INSTEAD[op]}" if op in _INSTEAD else ""


def reason_of(error: BaseException) -> str | None:
    """Return the reason for one of torch's errors about fake tensors; None for other errors."""
    if isinstance(error, (DataDependentOutputException, DynamicOutputShapeException)):
        return "value_dependent"
    if isinstance(error, UnsupportedOperatorException):
        asks = any(name in str(error.func) for name in _VALUES_ASKED)
        return "value_dependent" if asks else "unsupported_op"
    return None


def message_of(error: BaseException) -> str:
    """Return such an error in words for the program's author."""
    op = str(getattr(error, "func", ""))
    if isinstance(error, DynamicOutputShapeException):
        return f"the shape of the result of {op} depends on tensor values{instead_of(op)}"
    if reason_of(error) == "value_dependent":
        return f"{op} needs the value of a tensor that is computed from data"
    return f"{op} has no fake implementation{instead_of(op)}"


def refusal_of(error: BaseException, lines: UserLines) -> NotRecordable:
    """Return the reason, and the user's line, for a program that raised `error`.

    An error that torch or Python wrapped keeps the reason of its cause.
    """
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
    if isinstance(error, (TypeError, ValueError)) and any(word in str(error) for word in _OPAQUE):
        return NotRecordable("value_dependent", f"{type(error).__name__}: {error}", place)
    detail = f"{type(error).__name__}: {error}{_command_line_advice(error)}"
    return NotRecordable(_own_fault(error, lines), detail, place)


def _command_line_advice(error: BaseException) -> str:
    """Return what to do where argparse ended the program, "" for another error."""
    modules = (frame.f_globals.get("__name__") for frame, _ in walk_tb(error.__traceback__))
    if not isinstance(error, SystemExit) or "argparse" not in modules:
        return ""
    return (
        ". There is no command line here: give every argument a default, or pass a list, such as "
        "parse_args(['--n', '64'])"
    )


def _own_fault(error: BaseException, lines: UserLines) -> str:
    """Return the reason for an error of the program rather than of the recording."""
    if isinstance(error, ModuleNotFoundError):
        return "missing_module"
    return "syntax_error" if lines.is_unparsed(error) else "program_error"
