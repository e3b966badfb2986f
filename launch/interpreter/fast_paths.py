"""Makes the interpreter quicker where it does the same again for every operation.

Most of its time goes into types: it builds the shape of every block anew, twice, and a table of all
dtypes for every look-up. Here a block type exists once, with what follows from it. It changes no
value and no check: whatever was not seen before goes through Triton's own code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter as triton_interpreter

MOST_KEPT = 4096
"""Types kept before all are forgotten: a kernel that makes new pointer types has ever more."""
MOST_CONSTANTS = 512
LARGEST_CONSTANT = 4096
"""Elements of a number spread to a block that are kept for when the kernel uses it again."""


def intern_types() -> None:
    """Change Triton's classes of types and tensors. To be called once in a process."""
    _intern_blocks()
    _share_shapes()
    _compare_by_identity_first()
    triton_interpreter._get_np_dtype = _by_scalar_name(triton_interpreter._get_np_dtype)
    triton_interpreter._patch_attr = _patch_attr


def cache_broadcasts(semantic: Any) -> None:
    """Have `semantic` find the common shape of two blocks once for each pair of shapes."""
    first = type(semantic).broadcast_impl_value
    common: dict[tuple[int, int], Any] = {}

    def spread(value: Any, shape: Any) -> Any:
        if value.type.shape is shape:
            return value
        handle = semantic.builder.create_broadcast(value.handle, list(shape))
        return tl.tensor(handle, tl.block_type(value.dtype, shape))

    def splat(scalar: Any, block: Any) -> Any:
        kind = block.type.with_element_ty(scalar.dtype)
        return tl.tensor(semantic.builder.create_splat(kind, scalar.handle), kind)

    def broadcast_impl_value(lhs: Any, rhs: Any) -> Any:
        left, right = lhs.type, rhs.type
        if not right.is_block():
            return (lhs, splat(rhs, lhs)) if left.is_block() else (lhs, rhs)
        if not left.is_block():
            return splat(lhs, rhs), rhs
        if left.shape is right.shape:
            return lhs, rhs
        pair = id(left.shape), id(right.shape)  # of shapes that are kept for good
        if pair in common:
            return spread(lhs, common[pair]), spread(rhs, common[pair])
        lhs, rhs = first(semantic, lhs, rhs)
        if len(left.shape) == len(right.shape):
            common[pair] = lhs.type.shape
        return lhs, rhs

    semantic.broadcast_impl_value = broadcast_impl_value


def cache_promotions(semantic: Any) -> None:
    """Have `semantic` look once at each pair of dtypes, and spread a number once to each shape.

    To be called after `cache_broadcasts`.
    """
    first = type(semantic).binary_op_type_checking_impl
    alike: set[tuple[Any, ...]] = set()
    constants = _Constants(first, semantic)

    def check(lhs: Any, rhs: Any, *flags: Any, **named: Any) -> Any:
        ours, theirs = isinstance(lhs, tl.tensor), isinstance(rhs, tl.tensor)
        if not (ours and theirs):
            return constants.check(lhs, rhs, flags, named)
        if lhs.dtype.is_ptr() and rhs.dtype.is_ptr():
            return first(semantic, lhs, rhs, *flags, **named)
        key = lhs.dtype.name, rhs.dtype.name, flags, tuple(named.items())
        if key in alike:
            return semantic.broadcast_impl_value(lhs, rhs)
        left, right = first(semantic, lhs, rhs, *flags, **named)
        if left.dtype is lhs.dtype and right.dtype is rhs.dtype:
            alike.add(key)
        return left, right

    semantic.binary_op_type_checking_impl = check


class _Constants:
    """Numbers in the type and shape of the tensors that they are combined with."""

    def __init__(self, first: Callable[..., Any], semantic: Any) -> None:
        self._first = first
        self._semantic = semantic
        self._kept: dict[tuple[Any, ...], Any] = {}

    def check(self, lhs: Any, rhs: Any, flags: tuple[Any, ...], named: dict[str, Any]) -> Any:
        is_left = isinstance(lhs, (int, float))
        number, other = (lhs, rhs) if is_left else (rhs, lhs)
        if not isinstance(number, (int, float)) or not isinstance(other, tl.tensor):
            return self._first(self._semantic, lhs, rhs, *flags, **named)
        shape = other.type.shape if other.type.is_block() else None
        key = repr(number), is_left, other.dtype.name, id(shape), flags, tuple(named.items())
        constant = self._kept.get(key)
        if constant is not None:
            return (constant, other) if is_left else (other, constant)
        left, right = self._first(self._semantic, lhs, rhs, *flags, **named)
        if (right if is_left else left) is other:
            self._keep(key, left if is_left else right)
        return left, right

    def _keep(self, key: tuple[Any, ...], constant: Any) -> None:
        if constant.handle.data.size > LARGEST_CONSTANT:
            return
        if len(self._kept) > MOST_CONSTANTS:
            self._kept.clear()
        self._kept[key] = constant


