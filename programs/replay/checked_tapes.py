"""Checks tapes before anything of them runs, and makes a program's inputs by another tape's ops.

A tape may be forged, so shapes, dtypes, strides and aliases are derived on the meta device, without
data: whatever does not follow from its ops is refused before memory is allocated. If only strides
differ, the replay copies into the recorded ones. The checks in `programs/tape/checks` come first,
and keep from torch what would crash or fill this process. No value of an input comes from the
program's own tape: it only states the inputs that it was recorded with, which must agree.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from math import prod
from typing import Any

import torch

from launch.messages import Finding
from programs.replay.live_tensors import LiveTensors, bytes_of
from programs.replay.operators import DTYPES, LIFTED, STATISTICS, called
from programs.replay.program_run import ProgramRun, ReplayOptions, ReplayStopped, tensors_in
from programs.replay.replay_order import CALLS, MAX_OUTPUT_BYTES
from programs.replay.storage_lifetimes import START, Lifetimes, lifetimes
from programs.replay.written_storages import NoLaunches
from programs.tape.inputs_tape import MEMBERS, inputs_only
from programs.tape.overload_effects import tensors_at, tensors_made
from programs.tape.read_tape import read_tape
from programs.tape.schema import (
    MAX_CHANGED_PARAMETERS,
    AtenOp,
    DeviceName,
    InvalidTape,
    Structure,
    Tape,
    TensorMeta,
    TensorRef,
    TupleOf,
    Value,
    by_path,
    tensors_of,
)

_MAX_DIGESTED = 4096
"""The number of a parameter's elements to digest."""
META = torch.device("meta")
_RECURRENT = {
    "aten.lstm.input": 2, "aten.gru.input": 1, "aten.rnn_tanh.input": 1, "aten.rnn_relu.input": 1,
}  # fmt: skip
"""The number of states of each. The meta device unrolls them, which takes seconds if long."""
_BIDIRECTIONAL = 7
_MAX_KNOWN = 20_000
_Key = tuple[Any, ...]
_known: set[_Key] = set()
"""Ops that passed, with everything that they depend on, since networks repeat layers."""


def check_tapes(
    tape: Tape,
    inputs_text: bytes | None,
    memory_bytes: int,
    device: str,
    most_output_bytes: int | None = MAX_OUTPUT_BYTES,
) -> Tape | None:
    """Check a tape and the one that makes its inputs; return the latter, None if there is none.

    If `most_output_bytes` is None, outputs have no limit, as they stay on the device. Raises
    `InvalidTape`, `NoMetaKernel`, and `ReplayStopped` if memory or outputs exceed a limit.
    """
    tapes = [tape]
    if inputs_text is not None:
        tapes.append(inputs_only(read_tape(inputs_text)))
    elif not makes_its_inputs(tape):
        raise InvalidTape("/inputs", "no tape makes its input tensors")
    for checked in tapes:
        needed = lifetimes(checked)
        check_memory(checked, needed, memory_bytes, device)
        derive(checked, needed)
    if most_output_bytes is not None:
        check_outputs(tape, most_output_bytes)
    return tapes[1] if len(tapes) > 1 else None


def outputs_of(tape: Tape, call: int) -> Structure:
    """Return the outputs of a call."""
    return (tape.outputs, tape.outputs2)[call]


def check_memory(tape: Tape, needed: Lifetimes, most_bytes: int, device: str) -> None:
    """Raise `ReplayStopped` if a tape's tensors need more memory at one time."""
    if needed.peak_bytes <= most_bytes:
        return
    op = tape.ops[needed.peak_at] if needed.peak_at != START else None
    place = op.place if op is not None else None
    message = (
        f"The program's tensors take {needed.peak_bytes:,} bytes at one time, but a replay on "
        f"{device} has only {most_bytes:,}. Make the inputs smaller."
    )
    file, line = (place.file, place.line) if place is not None else (None, None)
    finding = Finding(kind="out_of_memory", file=file, line=line, message=message)
    raise ReplayStopped(finding, ending="out_of_memory")


def check_outputs(tape: Tape, most_bytes: int) -> None:
    """Raise `ReplayStopped` if the outputs of both calls exceed what is compared."""
    total = 0
    for call in range(len(CALLS)):
        for _, id_ in tensors_in(outputs_of(tape, call)):
            meta = tape.tensors[id_]
            total += prod(meta.shape) * DTYPES[meta.dtype].itemsize
    if total > most_bytes:
        message = (
            f"The outputs of both calls take {total:,} bytes, but at most {most_bytes:,} are "
            "compared. Make the inputs smaller."
        )
        finding = Finding(kind="out_of_memory", message=message)
        raise ReplayStopped(finding, ending="out_of_memory")


