"""Compares the two calls of a program: the second must do the same work on other inputs."""

from dataclasses import dataclass
from itertools import zip_longest

from programs.tape.flow import Flow
from programs.tape.overload_effects import argument_tensors, makes_views
from programs.tape.schema import (
    AtenOp,
    Op,
    Phase,
    ProgramLine,
    Seeding,
    Tape,
    TapeLaunch,
    tensors_of,
)


@dataclass(frozen=True, slots=True)
class CallsDiffer:
    """The first place where the second call does something else than the first."""

    message: str
    place: ProgramLine | None


def difference_of_calls(tape: Tape, flow: Flow) -> CallsDiffer | None:
    """Return where the calls differ in their work on inputs, None if they do the same.

    Work that depends on no input may differ: preparing weights in the first call is no cheat.
    Numbers may differ, too, such as the seed of a dropout.
    """
    first, second = _work(tape, flow, "run"), _work(tape, flow, "run2")
    for one, other in zip_longest(first, second):
        if one is None or other is None or _signature(one, tape) != _signature(other, tape):
            message = (
                f"the first call does {_op_text(one, tape)}, but the second, with inputs of the "
                f"same shapes, does {_op_text(other, tape)}: do the same work in each call"
            )
            place = next((op.place for op in (one, other) if op is not None and op.place), None)
            return CallsDiffer(message, place)
    return None


def _work(tape: Tape, flow: Flow, phase: Phase) -> list[AtenOp | TapeLaunch]:
    return [
        op
        for index, op in enumerate(tape.ops)
        if op.phase == phase
        and not isinstance(op, Seeding)
        and not (isinstance(op, AtenOp) and makes_views(op))
        and flow.depends_on_inputs(flow.op_sources[index])
    ]


def _signature(op: AtenOp | TapeLaunch, tape: Tape) -> object:
    if isinstance(op, TapeLaunch):
        ids = [id_ for value in op.args.values() for id_ in tensors_of(value)]
        named: object = (op.kernel, op.grid)
    else:
        ids = [*argument_tensors(op), *[id_ for id_ in op.outputs if id_ is not None]]
        named = op.op
    return named, [(tape.tensors[id_].dtype, tape.tensors[id_].shape) for id_ in ids]


def _op_text(op: Op | None, tape: Tape) -> str:
    if isinstance(op, TapeLaunch):
        return f"a launch of {tape.kernels[op.kernel].name}{list(op.grid)}"
    return op.op if isinstance(op, AtenOp) else "nothing more"
