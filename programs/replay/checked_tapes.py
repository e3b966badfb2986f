"""Checks tapes before anything of them runs, on any device."""

from hashlib import blake2b
from math import prod

import torch

from launch.messages import Finding
from programs.replay.given_inputs import makes_its_inputs
from programs.replay.live_tensors import LiveTensors, bytes_of
from programs.replay.meta_derivation import derive
from programs.replay.operators import DTYPES
from programs.replay.program_run import ReplayStopped, tensors_in
from programs.replay.replay_order import CALLS, MOST_OUTPUT_BYTES
from programs.replay.storage_lifetimes import START, Lifetimes, lifetimes
from programs.tape.inputs_tape import inputs_only
from programs.tape.read_tape import read_tape
from programs.tape.schema import MOST_PARAMETERS, InvalidTape, Structure, Tape

_MOST_DIGESTED = 4096
"""The number of a parameter's elements to digest."""


def check_tapes(
    tape: Tape,
    inputs_text: bytes | None,
    memory_bytes: int,
    device: str,
    most_output_bytes: int | None = MOST_OUTPUT_BYTES,
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
    for one in tapes:
        needed = lifetimes(one)
        check_memory(one, needed, memory_bytes, device)
        derive(one, needed)
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
        for _, id_ in tape.params[:MOST_PARAMETERS]
    ]
    return [None if one is None else _digest(one) for one in alive]


def _digest(tensor: torch.Tensor) -> str:
    """Return a digest of the values: a part is enough for random numbers."""
    part_of = tensor.reshape(-1)[:_MOST_DIGESTED]
    return blake2b(bytes_of(part_of), digest_size=8).hexdigest()
