"""What the ops of a tape say that they waited for: ops before them, that something can wait for.

No order is too strong or too weak for a replay, which runs the ops one after the other; what the
tape says too little of is a race to whoever looks for races.
"""

from __future__ import annotations

from programs.tape.forged import InvalidTape
from programs.tape.schema import Seeding, Tape


def check_order(tape: Tape) -> None:
    """Raise `InvalidTape` for the first op that waited for what is not before it, or no op."""
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
