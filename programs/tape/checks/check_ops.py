"""Walks the ops of a tape in order, and checks their arguments and results.

Every tensor is defined once before it is used, only views share a storage, and each shape that
needs no torch is derived again. Raises `InvalidTape`; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from programs.tape.allowed_overloads import ALLOWED
from programs.tape.checks.derived_outputs import (
    VIEWS,
    Arguments,
    Geometry,
    NotDerivable,
    derived_dtype,
    derived_shape,
    derived_strides,
    possible_devices,
)
from programs.tape.checks.fragile_arguments import check_fragile
from programs.tape.overload_effects import (
    argument_tensors,
    kind_of,
    makes_views,
    name_of,
    tensors_made,
    written_tensors,
)
from programs.tape.schema import (
    ELEMENT_BYTES,
    PHASES,
    AtenOp,
    InvalidTape,
    LaunchValue,
    Phase,
    ReinterpretedArgument,
    Structure,
    Tape,
    TapeDescriptor,
    TapeKernel,
    TapeLaunch,
    TensorMeta,
    TensorRef,
    tensors_of,
)
from programs.tape.tensor_extents import element_bytes, spanned_bytes

_EARLIER: dict[Phase, tuple[Phase, ...]] = {
    "init": ("init", "inputs"),
    "inputs": ("init", "inputs", "run"),
    "run": ("init", "inputs", "run"),
    "run2": ("init", "inputs", "run", "run2"),
}
"""The phases that may have ops before an op of a phase."""


def check_ops(tape: Tape) -> None:
    """Raise `InvalidTape` for the first op, launch or structure that is impossible."""
    walk = _Walk(tape)
    made = tensors_made(tape.ops)
    walk.give(tape.constants, "/constants", may_share=False)
    walk.give(_given(tape.init_inputs, made), "/init_inputs")
    late = {"run": tape.inputs, "run2": tape.inputs2}
    seen: set[Phase] = set()
    for index, op in enumerate(tape.ops):
        where = f"/ops/{index}"
        if not seen <= set(_EARLIER[op.phase]):
            raise InvalidTape(where, f"phase {op.phase} comes after {', '.join(sorted(seen))}")
        for phase in ("run", "run2"):
            if op.phase in ("run", "run2") and phase <= op.phase and phase in late:
                walk.start(phase, _given(late.pop(phase), made))
        seen.add(op.phase)
        if isinstance(op, AtenOp):
            walk.op(op, where)
        elif isinstance(op, TapeLaunch):
            check_launch(op, tape, where)
            walk.launch(op, where)
    for phase, inputs in late.items():
        walk.start(phase, _given(inputs, made))
    walk.finish()


def _given(structures: Sequence[Structure], made: frozenset[int]) -> list[int]:
    ids = [id_ for structure in structures for id_ in tensors_of(structure)]
    return [id_ for id_ in dict.fromkeys(ids) if id_ not in made]


class _Walk:
    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._tensors = tape.tensors
        self._defined: dict[int, str] = {}
        """The phase in which each tensor was defined; "init" for constants and given ones."""
        self._storages: set[int] = set()

    def give(self, ids: Iterable[int], where: str, *, may_share: bool = True) -> None:
        """Define tensors from outside; with `may_share`, they may be views of the same storage."""
        storages: set[int] = set()
        for id_ in ids:
            if id_ in self._defined:
                continue  # the same input twice, or in both calls
            storage = self._tensors[id_].storage
            if storage in self._storages and not (may_share and storage in storages):
                raise InvalidTape(where, f"tensor {id_} is given in another tensor's storage")
            self._storages.add(storage)
            storages.add(storage)
            self._defined[id_] = "init"

    def start(self, phase: str, ids: list[int]) -> None:
        """Begin a call of the program: its inputs are defined from here on."""
        inputs = {"run": self._tape.inputs, "run2": self._tape.inputs2}[phase]
        where = {"run": "/inputs", "run2": "/inputs2"}[phase]
        self.give(ids, where)
        self._need([id_ for item in inputs for id_ in tensors_of(item)], where)
        if phase == "run":
            self._need([id_ for _, id_ in self._tape.params], "/params")

    def finish(self) -> None:
        """Check the outputs of the program."""
        self._need(tensors_of(self._tape.outputs), "/outputs", ("init", "inputs", "run"))
        self._need(tensors_of(self._tape.outputs2), "/outputs2")

    def op(self, op: AtenOp, where: str) -> None:
        """Take one ATen op."""
        if op.op not in ALLOWED:
            raise InvalidTape(f"{where}/op", f"{op.op} is not an overload that tapes allow")
        self._need(argument_tensors(op), where)
        try:
            check_fragile(op, self._tensors)
            self._outputs(op, where)
        except NotDerivable as error:
            raise InvalidTape(where, f"{op.op}: {error}") from None

    def launch(self, launch: TapeLaunch, where: str) -> None:
        """Take one launch: it makes no tensor."""
        for name, value in launch.args.items():
            self._need(tensors_of(value), f"{where}/args/{name}")

    def _need(self, ids: Sequence[int], where: str, phases: Sequence[str] = PHASES) -> None:
        for id_ in ids:
            if self._defined.get(id_) not in phases:
                raise InvalidTape(where, f"tensor {id_} is used before anything made it")

    def _outputs(self, op: AtenOp, where: str) -> None:
        expected = self._expected(op, where)
        dtype = derived_dtype(op, self._tensors)
        arguments = _Given.of(op, self._tensors)
        for position, id_ in enumerate(op.outputs):
            here = f"{where}/o/{position}"
            if id_ is None:
                if arguments.makes_views:
                    raise InvalidTape(here, "a view is a tensor, not null")
                continue
            tensor = self._tensors[id_]
            if position < len(expected):
                _compare(tensor, expected[position], op, here)
            self._define(id_, op, arguments, here)
            if (
                dtype is not None
                and tensor.dtype != dtype
                and (position == 0 or arguments.makes_views)
            ):
                raise InvalidTape(here, f"{op.op} makes {dtype}, but the tape has {tensor.dtype}")
            if tensor.device not in arguments.devices:
                raise InvalidTape(here, f"{op.op} makes no tensor on {tensor.device} here")

    def _expected(self, op: AtenOp, where: str) -> list[Geometry]:
        """Return the outputs that follow without torch: all of a view's, else the first."""
        derive = VIEWS.get(name_of(op)) if op.op != "aten.view.dtype" else None
        if derive is None:
            shape = derived_shape(op, self._tensors)
            return [] if shape is None else [Geometry(shape, derived_strides(op), None)]
        if not op.args or not isinstance(op.args[0], TensorRef):
            raise InvalidTape(where, f"{op.op} has no tensor as its first argument")
        expected = derive(self._tensors[op.args[0].id], Arguments(op))
        if len(expected) != len(op.outputs):
            made, recorded = len(expected), len(op.outputs)
            raise InvalidTape(where, f"{op.op} makes {made} tensors, but the tape has {recorded}")
        return expected

    def _define(self, id_: int, op: AtenOp, arguments: _Given, where: str) -> None:
        """Define an output: an argument in place, a view of an argument, or new memory."""
        tensor = self._tensors[id_]
        if id_ in self._defined:
            if id_ not in arguments.written and not (
                arguments.may_alias and id_ in arguments.tensors
            ):
                raise InvalidTape(
                    where, f"tensor {id_} was made before, and is not what is written"
                )
            return
        self._defined[id_] = op.phase
        if tensor.storage in self._storages:
            may_share = arguments.written or arguments.may_alias
            if not may_share or tensor.storage not in arguments.shared:
                raise InvalidTape(where, f"{op.op} returns no part of storage {tensor.storage}")
            return
        if arguments.makes_views:
            raise InvalidTape(where, f"{op.op} returns a part of its argument, not new memory")
        self._storages.add(tensor.storage)
        self._check_new(tensor, op, where)

    def _check_new(self, tensor: TensorMeta, op: AtenOp, where: str) -> None:
        if kind_of(op) not in ("uninitialized", "constant", "random"):
            return
        size = element_bytes(tensor)
        needed = spanned_bytes(tensor.shape, tensor.strides, tensor.offset, size)
        has = self._tape.storages[tensor.storage]
        if tensor.offset or needed != has:
            raise InvalidTape(where, f"{op.op} allocates {needed} bytes, its storage has {has}")


