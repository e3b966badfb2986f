"""Derives shapes and dtypes of new tensors without torch.

It covers allocations, elementwise ops and copies; the replay derives the rest.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from programs.tape.allowed_overloads import ALLOWED
from programs.tape.overload_effects import argument_tensors, is_in_place, kind_of, name_of
from programs.tape.schema import (
    ELEMENT_BYTES,
    MAX_ARGUMENTS,
    AtenOp,
    DeviceName,
    DtypeName,
    TensorMeta,
    TensorRef,
    Value,
    tensors_of,
)

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


@dataclass(frozen=True, slots=True)
class Geometry:
    """The layout of a tensor in its storage; None for parts that are not derived."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    offset: int | None


class NotDerivable(ValueError):
    """The arguments do not fit the overload; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of an op except the first, by position or name."""

    op: AtenOp

    def integer(self, position: int, name: str, default: int | None = None) -> int:
        """Return an integer argument. Raises `NotDerivable`."""
        value = self.any(position, name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            message = f"its argument {name} is not an integer"
            raise NotDerivable(message)
        return value

    def integers(self, position: int, name: str) -> tuple[int, ...]:
        """Return a list of integers. Raises `NotDerivable`."""
        value = self.any(position, name, None)
        if not isinstance(value, tuple):
            message = f"its argument {name} is not a list of integers"
            raise NotDerivable(message)
        whole = tuple([n for n in value if isinstance(n, int) and not isinstance(n, bool)])
        if len(whole) != len(value):
            message = f"its argument {name} is not a list of integers"
            raise NotDerivable(message)
        return whole

    def any(self, position: int, name: str, default: Value) -> Value:
        """Return an argument as it is."""
        if len(self.op.args) > position:
            return self.op.args[position]
        return self.op.kwargs.get(name, default)


def _dimension(number: int, rank: int) -> int:
    dimension = number + rank if number < 0 else number
    if not 0 <= dimension < rank:
        message = f"there is no dimension {number} among {rank}"
        raise NotDerivable(message)
    return dimension


def _same(tensor: TensorMeta, _given: Arguments) -> list[Geometry]:
    return [Geometry(tensor.shape, tensor.strides, tensor.offset)]


def _permuted(tensor: TensorMeta, order: Sequence[int]) -> list[Geometry]:
    return [
        Geometry(
            tuple([tensor.shape[at] for at in order]),
            tuple([tensor.strides[at] for at in order]),
            tensor.offset,
        )
    ]


def _permute(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    rank = len(tensor.shape)
    order = [_dimension(number, rank) for number in arguments.integers(1, "dims")]
    if sorted(order) != list(range(rank)):
        message = f"its dims are not a permutation of {rank} dimensions"
        raise NotDerivable(message)
    return _permuted(tensor, order)


def _transpose(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    rank = len(tensor.shape)
    if not rank:
        return _same(tensor, arguments)
    order = list(range(rank))
    first = _dimension(arguments.integer(1, "dim0"), rank)
    second = _dimension(arguments.integer(2, "dim1"), rank)
    order[first], order[second] = order[second], order[first]
    return _permuted(tensor, order)


def _t(tensor: TensorMeta, _given: Arguments) -> list[Geometry]:
    return _permuted(tensor, tuple(reversed(range(len(tensor.shape)))))


def _unsqueeze(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    at = _dimension(arguments.integer(1, "dim"), len(tensor.shape) + 1)
    stride = tensor.shape[at] * tensor.strides[at] if at < len(tensor.shape) else 1
    return [
        Geometry(
            (*tensor.shape[:at], 1, *tensor.shape[at:]),
            (*tensor.strides[:at], stride, *tensor.strides[at:]),
            tensor.offset,
        )
    ]


def _squeeze(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    rank = len(tensor.shape)
    wanted: Sequence[int] = range(rank)
    if arguments.op.op.endswith((".dim", ".dims")) and rank:
        dims = arguments.any(1, "dim", None)
        numbers = (
            arguments.integers(1, "dim")
            if isinstance(dims, tuple)
            else [arguments.integer(1, "dim")]
        )
        wanted = [_dimension(number, rank) for number in numbers]
    gone = {at for at in wanted if tensor.shape[at] == 1}
    return _permuted(tensor, [at for at in range(rank) if at not in gone])


def _select(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    at = _dimension(arguments.integer(1, "dim"), len(tensor.shape))
    index = _dimension(arguments.integer(2, "index"), tensor.shape[at])
    rest = [other for other in range(len(tensor.shape)) if other != at]
    (view,) = _permuted(tensor, rest)
    return [Geometry(view.shape, view.strides, tensor.offset + index * tensor.strides[at])]


def _narrowed(tensor: TensorMeta, at: int, start: int, size: int, step: int = 1) -> Geometry:
    shape, strides = list(tensor.shape), list(tensor.strides)
    shape[at] = size
    strides[at] *= step
    return Geometry(tuple(shape), tuple(strides), tensor.offset + start * tensor.strides[at])


def _slice(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    at = _dimension(arguments.integer(1, "dim", 0), len(tensor.shape))
    size = tensor.shape[at]
    start, end = arguments.any(2, "start", None), arguments.any(3, "end", None)
    step = arguments.integer(4, "step", 1)
    if step < 1:
        message = f"its step is {step}"
        raise NotDerivable(message)
    first = _clamped(0 if start is None else arguments.integer(2, "start"), size)
    last = max(_clamped(size if end is None else arguments.integer(3, "end"), size), first)
    return [_narrowed(tensor, at, first, (last - first + step - 1) // step, step)]


def _clamped(index: int, size: int) -> int:
    return max(0, min(index + size if index < 0 else index, size))


def _split(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    at = _dimension(arguments.integer(2, "dim", 0), len(tensor.shape))
    size = tensor.shape[at]
    if arguments.op.op == "aten.split.Tensor":
        each = arguments.integer(1, "split_size")
        if each < 0 or size > each * MAX_ARGUMENTS:
            message = f"its split_size is {each}"
            raise NotDerivable(message)
        parts = [min(each, size - start) for start in range(0, size, each or 1)] or [0]
    else:
        parts = list(arguments.integers(1, "split_sizes"))
        if sum(parts) != size or any(part < 0 for part in parts):
            message = f"its split_sizes do not add up to {size}"
            raise NotDerivable(message)
    starts = [0, *accumulate(parts)]
    return [_narrowed(tensor, at, s, n) for s, n in zip(starts, parts, strict=False)]


def _unbind(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    at = _dimension(arguments.integer(1, "dim", 0), len(tensor.shape))
    if tensor.shape[at] > MAX_ARGUMENTS:
        message = f"it makes {tensor.shape[at]} views"
        raise NotDerivable(message)
    (view,) = _permuted(tensor, [n for n in range(len(tensor.shape)) if n != at])
    step = tensor.strides[at]
    return [
        Geometry(view.shape, view.strides, tensor.offset + index * step)
        for index in range(tensor.shape[at])
    ]


def _expand(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    sizes = arguments.integers(1, "size")
    new = len(sizes) - len(tensor.shape)
    if new < 0:
        message = "it expands to fewer dimensions"
        raise NotDerivable(message)
    shape, strides = list(sizes), [0] * len(sizes)
    for at, (size, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True), new):
        if sizes[at] == -1:
            shape[at] = size
        elif size not in (1, sizes[at]):
            message = f"it expands size {size} to {sizes[at]}"
            raise NotDerivable(message)
        strides[at] = stride if shape[at] == size else 0
    contiguous = _new_dimension_strides(shape, strides, new)
    return [Geometry(tuple(shape), contiguous, tensor.offset)]


def _new_dimension_strides(shape: list[int], strides: list[int], new: int) -> tuple[int, ...]:
    """Return the strides with a contiguous one for each new dimension of size 1."""
    for at in reversed(range(new)):
        if shape[at] == 1:
            strides[at] = shape[at + 1] * strides[at + 1] if at + 1 < len(shape) else 1
    return tuple(strides)


def _as_strided(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    offset = arguments.any(3, "storage_offset", None)
    return [
        Geometry(
            arguments.integers(1, "size"),
            arguments.integers(2, "stride"),
            tensor.offset if offset is None else arguments.integer(3, "storage_offset"),
        )
    ]


def _view(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    sizes = arguments.integers(1, "size")
    known = math.prod(size for size in sizes if size != -1)
    elements = math.prod(tensor.shape)
    if sizes.count(-1) == 1 and known:
        sizes = tuple([elements // known if size == -1 else size for size in sizes])
    if any(size < 0 for size in sizes) or math.prod(sizes) != elements:
        message = f"{elements} elements do not have the shape {list(sizes)}"
        raise NotDerivable(message)
    return [Geometry(sizes, None, tensor.offset)]


def _unfold(tensor: TensorMeta, arguments: Arguments) -> list[Geometry]:
    at = _dimension(arguments.integer(1, "dimension"), len(tensor.shape) or 1)
    extent = tensor.shape[at] if tensor.shape else 1
    size, step = arguments.integer(2, "size"), arguments.integer(3, "step")
    if not 0 <= size <= extent or step < 1:
        message = f"its size is {size} of {extent}, its step {step}"
        raise NotDerivable(message)
    if not tensor.shape:
        return [Geometry((size,), (1,), tensor.offset)]
    view = _narrowed(tensor, at, 0, (tensor.shape[at] - size) // step + 1, step)
    return [Geometry((*view.shape, size), (*(view.strides or ()), tensor.strides[at]), view.offset)]


VIEWS: Mapping[str, Callable[[TensorMeta, Arguments], list[Geometry]]] = {
    "alias": _same, "detach": _same, "detach_": _same,
    "transpose": _transpose, "transpose_": _transpose, "t": _t, "t_": _t, "permute": _permute,
    "unsqueeze": _unsqueeze, "unsqueeze_": _unsqueeze, "squeeze": _squeeze, "squeeze_": _squeeze,
    "select": _select, "slice": _slice, "split": _split, "split_with_sizes": _split,
    "unbind": _unbind, "expand": _expand, "as_strided": _as_strided, "as_strided_": _as_strided,
    "view": _view, "_unsafe_view": _view, "unfold": _unfold,
}  # fmt: skip
"""Views by the op's name. The replay derives all other views with torch."""


def broadcast(shapes: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """Return the broadcast shape. Raises `NotDerivable`."""
    sizes: list[int] = []
    for shape in shapes:
        sizes = [1] * (len(shape) - len(sizes)) + sizes
        for at, size in enumerate(shape, len(sizes) - len(shape)):
            if sizes[at] == 1:
                sizes[at] = size
            elif size not in (1, sizes[at]):
                message = f"sizes {sizes[at]} and {size} do not broadcast"
                raise NotDerivable(message)
    return tuple(sizes)


def derived_shape(op: AtenOp, tensors: Sequence[TensorMeta]) -> tuple[int, ...] | None:
    """Return the shape of the op's first output, None if only torch can derive it.

    Raises `NotDerivable` for arguments that the op would refuse.
    """
    name, arguments = name_of(op), Arguments(op)
    if name in _SIZE_FIRST:
        return arguments.integers(0, "size")
    if name in _SIZE_SECOND:
        return arguments.integers(1, "size")
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
    metas = [tensors[id_] for id_ in argument_tensors(op)]
    if not metas:
        return frozenset({"cpu"})
    if kind_of(op) in ("view", "metadata") or is_in_place(op):
        return frozenset({metas[0].device})
    return frozenset(tensor.device for tensor in metas)


def _first(op: AtenOp, tensors: Sequence[TensorMeta]) -> TensorMeta | None:
    if op.args and isinstance(op.args[0], TensorRef):
        return tensors[op.args[0].id]
    ids = tensors_of(op.kwargs.get("self"))
    return tensors[ids[0]] if ids else None