def parameter_digests(tape: Tape, tensors: LiveTensors) -> list[str | None]:
    """Return a digest of each parameter's first elements, None for unused ones."""
    alive = [
        tensors.get(id_).detach() if tensors.has(tape.tensors[id_].storage) else None
        for _, id_ in tape.params[:MAX_CHANGED_PARAMETERS]
    ]
    return [None if tensor is None else _digest(tensor) for tensor in alive]


def _digest(tensor: torch.Tensor) -> str:
    """Return a digest of the values: a part is enough for random numbers."""
    part_of = tensor.reshape(-1)[:_MAX_DIGESTED]
    return blake2b(bytes_of(part_of), digest_size=8).hexdigest()


def given_inputs(tape: Tape, of: Tape, how: ReplayOptions) -> dict[int, torch.Tensor]:
    """Return the input tensors of `tape` by their index there, made by the ops of `of`.

    `of` has only these ops (`inputs_only`). Raises `ReplayStopped`, and `InvalidTape` if `tape`
    was recorded with other inputs.
    """
    made = _made(of, how)
    inputs: dict[int, torch.Tensor] = {}
    for member in MEMBERS:
        taken, sources = (by_path(TupleOf(getattr(side, member))) for side in (tape, of))
        if list(taken) != list(sources):
            raise InvalidTape(f"/{member}", "it was recorded with inputs of a different structure")
        for path, value in taken.items():
            source = sources[path]
            if not isinstance(value, TensorRef) or not isinstance(source, TensorRef):
                _check_equal(f"/{member}", path, value, source)
                continue
            _check_same_kind(f"/{member}", path, tape, value.id, of, source.id)
            inputs[value.id] = made[source.id]
    return inputs


def makes_its_inputs(tape: Tape) -> bool:
    """Return True if the tape's own ops make all of its inputs."""
    made = tensors_made(tape.ops) | tape.constants.keys()
    return all(id_ in made for id_ in _inputs(tape))


def _inputs(tape: Tape) -> Iterator[int]:
    for member in MEMBERS:
        yield from (id_ for _, id_ in tensors_in(TupleOf(getattr(tape, member))))


def _made(tape: Tape, how: ReplayOptions) -> dict[int, torch.Tensor]:
    run = ProgramRun(tape, lifetimes(tape), NoLaunches(), how, {})
    run.run("init")
    run.run("inputs")
    return {id_: run.tensors.get(id_) for _, id_ in tensors_in(tape.outputs)}


def _check_equal(where: str, path: str, taken: object, source: object) -> None:
    if type(taken) is not type(source) or not (taken == source or taken != taken):
        raise InvalidTape(
            f"{where}/{path}", f"it was recorded with {taken!r:.80}, not {source!r:.80}"
        )


def _check_same_kind(where: str, path: str, tape: Tape, id_: int, of: Tape, source: int) -> None:
    taken, source_meta = tape.tensors[id_], of.tensors[source]
    if (taken.dtype, taken.shape) != (source_meta.dtype, source_meta.shape):
        what = f"it was recorded with {taken.dtype} {list(taken.shape)}, not {source_meta.dtype}"
        raise InvalidTape(f"{where}/{path}", f"{what} {list(source_meta.shape)}")


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
        for id_, result in zip(op.outputs, results, strict=True):
            if id_ is None:
                continue
            if result is None:
                raise InvalidTape(f"/ops/{index}/o", f"{op.op} returns no tensor there")
            self.tensors.bind(id_, result, may_copy=op.op == LIFTED, may_round=op.op in STATISTICS)
        if key is not None and len(_known) < _MAX_KNOWN:
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
    sequence, first, *others = [tensors.get(id_) for id_ in ids]
    if sequence.ndim < 2 or not first.ndim:
        raise InvalidTape("/ops", f"{op.op} is given a tensor of {sequence.ndim} dimensions")
    width = first.shape[-1] * (2 if op.args[_BIDIRECTIONAL] else 1)
    made = sequence.new_empty((*sequence.shape[:-1], width))
    return [made, *(state.new_empty(state.shape) for state in (first, *others))]
