"""Tensors without elements: shape, strides, dtype and alignment, which the JIT specializes on.

Their results follow torch's rules for shapes and dtypes as far as they are written here. What
would need an element raises `StandInUsed`. Runs with user code.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from compiler.front.environment import StandInUsed
from compiler.front.stubs.torch_stub import Dtype, named

if TYPE_CHECKING:
    from typing import Self  # not in Python 3.10, which Triton still supports

DTYPES = named()
_ADDRESS = 1 << 32
"""Of every storage: torch aligns them to 512 bytes."""
_MAX_ROWS = 1_000
"""Rows that iterating over a tensor yields."""


@dataclass(frozen=True)
class TorchDevice:
    """A `torch.device`; equal to its text, as Triton's driver names a device by a text."""

    type: str
    index: int | None = None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        kind = str(other).partition(":")[0]
        return kind == self.type

    def __hash__(self) -> int:
        return hash(self.type)


def device_of(value: Any, otherwise: TorchDevice = TorchDevice("cpu")) -> TorchDevice:
    """Return the device that an argument names; a number is one of a GPU."""
    if isinstance(value, TorchDevice):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return TorchDevice("cuda", value)
    if isinstance(value, str):
        kind, _, index = value.partition(":")
        return TorchDevice(kind, int(index) if index.isdecimal() else None)
    return otherwise


STRIDED = "torch.strided"


class Size(tuple[int, ...]):
    """A `torch.Size`."""

    __slots__ = ()

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self)


@dataclass(frozen=True)
class Storage:
    """The memory of a tensor."""

    nbytes: int

    def size(self) -> int:
        """Return the size in bytes."""
        return self.nbytes

    def data_ptr(self) -> int:
        """Return its address."""
        return _ADDRESS


