"""Finds flags: signs in a tape that a program skips work, caches results or only seems to compute.

A flag describes what the tape shows, at the user's line, and what to do. It is raised only if the
tape allows no other reading, and not if the reference does the same.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from launch.checks.precision_measure import MANTISSA_BITS
from programs.flag_kinds import FlagKind, without_excess
from programs.tape.flow import DRAWN_ON_CUDA, PREPARED, UNWRITTEN, Flow, KernelsEffects, flow_of
from programs.tape.overload_effects import (
    argument_tensors,
    drawing_device,
    makes_views,
    tensors_at,
    written_tensors,
)
from programs.tape.schema import (
    AtenOp,
    Op,
    Phase,
    ProgramLine,
    Seeding,
    Structure,
    Tape,
    TapeLaunch,
    TensorMeta,
    tensors_of,
)

_MAX_FLAGS = 100
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class TapeFlag:
    """One sign, with the line of the program that it is about."""

    kind: FlagKind
    message: str
    file: str | None
    line: int | None


def flags_of(
    tape: Tape,
    effects: KernelsEffects,
    reference: Tape | None = None,
) -> tuple[TapeFlag, ...]:
    """Return the flags of a candidate's tape, without duplicates, at most a hundred.

    `effects` are the reads and writes of each kernel (`kernel_effects`), and `reference` is the
    tape of the reference.
    """
    if not any(op.phase == "run" for op in tape.ops) and not tensors_of(tape.outputs):
        return ()
    flow = flow_of(tape, effects)
    flags = [
        *_launches(tape, flow),
        *_outputs(tape, flow, reference),
        *_second_call(tape, flow, reference),
        *_seeded(tape, flow, reference),
        *_rounded(tape, flow, reference),
    ]
    return tuple(without_excess(flags, _MAX_FLAGS))


def _flag(kind: FlagKind, message: str, place: ProgramLine | None) -> TapeFlag:
    return TapeFlag(kind, message, place.file if place else None, place.line if place else None)


def _launches(tape: Tape, flow: Flow) -> Iterator[TapeFlag]:
    launches = [
        (index, op)
        for index, op in enumerate(tape.ops)
        if isinstance(op, TapeLaunch) and op.phase == "run"
    ]
    if not launches:
        message = "the program launches no kernel, so torch does all of the work; launch one"
        yield _flag("no_kernel", message, None)
        return
    if all(0 in tape.tensors[id_].shape for id_ in tensors_of(tape.outputs)):
        return  # a program without outputs may do its work for what it prints
    if not any(index in flow.live for index, _ in launches):
        message = (
            "the program launches kernels, but no output depends on what they write: torch "
            "does the work; return what the kernels compute"
        )
        yield _flag("no_kernel", message, launches[0][1].place)
    for index, launch in launches:
        if flow.is_dead(index) and not _is_of_nothing(launch, tape):
            name = tape.kernels[launch.kernel].name
            message = (
                f"no output depends on this launch of {name}: use what it writes, or leave it out"
            )
            yield _flag("dead_launch", message, launch.place)


def _is_of_nothing(launch: TapeLaunch, tape: Tape) -> bool:
    """Return True for an empty grid over an empty tensor: there is nothing to do."""
    ids = [id_ for value in launch.args.values() for id_ in tensors_of(value)]
    return 0 in launch.grid and any(0 in tape.tensors[id_].shape for id_ in ids)


def _outputs(tape: Tape, flow: Flow, reference: Tape | None) -> Iterator[TapeFlag]:
    ids = tensors_of(tape.outputs)
    expected = _expected_kinds(reference, len(ids))
    kinds = _output_kinds(tape, flow)
    writers = _last_writers(tape, flow)
    takes_tensors = any(tensors_of(item) for item in tape.inputs)
    for position, kind in enumerate(kinds):
        if kind is None or kind == expected[position]:
            continue
        if kind in ("constant_output", "precomputed"):
            is_sure = takes_tensors and (reference is not None or None not in kinds)
            if not is_sure:
                continue
        writer = writers.get(tape.tensors[ids[position]].storage)
        yield _flag(kind, f"output {position} {_WORDS[kind]}", writer.place if writer else None)


_WORDS: dict[FlagKind, str] = {
    "returned_input": "is an unchanged input: compute the result",
    "unwritten_output": "is memory that was never written: write it before returning it",
    "precomputed": (
        "depends on no input, only on what was computed before the call: compute it from the inputs"
    ),
    "constant_output": "depends on no input: compute it from the inputs",
}


def _expected_kinds(reference: Tape | None, number: int) -> list[FlagKind | None]:
    if reference is None:
        return [None] * number
    known = _output_kinds(reference, flow_of(reference, {}))
    return (known + [None] * number)[:number]


def _output_kinds(tape: Tape, flow: Flow) -> list[FlagKind | None]:
    """Return the flag kinds of the first call's outputs, None for those without a flag."""
    written: set[int] = set()
    for op, access in zip(tape.ops, flow.accesses, strict=True):
        if op.phase == "run":
            written |= access.writes
    return [
        _output_kind(tape.tensors[id_], sources, flow, written)
        for id_, sources in zip(tensors_of(tape.outputs), flow.output_sources, strict=True)
    ]


