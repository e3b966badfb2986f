"""Compares recordings and replays of generated programs with torch."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from compiler.diagnostic import Failure
from programs.recorder.record_order import REASONS
from programs.replay.operators import DTYPES
from programs.replay.program_run import tensors_in
from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape, Tape, TensorRef, by_path
from tests.programs.generated.eager_programs import Call, EagerRun, run_eagerly
from tests.programs.generated.generating import Program
from tests.programs.generated.kernel_texts import kernels_of
from tests.programs.with_torch.recording_process import RecordingProcess
from tests.programs.with_torch.replaying import Replayed, replayed

AGREES, ROUNDED, BOTH_FAIL, DISAGREES = "agrees", "agrees, rounded", "both fail", "DISAGREES"
FAULTS = frozenset({"program_error", "no_entry", "bad_inputs", "missing_module", "syntax_error"})
"""Reasons to refuse a program that no generated program should give."""
TOLERANCES = {
    torch.float16: 2e-2, torch.bfloat16: 1e-1, torch.float32: 2e-4, torch.float64: 1e-9,
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """A kind from above, or `refused: <reason>`, with details."""

    word: str
    detail: str = ""


class _Disagreement(Exception):
    """The replay differs from torch."""


def compared(recorder: RecordingProcess, program: Program) -> Verdict:
    """Record and replay a program, and compare the result with torch's."""
    eager = run_eagerly(program.source, program.entry)
    answer = recorder.record(program.source, program.entry)
    try:
        if "ops" in answer:
            return _compared_replay(answer, eager)
        if "not_recordable" in answer:
            return _compared_refusal(answer["not_recordable"], eager)
    except (_Disagreement, InvalidTape) as found:
        return Verdict(DISAGREES, str(found))
    return Verdict(DISAGREES, f"the recorder's child ended: {answer}")


def reported(program: Program, verdict: Verdict) -> str:
    """Return everything needed to debug a disagreement."""
    return (
        f"seed {program.seed} ({program.theme}): {verdict.word}: {verdict.detail}\n"
        f"entry {program.entry}\n{program.source}\n"
        f"again: python -m tests.programs.generated --only {program.seed}"
    )


def _error(eager: EagerRun) -> str:
    return f"{type(eager.error).__name__} at line {eager.line}: {str(eager.error)[:300]}"


def _compared_refusal(refusal: Mapping[str, Any], eager: EagerRun) -> Verdict:
    reason, detail = refusal["reason"], f"{refusal['detail']} (line {refusal['line']})"
    if reason not in REASONS:
        raise _Disagreement(f"refused for no known reason: {refusal}")
    if eager.error is not None and reason == "program_error":
        if refusal["line"] != eager.line:
            raise _Disagreement(f"torch raises {_error(eager)}; the recording {detail}")
        return Verdict(BOTH_FAIL, detail)
    if reason in FAULTS:
        what = "torch runs it" if eager.error is None else f"torch raises {_error(eager)}"
        raise _Disagreement(f"{what}; the recording is refused, {reason}: {detail}")
    return Verdict(f"refused: {reason}", detail)


def _compared_replay(recorded: Mapping[str, Any], eager: EagerRun) -> Verdict:
    tape = read_tape(json.dumps(recorded).encode())
    kernels, launches = kernels_of(recorded)
    try:
        found = replayed(recorded, kernels, launches)
    except Failure as failure:
        if failure.slug == "unsupported_op":
            return Verdict("refused: unsupported_op (replay)", str(failure))
        raise _Disagreement(f"the replay fails: {failure.slug}: {failure}") from failure
    except Exception as error:
        raise _Disagreement(f"the replay raises {traceback.format_exc()}") from error
    if found.report.findings:
        return _compared_findings(found, eager)
    if eager.error is not None:
        raise _Disagreement(f"torch raises {_error(eager)}; the replay finds nothing")
    words = {_compared_call(tape, found, number, call) for number, call in enumerate(eager.calls)}
    return Verdict(ROUNDED if ROUNDED in words else AGREES)


def _compared_findings(found: Replayed, eager: EagerRun) -> Verdict:
    first = found.report.findings[0]
    if eager.error is None:
        raise _Disagreement(f"torch runs it; the replay finds {first}")
    in_kernel = first.kind == "out_of_bounds"  # reported at the kernel's line, not at the launch's
    if first.line != eager.line and not in_kernel:
        raise _Disagreement(f"torch raises {_error(eager)}; the replay finds {first}")
    return Verdict(BOTH_FAIL, first.message)