@dataclass(frozen=True, slots=True)
class _Given:
    """The arguments of an op, gathered once for all outputs, as there may be many of both."""

    tensors: frozenset[int]
    written: frozenset[int]
    makes_views: bool
    may_alias: bool
    """True if an output may be an argument, or a part of one."""
    shared: frozenset[int]
    """The storages that an output may share."""
    devices: frozenset[str]

    @classmethod
    def of(cls, op: AtenOp, tensors: Sequence[TensorMeta]) -> _Given:
        ids, written, views = argument_tensors(op), written_tensors(op), makes_views(op)
        return cls(
            frozenset(ids),
            frozenset(written),
            views,
            views or op.op == "aten.lift_fresh.default",
            frozenset([tensors[id_].storage for id_ in written or ids[:1]]),
            possible_devices(op, tensors),
        )


def _compare(tensor: TensorMeta, expected: Geometry, op: AtenOp, where: str) -> None:
    if tensor.shape != expected.shape:
        made = list(expected.shape)
        raise InvalidTape(
            where, f"{op.op} makes the shape {made}, but the tape has {list(tensor.shape)}"
        )
    if 0 in tensor.shape:
        return
    if expected.strides is not None and _steps(tensor.strides, tensor) != _steps(
        expected.strides, tensor
    ):
        recorded = list(tensor.strides)
        raise InvalidTape(
            where,
            f"{op.op} makes the strides {list(expected.strides)}, but the tape has {recorded}",
        )
    if expected.offset not in (None, tensor.offset):
        raise InvalidTape(
            where, f"{op.op} begins at element {expected.offset}, but the tape has {tensor.offset}"
        )


