"""Derives shapes, dtypes, strides and aliases of a tape on the meta device, without data.

The tape may be forged: whatever does not follow from its ops is refused before memory is allocated.
If only strides differ, the replay copies into the recorded ones. The checks in
`programs/tape/checks` come first, and keep from torch what would crash or fill this process.
"""

from collections.abc import Sequence
from typing import Any

import torch

from programs.replay.live_tensors import LiveTensors
from programs.replay.operators import DTYPES, LIFTED, STATISTICS, called
from programs.replay.storage_lifetimes import Lifetimes
from programs.tape.overload_effects import tensors_at, tensors_made
from programs.tape.schema import (
    AtenOp,
    DeviceName,
    InvalidTape,
    Tape,
    TensorMeta,
    TensorRef,
    Value,
    tensors_of,
)

META = torch.device("meta")
_RECURRENT = {
    "aten.lstm.input": 2, "aten.gru.input": 1, "aten.rnn_tanh.input": 1, "aten.rnn_relu.input": 1,
}  # fmt: skip
"""The number of states of each. The meta device unrolls them, which takes seconds if long."""
_BIDIRECTIONAL = 7
_MOST_KNOWN = 20_000
_Key = tuple[Any, ...]
_known: set[_Key] = set()
"""Ops that passed, with everything that they depend on, since networks repeat layers."""


def derive(tape: Tape, needed: Lifetimes) -> None:
    """Check every op of a tape. Raises `InvalidTape`, and `NoMetaKernel`."""
    for id_, meta in enumerate(tape.tensors):
        _check_reach(id_, meta, tape.storages[meta.storage])
    derivation = _Derivation(tape)
    with torch.no_grad():
        for index, op in enumerate(tape.ops):
            if isinstance(op, AtenOp):
                derivation.check(index, op)
            else:
                derivation.check_there(tensors_at(op))
            for storage in needed.freed_after.get(index, ()):
                derivation.tensors.free(storage)


def _check_reach(id_: int, meta: TensorMeta, storage_bytes: int) -> None:
    if 0 in meta.shape:
        return
    steps = zip(meta.shape, meta.strides, strict=True)
    end = meta.offset + sum((extent - 1) * stride for extent, stride in steps) + 1
    if end * DTYPES[meta.dtype].itemsize > storage_bytes:
        what = f"it reaches element {end - 1} of a storage of {storage_bytes} bytes"
        raise InvalidTape(f"/tensors/{id_}", what)


class NoMetaKernel(Exception):
    """torch cannot derive what an op returns; the message names the op."""


class _Derivation:
    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self.tensors = LiveTensors(tape, META)
        made = tensors_made(tape.ops)
        for id_ in tape.constants:
            self.tensors.make(id_)
        for structure in (*tape.init_inputs, *tape.inputs, *tape.inputs2):
            for id_ in tensors_of(structure):
                if id_ not in made:
                    self.tensors.make(id_)

    def check_there(self, ids: Any) -> None:
        """Check that every tensor exists. Raises `InvalidTape`."""
        for id_ in ids:
            self.tensors.get(id_)

    def check(self, index: int, op: AtenOp) -> None:
        """Check one op. Raises `InvalidTape`, `NoMetaKernel`."""
        key = self._key(op)
        if key in _known:
            self._take_as_recorded(op)
            return
        results = self._results(index, op)
        if len(results) != len(op.outputs):
            what = f"{op.op} returns {len(results)} values, the tape has {len(op.outputs)}"
            raise InvalidTape(f"/ops/{index}/o", what)
        for id_, found in zip(op.outputs, results, strict=True):
            if id_ is None:
                continue
            if found is None:
                raise InvalidTape(f"/ops/{index}/o", f"{op.op} returns no tensor there")
            self.tensors.bind(id_, found, may_copy=op.op == LIFTED, may_round=op.op in STATISTICS)
        if key is not None and len(_known) < _MOST_KNOWN:
            _known.add(key)

    def _results(self, index: int, op: AtenOp) -> Sequence[torch.Tensor | None]:
        if op.op in _RECURRENT:
            return _recurrent(op, self.tensors)
        try:
            return called(op, self.tensors.get, META)
        except NotImplementedError as error:
            raise NoMetaKernel(f"{op.op}: {error}") from error
        except InvalidTape:
            raise
        except Exception as error:
            what = f"{op.op} cannot be called like this: {type(error).__name__}: {error}"
            raise InvalidTape(f"/ops/{index}", what) from error

    def _take_as_recorded(self, op: AtenOp) -> None:
        for id_ in op.outputs:
            if id_ is not None:
                self.tensors.make(id_)

    def _key(self, op: AtenOp) -> _Key | None:
        """Return everything that the results of `op` depend on, and the recorded results.

        Storages are numbered as they occur, with a flag if they existed before. None if torch
        keeps more of a tensor than the tape does, as the conjugate bit of complex ones.
        """
        storages: dict[int, int] = {}

        def key_of(id_: int) -> _Key:
            meta = self._tape.tensors[id_]
            number = storages.setdefault(meta.storage, len(storages))
            size, there = self._tape.storages[meta.storage], self.tensors.has(meta.storage)
            return (meta.dtype, meta.shape, meta.strides, meta.offset, number, size, there)

        def shown(value: Value) -> Any:
            match value:
                case TensorRef():
                    self.tensors.get(value.id)
                    return key_of(value.id)
                case tuple():
                    return tuple([shown(item) for item in value])
                case DeviceName():
                    return DeviceName
            return (type(value), value)

        arguments = tuple([shown(value) for value in op.args])
        named = tuple([(name, shown(value)) for name, value in op.kwargs.items()])
        made = tuple([None if id_ is None else key_of(id_) for id_ in op.outputs])
        if any(self._tape.tensors[id_].dtype.startswith("complex") for id_ in tensors_at(op)):
            return None
        return (op.op, arguments, named, made)


def _recurrent(op: AtenOp, tensors: LiveTensors) -> list[torch.Tensor]:
    """Return the results of a recurrent network: its outputs, and states of the given shapes."""
    data, states = op.args[0], op.args[1]
    ids = [*tensors_of(data), *tensors_of(states)]
    if len(ids) != 1 + _RECURRENT[op.op] or len(op.args) <= _BIDIRECTIONAL:
        raise InvalidTape("/ops", f"{op.op} is given {len(ids)} tensors and states")
    given, first, *others = [tensors.get(id_) for id_ in ids]
    if given.ndim < 2 or not first.ndim:
        raise InvalidTape("/ops", f"{op.op} is given a tensor of {given.ndim} dimensions")
    width = first.shape[-1] * (2 if op.args[_BIDIRECTIONAL] else 1)
    made = given.new_empty((*given.shape[:-1], width))
    return [made, *(state.new_empty(state.shape) for state in (first, *others))]
