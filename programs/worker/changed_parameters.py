"""Chooses the parameters that get other values: those that are all 0 or all 1.

A fresh batch norm, a gate or a LoRA hides its work behind such constants.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from math import prod

from programs.tape.overload_effects import tensors_at
from programs.tape.schema import Tape, TensorMeta
from programs.worker.program_trials import PassedProgram
from programs.worker.replayed import Replayed

_DIGESTED = 4096
"""The number of a parameter's elements in its digest."""
_ENCODED = {"fp64": "<d", "fp32": "<f", "fp16": "<e"}
_BF16_ONE = b"\x80\x3f"


def changed_parameters(passed: PassedProgram) -> Sequence[str]:
    """Return the reference's parameters that are all 0, or all 1, and get other values.

    The program has the same, or nothing of that shape that it made before the call: it then takes
    the constant for granted.
    """
    tape = passed.recorded.candidate.tape
    names = [name for name, _ in tape.params]
    digests = dict(zip(names, passed.replayed.parameters, strict=False))
    metas = {name: tape.tensors[id_] for name, id_ in tape.params}
    shapes = {tape.tensors[id_].shape for id_ in _made_before(tape)}

    def is_changed(name: str, meta: TensorMeta, digest: str) -> bool:
        own = metas.get(name)
        if own is None:
            return meta.shape not in shapes
        alike = (own.dtype, own.shape) == (meta.dtype, meta.shape)
        return alike and digests.get(name) in (None, digest)

    known = _constants(passed.expected, passed.reference.tape)
    return [name for name, (meta, digest) in known.items() if is_changed(name, meta, digest)]


def _made_before(tape: Tape) -> Iterator[int]:
    """Yield the tensors that a program has before its first call, other than inputs."""
    yield from tape.constants
    for op in tape.ops:
        if op.phase != "init":
            return
        yield from tensors_at(op)


def _constants(replayed: Replayed, tape: Tape) -> Mapping[str, tuple[TensorMeta, str]]:
    """Return the parameters that are all 0 or all 1, with their digests, by name."""
    found = {}
    for (name, id_), digest in zip(tape.params, replayed.parameters, strict=False):
        meta = tape.tensors[id_]
        count = min(prod(meta.shape), _DIGESTED)
        elements = (_element(meta.dtype, value) for value in (0, 1))
        constants = [_digest(one * count) for one in elements if count and one is not None]
        if digest is not None and digest in constants:
            found[name] = (meta, digest)
    return found


def _element(dtype: str, value: int) -> bytes | None:
    if dtype == "bf16":
        return _BF16_ONE if value else bytes(2)
    return struct.pack(_ENCODED[dtype], value) if dtype in _ENCODED else None


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