def _output_kind(
    tensor: TensorMeta, sources: int, flow: Flow, written: Collection[int]
) -> FlagKind | None:
    if 0 in tensor.shape:
        return None
    if sources == flow.input_bits.get(tensor.storage) and tensor.storage not in written:
        return "returned_input"
    if flow.depends_on_inputs(sources):
        return None
    if sources == UNWRITTEN:
        return "unwritten_output"
    return "precomputed" if sources & PREPARED else "constant_output"


def _last_writers(tape: Tape, flow: Flow) -> dict[int, Op]:
    """Return the last op that wrote each storage before the end of the first call."""
    writers: dict[int, Op] = {}
    for op, access in zip(tape.ops, flow.accesses, strict=True):
        if op.phase in ("init", "run"):
            writers.update(dict.fromkeys(access.writes, op))
    return writers


def _second_call(tape: Tape, flow: Flow, reference: Tape | None) -> Iterator[TapeFlag]:
    flags = _kept(tape, flow)
    if flags and reference is not None and _kept(reference, flow_of(reference, {})):
        return  # the reference keeps state as well
    yield from flags


def _seeded(tape: Tape, flow: Flow, reference: Tape | None) -> Iterator[TapeFlag]:
    """Yield draws of `__init__` that outputs depend on, after a seed of the program's own.

    Such numbers are known in advance, as inputs are if their seed is. A reference that seeds needs
    a program that does so, too.
    """
    if reference is not None and any(isinstance(op, Seeding) for op in reference.ops):
        return
    is_seeded = False
    for index, op in enumerate(tape.ops):
        if op.phase != "init":
            return
        is_seeded = is_seeded or isinstance(op, Seeding)
        if is_seeded and index in flow.live and drawing_device(op, tape) is not None:
            message = (
                "outputs depend on numbers that are drawn here, before the call, from the "
                "program's own seed: draw none, or seed as the reference does"
            )
            yield _flag("precomputed", message, op.place)


def _kept(tape: Tape, flow: Flow) -> list[TapeFlag]:
    """Return the signs that the second call reuses results of the first."""
    flags = []
    new = _bits(tape, flow, tape.inputs2)
    old = _bits(tape, flow, tape.inputs) & ~new
    for position, sources in enumerate(flow.output2_sources):
        first = flow.output_sources[position : position + 1]
        is_stale = bool(sources & old)
        if is_stale or (first and first[0] & old and not sources & new):
            message = (
                f"output {position} of the second call depends on "
                f"{'the inputs of the first' if is_stale else 'none of its inputs'}: do not keep "
                "results for the next call"
            )
            flags.append(_flag("cached_result", message, None))
    difference = _difference_of_calls(tape, flow) if tensors_of(tape.outputs2) else None
    return flags if difference is None else [*flags, difference]


