"""Warns of random numbers drawn on CUDA: a CPU draws other numbers from the same seed."""

from programs.tape.flow import DRAWN_ON_CUDA, KernelsEffects, flow_of
from programs.tape.overload_effects import drawing_device
from programs.tape.schema import Tape

_MOST_NAMED = 5


def drawn_on_cuda(tape: Tape, effects: KernelsEffects) -> str | None:
    """Return a warning if outputs depend on numbers that the program itself draws on CUDA."""
    drawing = [
        (index, op)
        for index, op in enumerate(tape.ops)
        if op.phase != "inputs" and drawing_device(op, tape) == "cuda"
    ]
    if not drawing:
        return None
    flow = flow_of(tape, effects)
    calls = (flow.output_sources, flow.output2_sources)
    outputs = sorted(
        {at for sources in calls for at, one in enumerate(sources) if one & DRAWN_ON_CUDA}
    )
    if not outputs:
        return None
    place = next((op.place for index, op in drawing if index in flow.live), None)
    where = f" at {place.file}:{place.line}" if place is not None else ""
    listed = ", ".join(map(str, outputs[:_MOST_NAMED])) + (", …" if outputs[_MOST_NAMED:] else "")
    return (
        f"Outputs depend on random numbers that the program draws on CUDA{where} (outputs {listed})"
        ". From the same seed, the CPU device and a GPU draw different numbers. Draw on the CPU to "
        "get the same values everywhere."
    )