class _Blocks:
    """The block types there are, each once, and their shapes, which are kept for good."""

    def __init__(self, make: Callable[[Any, Any, Any], None]) -> None:
        self._make = make
        self._kept: dict[tuple[int, tuple[int, ...]], Any] = {}
        self._shapes: dict[tuple[int, ...], Any] = {}
        self._extents: dict[int, tuple[int, ...]] = {}

    def new(self, cls: Any, element_ty: Any, shape: Any) -> Any:
        """Return the one object, or an empty one of what Triton itself should look at."""
        extents = self._extents.get(id(shape)) or _extents(shape)
        if extents is None or cls is not tl.block_type:
            return object.__new__(cls)
        key = id(element_ty), extents
        if key not in self._kept:
            self._keep(key, element_ty, shape)
        return self._kept[key]

    def _keep(self, key: tuple[int, tuple[int, ...]], element_ty: Any, shape: Any) -> None:
        block = object.__new__(tl.block_type)
        self._make(block, element_ty, shape)
        block.shape = self._shapes.setdefault(key[1], block.shape)
        self._extents[id(block.shape)] = key[1]
        if len(self._kept) > MOST_KEPT:
            self._kept.clear()
        self._kept[key] = block  # which keeps its element type, and so its id, alive


def _intern_blocks() -> None:
    first = tl.block_type.__init__
    blocks = _Blocks(first)

    def new(cls: Any, element_ty: Any, shape: Any) -> Any:
        return blocks.new(cls, element_ty, shape)

    def init(self: Any, element_ty: Any, shape: Any) -> None:
        if "numel" not in vars(self):
            first(self, element_ty, shape)

    tl.block_type.__new__ = new
    tl.block_type.__init__ = init


def _extents(shape: Any) -> tuple[int, ...] | None:
    """Return the extents as plain integers, `None` for anything that Triton should look at."""
    if not isinstance(shape, (list, tuple, tl.tuple)):
        return None
    extents: list[Any] = [getattr(extent, "value", extent) for extent in shape]
    return tuple(extents) if all(isinstance(extent, int) for extent in extents) else None


def _share_shapes() -> None:
    """Have all tensors of one block type share its shape in constexprs."""
    first = tl.tensor.__init__

    def init(self: Any, handle: Any, kind: Any) -> None:
        shared = vars(kind).get("_of_its_tensors")
        if shared is None:
            own = {"handle", *vars(self)}
            first(self, handle, kind)
            kind._of_its_tensors = {k: v for k, v in vars(self).items() if k not in own}
        else:
            self.__dict__.update(shared)
            self.handle = handle

    tl.tensor.__init__ = init


def _compare_by_identity_first() -> None:
    for kind in (tl.dtype, tl.pointer_type, tl.block_type):
        kind.__eq__ = _identical_or(kind.__eq__)


def _identical_or(first: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def equal(self: Any, other: Any) -> bool:
        return self is other or first(self, other)

    return equal


def _by_scalar_name(first: Callable[[Any], Any]) -> Callable[[Any], np.dtype[Any]]:
    known: dict[str, np.dtype[Any]] = {}

    def dtype_of(kind: Any) -> np.dtype[Any]:
        name = kind.scalar.name
        if name not in known:
            known[name] = first(kind)
        return known[name]

    return dtype_of


def _patch_attr(obj: Any, name: str, member: Any, _builder: Any, scope: Any = None) -> None:
    """Do as Triton's function of this name, with fewer calls between a kernel and the operation."""
    inner = getattr(member, "__wrapped__", member)
    semantic = triton_interpreter.interpreter_semantic

    def operation(*arguments: Any, **named: Any) -> Any:
        named["_semantic"] = semantic
        return inner(*arguments, **named)

    if scope is None:  # before 3.8, which changes it for good
        setattr(obj, name, operation)
    else:
        scope.set_attr(obj, name, operation)
