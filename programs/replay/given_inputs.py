"""Makes a program's inputs with the ops of another tape, such as the reference's.

No value comes from the program's own tape. It only states the inputs that it was recorded with,
which must agree.
"""

from collections.abc import Iterator

import torch

from programs.replay.program_run import ProgramRun, ReplayOptions, tensors_in
from programs.replay.replayed_launches import NoLaunches
from programs.replay.storage_lifetimes import lifetimes
from programs.tape.inputs_tape import MEMBERS
from programs.tape.overload_effects import tensors_made
from programs.tape.schema import InvalidTape, Tape, TensorRef, TupleOf, by_path


def given_inputs(tape: Tape, of: Tape, how: ReplayOptions) -> dict[int, torch.Tensor]:
    """Return the input tensors of `tape` by their index there, made by the ops of `of`.

    `of` has only these ops (`inputs_only`). Raises `ReplayStopped`, and `InvalidTape` if `tape`
    was recorded with other inputs.
    """
    made = _made(of, how)
    given: dict[int, torch.Tensor] = {}
    for member in MEMBERS:
        taken, sources = (by_path(TupleOf(getattr(one, member))) for one in (tape, of))
        if list(taken) != list(sources):
            raise InvalidTape(f"/{member}", "it was recorded with inputs of a different structure")
        for path, value in taken.items():
            source = sources[path]
            if not isinstance(value, TensorRef) or not isinstance(source, TensorRef):
                _check_equal(f"/{member}", path, value, source)
                continue
            _check_same_kind(f"/{member}", path, tape, value.id, of, source.id)
            given[value.id] = made[source.id]
    return given


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
    taken, given = tape.tensors[id_], of.tensors[source]
    if (taken.dtype, taken.shape) != (given.dtype, given.shape):
        what = f"it was recorded with {taken.dtype} {list(taken.shape)}, not {given.dtype}"
        raise InvalidTape(f"{where}/{path}", f"{what} {list(given.shape)}")