def _steps(strides: Sequence[int], tensor: TensorMeta) -> list[int]:
    """Return the strides that matter: for sizes of 1, fake and real tensors may differ."""
    if len(strides) != len(tensor.shape):
        return [-1]
    return [step for step, size in zip(strides, tensor.shape, strict=True) if size > 1]


def check_launch(launch: TapeLaunch, tape: Tape, where: str) -> None:
    """Raise `InvalidTape` for a launch that does not fit its kernel. Skips tensors."""
    kernel = tape.kernels.get(launch.kernel)
    if kernel is None:
        raise InvalidTape(f"{where}/kernel", f"there is no kernel {launch.kernel!r} in this tape")
    _check_parameters(launch, kernel, where)
    _check_variants(launch, where)
    for name, value in launch.constexprs.items():
        if tensors_of(value):
            raise InvalidTape(f"{where}/constexprs/{name}", "a tensor cannot be a constexpr")
    for name, value in launch.args.items():
        _check_argument(value, tape, f"{where}/args/{name}")


def _check_parameters(launch: TapeLaunch, kernel: TapeKernel, where: str) -> None:
    names = frozenset(parameter.name for parameter in kernel.parameters)
    passed = (*launch.args, *launch.constexprs)
    for name in passed:
        if name not in names:
            raise InvalidTape(where, f"kernel {kernel.name} has no parameter {name!r}")
    if len(set(passed)) != len(passed):
        twice = sorted(set(launch.args) & set(launch.constexprs))
        raise InvalidTape(where, f"{twice[0]!r} is an argument and a constexpr")
    for name in sorted(names.difference(passed)):
        raise InvalidTape(where, f"parameter {name!r} of kernel {kernel.name} has no argument")
    for name in dict.fromkeys(
        (*launch.reset_to_zero, *launch.restore_value)
    ):  # some are there twice
        if not tensors_of(launch.args.get(name)):
            raise InvalidTape(where, f"{name!r} is not a tensor, so an autotuner cannot restore it")


def _check_variants(launch: TapeLaunch, where: str) -> None:
    known = {**launch.args, **launch.constexprs}
    for index, variant in enumerate(launch.variants):
        here = f"{where}/variants/{index}"
        for name, value in variant.constexprs.items():
            if name not in known or tensors_of(value):
                raise InvalidTape(here, f"{name!r} is not a constexpr that can vary")
    if launch.variants and not _is_first(launch, known):
        raise InvalidTape(f"{where}/variants/0", "the first variant is not the launch itself")


def _is_first(launch: TapeLaunch, known: Mapping[str, LaunchValue]) -> bool:
    first = launch.variants[0]
    return (
        not first.unprepared
        and first.grid == launch.grid
        and first.options == launch.options
        and all(
            (type(known[name]), repr(known[name])) == (type(value), repr(value))
            for name, value in first.constexprs.items()
        )
    )


def _check_argument(value: LaunchValue, tape: Tape, where: str) -> None:
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            _check_argument(item, tape, f"{where}/{index}")
    elif isinstance(value, TapeDescriptor):
        tensor = tape.tensors[value.base.id]
        size = ELEMENT_BYTES[tensor.dtype]
        reach = spanned_bytes(value.shape, value.strides, tensor.offset, size)
        if reach > tape.storages[tensor.storage]:
            there = tape.storages[tensor.storage]
            raise InvalidTape(where, f"the descriptor reaches {reach} bytes into {there}")
    elif isinstance(value, ReinterpretedArgument) and value.dtype not in ELEMENT_BYTES:
        raise InvalidTape(where, f"memory cannot be reinterpreted as {value.dtype}")
