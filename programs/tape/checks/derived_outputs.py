"""Derives shapes and dtypes of new tensors without torch.

It covers allocations, elementwise ops and copies; the replay derives the rest.
"""

from collections.abc import Iterable, Sequence

from programs.tape.allowed_overloads import ALLOWED
from programs.tape.checks.derived_views import Arguments, NotDerivable
from programs.tape.overload_effects import argument_tensors, is_in_place, kind_of, name_of
from programs.tape.schema import AtenOp, DeviceName, DtypeName, TensorMeta, TensorRef, tensors_of
from programs.tape.tape_dtypes import ELEMENT_BYTES

_SIZE_FIRST = frozenset({"empty", "zeros", "ones", "full", "rand", "randn", "empty_strided"})
_SIZE_SECOND = frozenset({"new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"})
_LIKE = frozenset({
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like",
    "clone", "_to_copy", "detach_copy", "tril", "triu", "flip", "roll", "cumsum", "cumprod",
    "_softmax", "_log_softmax",
})  # fmt: skip
_KEEPS_DTYPE = frozenset({
    "empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like",
    "randint_like", "clone", "_to_copy", "new_empty", "new_zeros", "new_ones", "new_full",
    "new_empty_strided", "tril", "triu", "flip", "roll", "relu", "neg", "view_copy",
})  # fmt: skip
"""These keep the dtype of the first argument, unless `dtype` is given."""


def broadcast(shapes: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return the broadcast shape. Raises `NotDerivable`."""
    found: list[int] = []
    for shape in shapes:
        found = [1] * (len(shape) - len(found)) + found
        for at, size in enumerate(shape, len(found) - len(shape)):
            if found[at] == 1:
                found[at] = size
            elif size not in (1, found[at]):
                message = f"sizes {found[at]} and {size} do not broadcast"
                raise NotDerivable(message)
    return tuple(found)


def derived_shape(op: AtenOp, tensors: Sequence[TensorMeta]) -> tuple[int, ...] | None:
    """Return the shape of the op's first output, None if only torch can derive it.

    Raises `NotDerivable` for arguments that the op would refuse.
    """
    name, given = name_of(op), Arguments(op)
    if name in _SIZE_FIRST:
        return given.integers(0, "size")
    if name in _SIZE_SECOND:
        return given.integers(1, "size")
    first = _first(op, tensors)
    if name in _LIKE and first is not None:
        return first.shape
    if ALLOWED[op.op].elementwise:
        return broadcast(tensors[id_].shape for id_ in argument_tensors(op))
    if is_in_place(op) and first is not None:
        return first.shape
    return None


def derived_strides(op: AtenOp) -> tuple[int, ...] | None:
    """Return the strides of the op's output if its arguments contain them, else None."""
    if op.op == "aten.empty_strided.default":
        return Arguments(op).integers(1, "stride")
    if op.op == "aten.new_empty_strided.default":
        return Arguments(op).integers(2, "stride")
    return None


def derived_dtype(op: AtenOp, tensors: Sequence[TensorMeta]) -> str | None:
    """Return the dtype of the op's first output, None if only torch can derive it."""
    named = op.kwargs.get("dtype")
    kind, name = kind_of(op), name_of(op)
    if isinstance(named, DtypeName) and (
        kind in ("uninitialized", "constant", "random") or name in ("_to_copy", "sum", "mean")
    ):
        return named.name
    first = _first(op, tensors)
    keeps = name in _KEEPS_DTYPE or kind in ("view", "metadata") or is_in_place(op)
    if keeps and first is not None and named is None and op.op not in _OTHER_DTYPE:
        return first.dtype
    if isinstance(named, DtypeName) and named.name not in ELEMENT_BYTES:
        message = f"there are no tensors of {named.name}"
        raise NotDerivable(message)
    return None


_OTHER_DTYPE = frozenset(
    {"aten.view.dtype", "aten.view_as_real.default", "aten.view_as_complex.default"}
)


def possible_devices(op: AtenOp, tensors: Sequence[TensorMeta]) -> frozenset[str]:
    """Return the devices that the op's outputs can be on."""
    named = op.kwargs.get("device")
    if isinstance(named, DeviceName):
        return frozenset({named.name})
    given = [tensors[id_] for id_ in argument_tensors(op)]
    if not given:
        return frozenset({"cpu"})
    if kind_of(op) in ("view", "metadata") or is_in_place(op):
        return frozenset({given[0].device})
    return frozenset(tensor.device for tensor in given)


def _first(op: AtenOp, tensors: Sequence[TensorMeta]) -> TensorMeta | None:
    if op.args and isinstance(op.args[0], TensorRef):
        return tensors[op.args[0].id]
    found = tensors_of(op.kwargs.get("self"))
    return tensors[found[0]] if found else None