def _bits(tape: Tape, flow: Flow, inputs: tuple[Structure, ...]) -> int:
    bits = 0
    for structure in inputs:
        for id_ in tensors_of(structure):
            bits |= flow.input_bits[tape.tensors[id_].storage]
    return bits


def _difference_of_calls(tape: Tape, flow: Flow) -> TapeFlag | None:
    """Return where the calls differ in their work on inputs, None if they do the same.

    Work that depends on no input may differ: preparing weights in the first call is not a cheat.
    Numbers may differ, too, such as the seed of a dropout.
    """
    first, second = _work(tape, flow, "run"), _work(tape, flow, "run2")
    for first_op, other in zip_longest(first, second):
        if (
            first_op is None
            or other is None
            or _signature(first_op, tape) != _signature(other, tape)
        ):
            message = (
                f"the first call does {_op_text(first_op, tape)}, but the second, with inputs of "
                f"the same shapes, does {_op_text(other, tape)}: do the same work in each call"
            )
            place = next(
                (op.place for op in (first_op, other) if op is not None and op.place), None
            )
            return _flag("cached_result", message, place)
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


def _rounded(tape: Tape, flow: Flow, reference: Tape | None) -> Iterator[TapeFlag]:
    """Yield ops that round to a narrower dtype than the reference has anywhere.

    Outputs depend on them and are wider again: kernels that get halves did not lose the precision.
    The host lost it with a cast, or a buffer between two kernels did with its dtype.
    """
    if reference is None:
        return
    floats = [meta.dtype for meta in reference.tensors if meta.dtype in MANTISSA_BITS]
    least = min((MANTISSA_BITS[dtype] for dtype in floats), default=0)
    widest = max(_mantissa_bits(tape, tensors_of(tape.outputs)), default=0)
    for index, (op, access) in enumerate(zip(tape.ops, flow.accesses, strict=True)):
        if index not in flow.live or op.phase not in ("init", "run"):
            continue
        read = max(_mantissa_bits(tape, _used(op, access.reads, tape)), default=0)
        made = min(_mantissa_bits(tape, _written(op, access.writes, tape)), default=read)
        if made < least and made < read and made < widest:
            message = (
                f"floats are rounded to {made} bits of mantissa here, and outputs depend on them; "
                f"the reference keeps at least {least} bits: use its dtypes"
            )
            yield _flag("precision_downgrade", message, op.place)


def _used(op: Op, storages: Collection[int], tape: Tape) -> Iterable[int]:
    """Return the tensors by which an op uses these storages."""
    return [id_ for id_ in tensors_at(op) if tape.tensors[id_].storage in storages]


def _written(op: Op, storages: Collection[int], tape: Tape) -> Iterable[int]:
    """Return the tensors by which an op writes to these storages."""
    if not isinstance(op, AtenOp):
        return _used(op, storages, tape)
    made = (*written_tensors(op), *(id_ for id_ in op.outputs if id_ is not None))
    return [id_ for id_ in made if tape.tensors[id_].storage in storages]


def _mantissa_bits(tape: Tape, ids: Iterable[int]) -> list[int]:
    """Return the mantissa bits of the tensors with floats, whatever else their memory holds."""
    dtypes = [tape.tensors[id_].dtype for id_ in ids]
    return [MANTISSA_BITS[dtype] for dtype in dtypes if dtype in MANTISSA_BITS]


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
        {at for sources in calls for at, bits in enumerate(sources) if bits & DRAWN_ON_CUDA}
    )
    if not outputs:
        return None
    place = next((op.place for index, op in drawing if index in flow.live), None)
    where = f" at {place.file}:{place.line}" if place is not None else ""
    listed = ", ".join(map(str, outputs[:_MAX_NAMED])) + (", …" if outputs[_MAX_NAMED:] else "")
    return (
        f"Outputs depend on random numbers that the program draws on CUDA{where} (outputs {listed})"
        ". From the same seed, the CPU device and a GPU draw different numbers. Draw on the CPU to "
        "get the same values everywhere."
    )