def _compared_call(tape: Tape, found: Replayed, number: int, call: Call) -> str:
    where = f"call {number + 1}"
    structure = (tape.outputs, tape.outputs2)[number]
    paths = by_path(structure)
    if list(paths) != list(call.outputs):
        raise _Disagreement(f"{where} returns {list(paths)}, not {list(call.outputs)}")
    ids = dict(tensors_in(structure))
    words = {AGREES}
    for position, (path, id_) in enumerate(ids.items()):
        ours = found.sent[f"output:{number}:{position}"]
        words.add(_compared_tensor(f"{where}, output {path}", tape, id_, call, path, ours))
    for path, value in paths.items():
        expected = call.outputs[path]
        if not isinstance(value, TensorRef) and (
            type(value) is not type(expected) or value != expected
        ):
            raise _Disagreement(f"{where}, output {path}: {value!r}, not {expected!r}")
    given = (tape.inputs, tape.inputs2)[number]
    taken = [id_ for one in given for _, id_ in tensors_in(one)]
    for position, (before, after) in enumerate(zip(call.before, call.after, strict=True)):
        left = found.sent.get(f"input:{number}:{position}")
        what = f"{where}, input {position} as it is left"
        expected = after.detach()
        if left is None:
            _same(what, before, expected)
        else:
            words.add(_same(what, _tensor(left, tape, taken[position], expected.shape), expected))
    _compare_aliases(where, tape, [*taken, *ids.values()], [*call.inputs, *_tensors(call)])
    return ROUNDED if ROUNDED in words else AGREES


def _tensors(call: Call) -> list[torch.Tensor]:
    return [one for one in call.outputs.values() if isinstance(one, torch.Tensor)]


def _compared_tensor(what: str, tape: Tape, id_: int, call: Call, path: str, data: bytes) -> str:
    meta, expected = tape.tensors[id_], call.outputs[path]
    if not isinstance(expected, torch.Tensor):
        raise _Disagreement(f"{what} is a tensor, not {expected!r}")
    shapes = (DTYPES[meta.dtype], meta.shape), (expected.dtype, tuple(expected.shape))
    if shapes[0] != shapes[1]:
        raise _Disagreement(f"{what} is {shapes[0]}, not {shapes[1]}")
    steps = _steps(meta.shape, meta.strides), _steps(expected.shape, expected.stride())
    if steps[0] != steps[1]:
        raise _Disagreement(f"{what} has strides {meta.strides}, not {expected.stride()}")
    return _same(what, _tensor(data, tape, id_, meta.shape), call.copies[path])


def _steps(shape: Any, strides: Any) -> list[int]:
    """Return the strides that matter: none if there are no elements."""
    return (
        [] if 0 in shape else [step for size, step in zip(shape, strides, strict=True) if size > 1]
    )


def _tensor(data: bytes, tape: Tape, id_: int, shape: Any) -> torch.Tensor:
    kind = DTYPES[tape.tensors[id_].dtype]
    octets = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0).byte()
    return octets.view(kind).reshape(shape)


def _same(what: str, found: torch.Tensor, expected: torch.Tensor) -> str:
    if torch.equal(_octets(found), _octets(expected)):
        return AGREES
    tolerance = TOLERANCES.get(expected.dtype, 0.0)
    if found.shape == expected.shape and torch.allclose(
        found, expected, rtol=tolerance, atol=tolerance, equal_nan=True
    ):
        return AGREES if not tolerance or torch.equal(found, expected) else ROUNDED
    raise _Disagreement(f"{what} is\n{found}\nnot\n{expected}")


def _octets(tensor: torch.Tensor) -> torch.Tensor:
    return (
        tensor.detach().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)
    )


def _compare_aliases(where: str, tape: Tape, ids: list[int], tensors: list[torch.Tensor]) -> None:
    """Compare which of these share memory, and at which offset."""
    ours = _groups([tape.tensors[id_].storage for id_ in ids])
    theirs = _groups([one.untyped_storage()._cdata for one in tensors])
    if ours != theirs:
        raise _Disagreement(f"{where}: inputs and outputs share memory as {ours}, not {theirs}")
    offsets = [tape.tensors[id_].offset for id_ in ids], [one.storage_offset() for one in tensors]
    if offsets[0] != offsets[1]:
        raise _Disagreement(f"{where}: inputs and outputs begin at {offsets[0]}, not {offsets[1]}")


def _groups(names: list[int]) -> list[int]:
    """Return for each the first that has its name."""
    return [names.index(name) for name in names]
