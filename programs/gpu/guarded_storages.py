"""Chooses the storages of a tape to put between unmapped pages on a GPU. Pure.

Pages are large (2 MiB), so there is a limit. Storages that torch may resize are left out, as memory
that torch did not allocate cannot grow.
"""

from collections.abc import Iterator

from programs.tape.overload_effects import argument_tensors, kind_of
from programs.tape.schema import AtenOp, Tape, TapeLaunch, tensors_of

ALIGN_BYTES = 256
"""The alignment of a guarded tensor: libraries choose their kernels by it, up to this one."""
_MOST_STORAGES = 512
_MOST_BYTES = 4 << 30


def guarded_storages(tape: Tape, page_bytes: int, spare_bytes: int) -> frozenset[int]:
    """Return the storages that launches take, in order of use, as far as there is room."""
    resized = set(_resized(tape))
    found: set[int] = set()
    left_bytes = min(spare_bytes, _MOST_BYTES)
    for storage in _launched(tape):
        size_bytes = -(-tape.storages[storage] // page_bytes) * page_bytes
        if storage in found or storage in resized or not 0 < size_bytes <= left_bytes:
            continue
        left_bytes -= size_bytes
        found.add(storage)
        if len(found) == _MOST_STORAGES:
            break
    return frozenset(found)


def _launched(tape: Tape) -> Iterator[int]:
    for op in tape.ops:
        if isinstance(op, TapeLaunch):
            ids = (id_ for value in op.args.values() for id_ in tensors_of(value))
            yield from (tape.tensors[id_].storage for id_ in ids)


def _resized(tape: Tape) -> Iterator[int]:
    for op in tape.ops:
        if not isinstance(op, AtenOp):
            continue
        ids = tensors_of(op.kwargs.get("out"))
        if kind_of(op) == "metadata":
            ids += argument_tensors(op)
        yield from (tape.tensors[id_].storage for id_ in ids)
