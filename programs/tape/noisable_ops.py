"""Names the ATen ops of a call whose results an experiment may replace by noise."""

from collections.abc import Sequence

from programs.tape.overload_effects import kind_of, makes_views
from programs.tape.schema import AtenOp, Tape

_FREE_KINDS = frozenset({"uninitialized", "constant"})


def noisable_ops(tape: Tape) -> Sequence[int]:
    """Return the indices of the first call's ops that compute, copy or draw.

    Views make nothing, and fresh memory and constants hold nothing that torch worked for.
    """
    return [
        index
        for index, op in enumerate(tape.ops)
        if op.phase == "run"
        and isinstance(op, AtenOp)
        and not makes_views(op)
        and kind_of(op) not in _FREE_KINDS
    ]
