"""Checks the waits of a tape's ops: each names an earlier op that can be waited for.

A replay runs the ops one after the other, so any order is safe for it. If the tape omits a wait,
racecheck reports a race.
"""

from programs.tape.invalid_tape import InvalidTape
from programs.tape.schema import Seeding, Tape


def check_order(tape: Tape) -> None:
    """Raise `InvalidTape` for the first wait that names a later op, or a seed."""
    for index, op in enumerate(tape.ops):
        if not isinstance(op, Seeding):
            _check(op.after, index, tape, f"/ops/{index}/after")
    for call, ops in tape.ends.items():
        _check(ops, len(tape.ops), tape, f"/ends/{call}")


def _check(ops: tuple[int, ...], end: int, tape: Tape, where: str) -> None:
    for index in ops:
        if index >= end:
            raise InvalidTape(where, f"op {index} is not before it")
        if isinstance(tape.ops[index], Seeding):
            raise InvalidTape(where, f"op {index} is a seed, which nothing waits for")