class Tensor:
    """A tensor of `shape`; `strides` and `offset` count elements.

    `is_guess`: an operation made it whose result is not known here.
    """

    __module__ = "torch"

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Dtype,
        device: TorchDevice,
        *,
        strides: Sequence[int] | None = None,
        offset: int = 0,
        is_guess: bool = False,
    ) -> None:
        self.shape = Size(map(_extent, shape))
        self.dtype = dtype
        self.device = device
        self.strides = contiguous(self.shape) if strides is None else tuple(strides)
        self.offset = offset
        self.is_guess = is_guess
        self.requires_grad = False
        self.derived_by: Callable[[Tensor], object] | None = None
        """Calls the `backward` of the function that returned it, or what it was made of."""

    # what the JIT and host code read

    @property
    def grad(self) -> Tensor | None:
        """Its gradient, as after `backward`."""
        return self.like() if self.requires_grad else None

    @grad.setter
    def grad(self, _: Tensor | None) -> None:
        """Set nothing."""

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.dtype.itemsize

    is_cuda = property(lambda self: self.device.type == "cuda")
    nbytes = property(lambda self: self.numel() * self.itemsize)
    data = property(lambda self: self)
    layout = STRIDED

    def data_ptr(self) -> int:
        """Return an address as aligned as the real one."""
        return _ADDRESS + self.offset * self.itemsize if self.numel() else 0

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or one extent."""
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides in elements, or one."""
        return self.strides if dim is None else self.strides[dim]

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    nelement = numel

    def dim(self) -> int:
        """Return the number of axes."""
        return len(self.shape)

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self.itemsize

    def storage_offset(self) -> int:
        """Return the offset in elements."""
        return self.offset

    def untyped_storage(self) -> Storage:
        """Return its memory."""
        return Storage(self.nbytes)

    def is_contiguous(self, **_: Any) -> bool:
        """Return whether elements follow each other in the order of the axes."""
        wanted = contiguous(self.shape)
        pairs = zip(self.shape, self.strides, wanted, strict=True)
        return 0 in self.shape or all(extent == 1 or have == want for extent, have, want in pairs)

    def is_floating_point(self) -> bool:
        """Return whether its dtype is one of floating point."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return whether its dtype is complex."""
        return self.dtype.is_complex

    def get_device(self) -> int:
        """Return the GPU's number."""
        return self.device.index or 0

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"tensor(..., size={tuple(self.shape)}, dtype={self.dtype})"

    def __format__(self, _: str) -> str:
        return repr(self)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[row] for row in range(min(len(self), _MAX_ROWS)))

    def _unknown(self, *_: Any, **__: Any) -> NoReturn:
        raise StandInUsed("the elements of a tensor are not known: nothing is computed here")

    __bool__ = __int__ = __float__ = __index__ = __complex__ = _unknown
    item = tolist = numpy = _unknown

    # views

    def _view(self, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Tensor:
        return Tensor(
            shape, self.dtype, self.device, strides=strides, offset=self.offset + offset,
            is_guess=self.is_guess,
        ).after(self)  # fmt: skip

    def like(self, shape: Sequence[int] | None = None, dtype: Dtype | None = None) -> Tensor:
        """Return a contiguous tensor on the same device."""
        kind = dtype or self.dtype
        extents = self.shape if shape is None else shape
        return Tensor(extents, kind, self.device, is_guess=self.is_guess).after(self)

    def view(self, *shape: Any) -> Tensor:
        """Return the same elements in another shape, or as another dtype.

        Raises `RuntimeError` where their strides do not allow it.
        """
        if shape and isinstance(shape[0], Dtype):
            return self.like(dtype=shape[0])
        extents = self._extents(shape)
        strides = viewed_strides(self.shape, self.strides, extents)
        if strides is None:
            raise RuntimeError("view size is not compatible with input tensor's size and stride")
        return self._view(extents, strides)

    def reshape(self, *shape: Any) -> Tensor:
        """Return the same elements in another shape, copied where a view is not possible."""
        extents = self._extents(shape)
        strides = viewed_strides(self.shape, self.strides, extents)
        return self.like(extents) if strides is None else self._view(extents, strides)

    def _extents(self, shape: tuple[Any, ...]) -> list[int]:
        extents = list(flat(shape))
        if -1 in extents:
            known = math.prod(extent for extent in extents if extent != -1)
            extents[extents.index(-1)] = self.numel() // max(known, 1)
        if math.prod(extents) != self.numel():
            raise RuntimeError(f"shape {extents} is invalid for input of size {self.numel()}")
        return extents

    def view_as(self, other: Tensor) -> Tensor:
        """Return it in the shape of another."""
        return self.view(other.shape)

    reshape_as = view_as

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """Return it with the axes from `start_dim` to `end_dim` as one."""
        first, last = self._axis(start_dim), self._axis(end_dim)
        inner = math.prod(self.shape[first : last + 1])
        return self.reshape(*self.shape[:first], inner, *self.shape[last + 1 :])

    ravel = flatten

    def unflatten(self, dim: int, sizes: Sequence[int]) -> Tensor:
        """Return it with one axis as several."""
        at = self._axis(dim)
        return self.view(*self.shape[:at], *sizes, *self.shape[at + 1 :])

    def permute(self, *axes: Any) -> Tensor:
        """Return it with its axes in another order."""
        order = [self._axis(axis) for axis in flat(axes)]
        return self._view([self.shape[a] for a in order], [self.strides[a] for a in order])

    def transpose(self, dim0: int, dim1: int) -> Tensor:
        """Return it with two axes exchanged."""
        order = list(range(self.ndim))
        first, other = self._axis(dim0), self._axis(dim1)
        if not self.shape:
            return self
        order[first], order[other] = order[other], order[first]
        return self.permute(*order)

    swapaxes = transpose

    def t(self) -> Tensor:
        """Return the transpose of a matrix."""
        return self.permute(*reversed(range(self.ndim)))

    T = property(t)
    mT = property(lambda self: self.transpose(-2, -1))  # noqa: N815 - torch's name

    def unsqueeze(self, dim: int) -> Tensor:
        """Return it with a new axis of one element."""
        at = dim + self.ndim + 1 if dim < 0 else dim
        inner = self.strides[at] * self.shape[at] if at < self.ndim else 1
        shape = [*self.shape[:at], 1, *self.shape[at:]]
        return self._view(shape, [*self.strides[:at], inner, *self.strides[at:]])

    def squeeze(self, dim: int | None = None) -> Tensor:
        """Return it without its axes, or one axis, of one element."""
        at = None if dim is None else self._axis(dim)
        kept = [n for n, e in enumerate(self.shape) if e != 1 or at not in (None, n)]
        return self._view([self.shape[n] for n in kept], [self.strides[n] for n in kept])

    def expand(self, *shape: Any) -> Tensor:
        """Return it with axes of one element repeated."""
        wanted = list(flat(shape))
        lead = len(wanted) - self.ndim
        old = [1] * lead + list(self.shape)
        steps = [0] * lead + list(self.strides)
        extents = [have if want == -1 else want for want, have in zip(wanted, old, strict=True)]
        triples = zip(extents, old, steps, strict=True)
        return self._view(extents, [step if new == had else 0 for new, had, step in triples])

    def expand_as(self, other: Tensor) -> Tensor:
        """Return this tensor expanded to the shape of another."""
        return self.expand(*other.shape)

    def __getitem__(self, index: Any) -> Tensor:
        parts = index if isinstance(index, tuple) else (index,)
        if any(isinstance(part, (Tensor, list)) for part in parts):
            tensor = self.like(dtype=self.dtype)
            tensor.is_guess = True
            return tensor
        return self._indexed(parts)

    def _indexed(self, parts: tuple[Any, ...]) -> Tensor:
        named_axes = sum(part is not None and part is not Ellipsis for part in parts)
        rest = [slice(None)] * (self.ndim - named_axes)
        if Ellipsis in parts:
            at = parts.index(Ellipsis)
            parts = (*parts[:at], *rest, *parts[at + 1 :])
        else:
            parts = (*parts, *rest)
        shape, strides, offset, axis = [], [], 0, 0
        for part in parts:
            if part is None:
                shape.append(1)
                strides.append(1)
                continue
            extent, step = self.shape[axis], self.strides[axis]
            axis += 1
            if isinstance(part, slice):
                first, last, by = part.indices(extent)
                shape.append(len(range(first, last, by)))
                strides.append(step * by)
                offset += first * step
            else:
                number = int(part)
                if not -extent <= number < extent:
                    raise IndexError(f"index {number} is out of bounds for size {extent}")
                offset += (number + extent if number < 0 else number) * step
        return self._view(shape, strides, offset)

    def __setitem__(self, index: Any, value: Any) -> None:
        del index, value

    def narrow(self, dim: int, start: int, length: int) -> Tensor:
        """Return a part along an axis."""
        at = self._axis(dim)
        return self[(slice(None),) * at + (slice(start, start + length),)]

    def split(self, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
        """Return parts along an axis, of `split_size` elements each, or of these sizes."""
        extent, sizes = self.shape[dim], split_size
        if isinstance(sizes, int):
            sizes = [min(sizes, extent - start) for start in range(0, extent, sizes)]
        starts = itertools.accumulate(sizes, initial=0)
        return tuple(
            self.narrow(dim, start, part) for start, part in zip(starts, sizes, strict=False)
        )

    def chunk(self, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
        """Return about equal parts along an axis."""
        return self.split(-(-self.shape[dim] // chunks), dim)

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """Return the parts of one element along an axis."""
        at = self._axis(dim)
        return tuple(
            self[(slice(None),) * at + (n,)] for n in range(min(self.shape[at], _MAX_ROWS))
        )

    def _axis(self, axis: int) -> int:
        count = max(self.ndim, 1)  # a single element has an axis, too
        if not -count <= axis < count:
            raise IndexError(f"dimension {axis} is out of range for {self.ndim} axes")
        return axis + count if axis < 0 else axis

    # copies

    def contiguous(self, **_: Any) -> Tensor:
        """Return it, or a contiguous copy."""
        return self if self.is_contiguous() else self.like()

    def clone(self, **_: Any) -> Tensor:
        """Return a copy without gaps, its axes in the same order in memory."""
        strides = dense(self.shape, self.strides)
        tensor = Tensor(
            self.shape, self.dtype, self.device, strides=strides, is_guess=self.is_guess
        )
        return tensor.after(self)

    def to(self, *arguments: Any, **keywords: Any) -> Tensor:
        """Return it in another dtype or on another device."""
        dtype, device = keywords.get("dtype"), keywords.get("device")
        for argument in arguments:
            if isinstance(argument, Tensor):
                dtype, device = argument.dtype, argument.device
            elif isinstance(argument, Dtype):
                dtype = argument
            elif not isinstance(argument, bool):
                device = argument
        tensor = (
            self.clone()
            if dtype not in (None, self.dtype)
            else self._view(self.shape, self.strides)
        )
        tensor.dtype = dtype or self.dtype
        tensor.device = device_of(device, self.device)
        return tensor

    def type(self, dtype: Any = None) -> Any:
        """Return it in another dtype; without one, the name of its type."""
        return f"torch.{self.dtype}" if dtype is None else self.to(dtype)

    def type_as(self, other: Tensor) -> Tensor:
        """Return it in the dtype of another."""
        return self.to(other.dtype)

    def cuda(self, *_: Any, **__: Any) -> Tensor:
        """Return it on the GPU."""
        return self.to(TorchDevice("cuda", 0))

    def cpu(self) -> Tensor:
        """Return it on the CPU."""
        return self.to(TorchDevice("cpu"))

    def itself(self, *_: Any, **__: Any) -> Self:
        """Return this tensor: what changes only its elements, or its gradient."""
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether it has a gradient."""
        self.requires_grad = requires_grad
        return self

    def backward(self, gradient: Tensor | None = None, **_: Any) -> None:
        """Call the `backward` of the function that this was derived by."""
        if self.derived_by is not None:
            self.derived_by(self.like() if gradient is None else gradient)

    def after(self, tensor: Tensor) -> Self:
        """Return it, as made of a tensor."""
        self.derived_by = tensor.derived_by
        return self

    # arithmetic

    def _binary(self, other: Any) -> Tensor:
        return broadcast(self, other)

    def _compared(self, other: Any) -> Any:
        if other is None:
            return NotImplemented
        return broadcast(self, other, dtype=DTYPES["bool"])

    def _divided(self, other: Any) -> Tensor:
        quotient = broadcast(self, other)
        return quotient if quotient.dtype.is_floating_point else quotient.to(DTYPES["float32"])

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = _binary
    __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __and__ = __or__ = __xor__ = _binary
    __rand__ = __ror__ = __rxor__ = __lshift__ = __rshift__ = _binary
    __truediv__ = __rtruediv__ = _divided
    __lt__ = __le__ = __gt__ = __ge__ = _compared
    __eq__ = __ne__ = _compared
    __hash__ = object.__hash__
    __iadd__ = __isub__ = __imul__ = __itruediv__ = itself

    def __neg__(self) -> Tensor:
        return broadcast(self)

    __abs__ = __invert__ = __pos__ = __neg__

    def __matmul__(self, other: Tensor) -> Tensor:
        return matmul(self, other)

    def reduced(
        self,
        dim: Any = None,
        keepdim: bool = False,
        dtype: Dtype | None = None,
    ) -> Tensor:
        """Return the shape of a reduction over `dim`, or over all."""
        if dim is None:
            return self.like([], dtype)
        axes = {self._axis(axis) for axis in flat((dim,))}
        kept = [n for n in range(self.ndim) if keepdim or n not in axes]
        shape = [1 if n in axes else self.shape[n] for n in kept]
        tensor = self.like(shape, dtype)
        tensor.strides = dense(shape, [self.strides[n] for n in kept])
        return tensor

    def __getattr__(self, name: str) -> Any:
        """Return a method of `METHODS`; an unknown one returns a guess like the tensor.

        Raises `AttributeError` for names of Python's protocols.
        """
        if name.startswith("_"):
            raise AttributeError(name)
        known = METHODS.get(name) or (Tensor.itself if name.endswith("_") else guess)
        return lambda *arguments, **named: known(self, *arguments, **named)


METHODS: dict[str, Callable[..., Any]] = {}
"""Methods that are functions of torch, too."""


def guess(*arguments: Any, **_: Any) -> Tensor:
    """Return a tensor like the first one of the arguments, marked as a guess."""
    first = next(value for value in arguments if isinstance(value, Tensor))
    tensor = first.clone()
    tensor.is_guess = True
    return tensor


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor."""
    inner = [
        math.prod(max(extent, 1) for extent in shape[axis + 1 :]) for axis in range(len(shape))
    ]
    return tuple(inner)


def dense(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Return strides without gaps, with the axes in the order that `strides` have in memory."""
    order = sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))
    if any(step == 0 for step in strides):
        order = list(range(len(shape)))
    contiguous, inner = [0] * len(shape), 1
    for axis in reversed(order):
        contiguous[axis] = inner
        inner *= max(shape[axis], 1)
    return tuple(contiguous)


def viewed_strides(
    shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]
) -> list[int] | None:
    """Return the strides of a view in another shape; None where only a copy can have it."""
    if math.prod(shape) == 0:
        return list(contiguous(wanted))
    axes = [(e, s) for e, s in zip(shape, strides, strict=True) if e != 1]
    runs: list[list[int]] = []  # parts of memory in one piece: elements, and their stride
    for extent, step in axes:
        if runs and runs[-1][1] == extent * step:
            runs[-1] = [runs[-1][0] * extent, step]
        else:
            runs.append([extent, step])
    steps: list[int] = []
    left, step = (1, 1) if not runs else runs.pop()
    for extent in reversed(wanted):
        if left == 1 and extent != 1 and runs:
            left, step = runs.pop()
        if left % extent:
            return None
        steps.append(step)
        left, step = left // extent, step * extent
    return steps[::-1]


def flat(values: Sequence[Any]) -> Sequence[Any]:
    """Return `(2, 3)` for `((2, 3),)`, as torch takes shapes in both forms."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return values[0]
    return values


def _extent(extent: Any) -> int:
    if isinstance(extent, Tensor):
        extent._unknown()
    if isinstance(extent, float) or not hasattr(extent, "__index__"):
        raise TypeError(f"an extent is an integer, not {extent!r}")
    return int(extent)


_KINDS = ("bool", "integer", "float")


def promoted(first: Dtype, second: Dtype) -> Dtype:
    """Return the dtype of an operation on tensors of both."""
    if first == second:
        return first
    if _kind(first) != _kind(second):
        return max(first, second, key=_kind)
    if first.is_floating_point:
        if first.itemsize == second.itemsize:
            return DTYPES["float32"]
        return max(first, second, key=lambda dtype: dtype.itemsize)
    return max(first, second, key=lambda dtype: (dtype.itemsize, dtype.is_signed))


def _kind(dtype: Dtype) -> int:
    if dtype.name == "bool":
        return 0
    return 2 if dtype.is_floating_point else 1


def broadcast(*values: Any, dtype: Dtype | None = None) -> Tensor:
    """Return the result of an operation for each element of tensors and numbers."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    kind, device = tensors[0].dtype, tensors[0].device
    for tensor in tensors[1:]:
        # a tensor without axes counts as a number
        if tensor.shape or not tensors[0].shape or _kind(tensor.dtype) > _kind(kind):
            kind = promoted(kind, tensor.dtype)
        device = tensor.device if device.type == "cpu" else device
    if any(isinstance(value, float) for value in values) and _kind(kind) < 2:
        kind = DTYPES["float32"]
    if kind.name == "bool" and any(type(value) is int for value in values):
        kind = DTYPES["int64"]
    shape = Size(_common([tensor.shape for tensor in tensors]))
    same = next((t for t in tensors if t.shape == shape), None)
    strides = None if same is None else dense(shape, same.strides)
    first = tensors[0] if same is None else same
    is_guess = any(tensor.is_guess for tensor in tensors)
    derived = next((tensor for tensor in tensors if tensor.derived_by is not None), first)
    return Tensor(shape, dtype or kind, device, strides=strides, is_guess=is_guess).after(derived)


def _common(shapes: Sequence[Sequence[int]]) -> list[int]:
    count = max(map(len, shapes))
    extents = []
    for axis in range(-count, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(sizes) > 1:
            raise RuntimeError(f"the sizes {sorted(sizes)} of tensors do not match")
        extents.append(sizes.pop() if sizes else 1)
    return extents


def matmul(first: Tensor, second: Tensor) -> Tensor:
    """Return the product of matrices, in batches where there are more axes."""
    if first.shape[-1] != second.shape[0 if second.ndim == 1 else -2]:
        raise RuntimeError(f"shapes {first.shape} and {second.shape} cannot be multiplied")
    rows = first.shape[-2:-1] if first.ndim > 1 else ()
    columns = second.shape[-1:] if second.ndim > 1 else ()
    batch = (
        _common([first.shape[:-2], second.shape[:-2]]) if max(first.ndim, second.ndim) > 2 else []
    )
    dtype = promoted(first.dtype, second.dtype)
    return first.like([*batch, *rows, *columns], dtype)
