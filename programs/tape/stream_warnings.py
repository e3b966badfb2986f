"""Warnings about programs with several CUDA streams, which a replay runs one after the other."""

from programs.tape.flow import KernelsEffects
from programs.tape.schema import Op, Phase, Seeding, Tape
from programs.tape.stream_order import unordered

_MOST_PAIRS = 5


def stream_warnings(tape: Tape, effects: KernelsEffects, *, on_gpu: bool) -> list[str]:
    """Return warnings about effects that are not modelled and, on a GPU, about unordered ops."""
    streams: dict[Phase, set[int]] = {}
    for op in tape.ops:
        if not isinstance(op, Seeding):
            streams.setdefault(op.phase, set()).add(op.stream)
    most = max(map(len, streams.values()), default=1)
    found = []
    if most > 1:
        found.append(
            f"The program uses {most} CUDA streams. A replay runs their ops one after the other, "
            "in the order of the calls; the check racecheck of the CPU device finds ops without an "
            "order. Three things are not modelled: memory that torch reuses while a stream still "
            "needs it (record_stream), priorities, and overlap in time."
        )
    if on_gpu:
        pairs = {
            (_op_text(tape.ops[one.first]), "its caller" if one.second is None else
             _op_text(tape.ops[one.second]))
            for one in unordered(tape, effects).values()
        }  # fmt: skip
        found += [
            f"{first} and {second} may use the same memory, and neither waits for the other. This "
            'replay cannot show such a race: run the program with "device": "cpu", which checks '
            "every access."
            for first, second in sorted(pairs)[:_MOST_PAIRS]
        ]
    return found


def _op_text(op: Op) -> str:
    where = f"{op.place.file}:{op.place.line}" if op.place is not None else "an op"
    stream = 0 if isinstance(op, Seeding) else op.stream
    return f"{where} in stream {stream}" if stream else f"{where} in the default stream"
