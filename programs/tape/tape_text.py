"""Formats a tape for a reader: by phase and by the user's line, with shapes and dependences.

The text is bounded, however long the tape is; its last line counts the omitted ones.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from programs.tape.flow import Flow, KernelsEffects, flow_of
from programs.tape.overload_effects import makes_views
from programs.tape.schema import (
    PHASES,
    AtenOp,
    DictOf,
    GeneratorRef,
    KernelArgument,
    LaunchValue,
    ListOf,
    Op,
    Phase,
    ReinterpretedArgument,
    Seeding,
    Structure,
    Tape,
    TapeDescriptor,
    TapeLaunch,
    TensorRef,
    TupleOf,
    Value,
    tensors_of,
)

MAX_LINES = 4_000
MAX_LINE_CHARS = 240
_MAX_LISTED = 20
_PLACE_CHARS = 18
_TITLES: Mapping[Phase, str] = {
    "init": "before the calls",
    "inputs": "inputs",
    "run": "first call",
    "run2": "second call",
}


_Line = str | Callable[[], str]
"""A line, or a function that makes it, so that omitted lines cost nothing."""


def tape_text(tape: Tape, effects: KernelsEffects | None = None) -> str:
    """Return the tape as lines of text, `MAX_LINES` at most.

    `effects` are its kernels' reads and writes. Without them, each launch is assumed to write all
    of its arguments, so that none is shown as dead.
    """
    flow = flow_of(tape, effects or {})
    lines: list[str] = []
    rest = 0
    for item in _lines(tape, flow, is_known=bool(effects)):
        if len(lines) < MAX_LINES:
            line = item if isinstance(item, str) else item()
            lines.append(
                line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 3] + "..."
            )
        else:
            rest += 1
    if rest:
        lines.append(f"... and {rest} more lines")
    return "\n".join([line.rstrip() for line in lines]) + "\n"


def _lines(tape: Tape, flow: Flow, *, is_known: bool) -> Iterator[_Line]:
    launches = sum(isinstance(op, TapeLaunch) for op in tape.ops)
    yield f"torch {tape.torch}, seed {tape.seed}: {len(tape.ops)} ops, {launches} of them launches"
    if launches and not is_known:
        yield "the kernels' writes are unknown: each launch is assumed to write all its arguments"
    if not tensors_of(tape.outputs):
        yield "no tensor is returned, so dead ops are not marked"
    for name, kernel in tape.kernels.items():
        parameters = ", ".join(parameter.name for parameter in kernel.parameters)
        yield f"kernel {name}: {kernel.name}({parameters}) at {kernel.file}:{kernel.line}"
    for name, id_ in tape.params[:_MAX_LISTED]:
        yield f"parameter {name}: {_tensor(tape, id_)}"
    if len(tape.params) > _MAX_LISTED:
        yield f"and {len(tape.params) - _MAX_LISTED} more parameters"
    yield from _inputs(tape)
    for phase in PHASES:
        yield from _phase(tape, flow, phase)
    yield from _returned(tape, flow)


def _inputs(tape: Tape) -> Iterator[str]:
    for call, inputs in (("first", tape.inputs), ("second", tape.inputs2)):
        for number, structure in enumerate(inputs):
            yield f"input {number} of the {call} call: {_structure(tape, structure)}"


def _phase(tape: Tape, flow: Flow, phase: Phase) -> Iterator[_Line]:
    ops = [(index, op) for index, op in enumerate(tape.ops) if op.phase == phase]
    if not ops:
        return
    yield ""
    yield f"{_TITLES[phase]} ({phase}): {len(ops)} ops"
    before = None
    for index, op in ops:
        place = f"{op.place.file}:{op.place.line}" if op.place else ""
        shown = place if place != before else ""
        before = place
        yield partial(_op_line, tape, flow, index, op, shown)


def _op_line(tape: Tape, flow: Flow, index: int, op: Op, place: str) -> str:
    return f"  {place:{_PLACE_CHARS}} {_op(tape, op)}{_remarks(tape, flow, index, op)}"


def _remarks(tape: Tape, flow: Flow, index: int, op: Op) -> str:
    if isinstance(op, Seeding) or (isinstance(op, AtenOp) and makes_views(op)):
        return ""
    is_judged = bool(tensors_of(tape.outputs)) and op.phase in ("run", "run2")
    is_dead = is_judged and flow.is_dead(index)
    inputs = _input_numbers(tape, flow, flow.op_sources[index])
    return f"{inputs and f'  <- {inputs}'}{'  DEAD' if is_dead else ''}"


def _input_numbers(tape: Tape, flow: Flow, sources: int) -> str:
    numbers = []
    for call, inputs in (("", tape.inputs), ("'", tape.inputs2)):
        for number, structure in enumerate(inputs):
            storages = [tape.tensors[id_].storage for id_ in tensors_of(structure)]
            if any(sources & flow.input_bits[storage] for storage in storages):
                numbers.append(f"{number}{call}")
    if call_inputs := list(dict.fromkeys(numbers)):
        names = ", ".join(call_inputs[:_MAX_LISTED])
        return f"input {names}" if len(call_inputs) == 1 else f"inputs {names}"
    return ""


def _returned(tape: Tape, flow: Flow) -> Iterator[str]:
    yield ""
    calls = (
        ("first", tape.outputs, flow.output_sources),
        ("second", tape.outputs2, flow.output2_sources),
    )
    for call, structure, sources in calls:
        for number, id_ in enumerate(tensors_of(structure)[:_MAX_LISTED]):
            inputs = _input_numbers(tape, flow, sources[number]) or "no input"
            yield f"output {number} of the {call} call: {_tensor(tape, id_)}, depends on {inputs}"
    yield "(an input with ' belongs to the second call)"


def _op(tape: Tape, op: Op) -> str:
    if isinstance(op, Seeding):
        of = "" if op.generator is None else f" of generator {op.generator}"
        return f"seed {op.seed}{of}" + ("" if op.device is None else f" on {op.device}")
    if isinstance(op, TapeLaunch):
        return _launch(tape, op)
    arguments = [_value(value) for value in op.args]
    arguments.extend(f"{name}={_value(value)}" for name, value in op.kwargs.items())
    made = ", ".join(_tensor(tape, id_) for id_ in op.outputs[:_MAX_LISTED] if id_ is not None)
    return f"{op.op}({', '.join(arguments)}){made and ' -> '}{made}"


def _launch(tape: Tape, op: TapeLaunch) -> str:
    arguments = [f"{name}={_value(value)}" for name, value in {**op.args, **op.constexprs}.items()]
    options = "".join(f", {name}={value}" for name, value in op.options.items())
    tried = f", {len(op.variants)} configurations" if op.variants else ""
    grid = ", ".join(str(size) for size in op.grid)
    return f"launch {tape.kernels[op.kernel].name}[{grid}]({', '.join(arguments)}){options}{tried}"


def _tensor(tape: Tape, id_: int) -> str:
    tensor = tape.tensors[id_]
    sizes = ", ".join(str(size) for size in tensor.shape)
    return f"%{id_} {tensor.dtype}[{sizes}]{'' if tensor.device == 'cuda' else ' on the CPU'}"


def _value(value: Value | LaunchValue) -> str:
    if isinstance(value, TensorRef):
        return f"%{value.id}"
    if isinstance(value, tuple):
        shown = [_value(item) for item in value[:_MAX_LISTED]]
        return f"[{', '.join([*shown, *(['...'] if len(value) > _MAX_LISTED else [])])}]"
    if isinstance(value, TapeDescriptor):
        return f"descriptor(%{value.base.id}, {list(value.shape)}, block {list(value.block_shape)})"
    if isinstance(value, ReinterpretedArgument):
        return f"%{value.base.id} as {value.dtype}"
    if isinstance(value, KernelArgument):
        return value.kernel
    if isinstance(value, GeneratorRef):
        return f"generator {value.number}"
    if isinstance(value, str):
        return ascii(value)
    return str(value) if value is None or isinstance(value, (int, float, complex)) else value.name


def _structure(tape: Tape, structure: Structure) -> str:
    if isinstance(structure, TensorRef):
        return _tensor(tape, structure.id)
    if isinstance(structure, (ListOf, TupleOf)):
        shown = [_structure(tape, item) for item in structure.items[:_MAX_LISTED]]
        return f"[{', '.join(shown)}]" if isinstance(structure, ListOf) else f"({', '.join(shown)})"
    if isinstance(structure, DictOf):
        items = structure.items[:_MAX_LISTED]
        return f"{{{', '.join(f'{key!a}: {_structure(tape, item)}' for key, item in items)}}}"
    return ascii(structure) if isinstance(structure, str) else str(structure)
