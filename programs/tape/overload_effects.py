"""The reads and writes of an ATen op, from its name: of values, not of shapes."""

from collections.abc import Iterable, Iterator, Sequence

from programs.tape.allowed_overloads import ALLOWED, Kind
from programs.tape.schema import AtenOp, Device, Op, Tape, TapeLaunch, Value, tensors_of

_WITH_RUNNING_STATISTICS = frozenset({
    "aten.batch_norm.default",
    "aten.native_batch_norm.default",
    "aten._native_batch_norm_legit.default",
})  # fmt: skip
_RUNNING_STATISTICS = ((3, "running_mean"), (4, "running_var"))
"""Arguments that are written, and not read, in training. Names do not show it, nor do most of
torch's schemas."""
_DRAWS_BESIDE = frozenset({"bernoulli", "multinomial", "native_dropout", "normal", "rrelu"})
"""Ops that draw, and also depend on their arguments' values."""
_DROPOUT = {
    "scaled_dot_product_attention": (4, "dropout_p"), "lstm": (5, "dropout"), "gru": (5, "dropout"),
    "rnn_tanh": (5, "dropout"), "rnn_relu": (5, "dropout"),
}  # fmt: skip
"""Ops that draw if this argument is not 0."""
_WITHOUT_VALUES: frozenset[Kind] = frozenset({"uninitialized", "constant", "random"})


def kind_of(op: AtenOp) -> Kind:
    """Return the kind of the op's outputs."""
    return ALLOWED[op.op].kind


def name_of(op: AtenOp) -> str:
    """Return the op's name without `aten.` and without its overload."""
    return op.op.split(".")[1]


def draws(op: AtenOp) -> bool:
    """Return True if the op draws from a random generator."""
    name = name_of(op)
    dropout = _DROPOUT.get(name)
    if dropout is not None:
        return _argument(op, *dropout) not in (None, 0)
    return kind_of(op) == "random" or name in _DRAWS_BESIDE


def drawing_device(op: Op, tape: Tape) -> Device | None:
    """Return the device type that an op draws numbers on, None if it draws none."""
    if not isinstance(op, AtenOp) or not draws(op):
        return None
    return next((tape.tensors[id_].device for id_ in op.outputs if id_ is not None), None)


def is_in_place(op: AtenOp) -> bool:
    """Return True if the op writes its first argument, by torch's naming rule."""
    name = name_of(op)
    return name.endswith("_") and not name.endswith("__") and kind_of(op) != "metadata"


def makes_views(op: AtenOp) -> bool:
    """Return True if all results lie in the storage of the first argument."""
    return kind_of(op) in ("view", "metadata")


def argument_tensors(op: AtenOp) -> tuple[int, ...]:
    """Return all tensors among the op's arguments, in order."""
    return tensors_of(op.args) + tensors_of(tuple(op.kwargs.values()))


def written_tensors(op: AtenOp) -> tuple[int, ...]:
    """Return the tensors among the op's arguments whose values it may change."""
    written: tuple[int, ...] = tensors_of(op.kwargs.get("out"))
    if is_in_place(op):
        written += tensors_of(_argument(op, 0, "self"))
    return written + _statistics(op)


def tensors_at(op: Op) -> Iterator[int]:
    """Yield the tensors that an op takes or makes, with repetitions."""
    match op:
        case AtenOp():
            yield from tensors_of(op.args)
            for value in op.kwargs.values():
                yield from tensors_of(value)
            yield from (id_ for id_ in op.outputs if id_ is not None)
        case TapeLaunch():
            for argument in op.args.values():
                yield from tensors_of(argument)


def tensors_made(ops: Iterable[Op]) -> frozenset[int]:
    """Return the tensors that ops made. Those returned in place do not count."""
    made: set[int] = set()
    for op in ops:
        if isinstance(op, AtenOp):
            new = {id_ for id_ in op.outputs if id_ is not None}
            made |= new.difference(argument_tensors(op))
    return frozenset(made)


def _statistics(op: AtenOp) -> tuple[int, ...]:
    """Return the running statistics that a batch norm changes; none unless it trains."""
    if op.op not in _WITH_RUNNING_STATISTICS or _argument(op, 5, "training") is not True:
        return ()
    return tensors_of(tuple([_argument(op, at, name) for at, name in _RUNNING_STATISTICS]))


def _argument(op: AtenOp, position: int, name: str) -> Value:
    """Return an argument by its position or its name, None if it is not given."""
    return op.args[position] if position < len(op.args) else op.kwargs.get(name)


def overwritten_tensors(op: AtenOp) -> tuple[int, ...]:
    """Return the tensors that the op overwrites completely."""
    is_overwritten = kind_of(op) in ("constant", "random", "overwrite") and is_in_place(op)
    outs = tensors_of(op.kwargs.get("out"))
    return outs + (tensors_of(op.args[:1]) if is_overwritten else ())


def read_tensors(op: AtenOp) -> tuple[int, ...]:
    """Return the tensors on whose values the op's results depend."""
    kind = kind_of(op)
    if kind in _WITHOUT_VALUES:
        return ()
    if kind == "overwrite":
        return _all(op.args[1:], tuple(op.kwargs.values()))
    outs = frozenset((*tensors_of(op.kwargs.get("out")), *_statistics(op)))
    return tuple([id_ for id_ in argument_tensors(op) if id_ not in outs])


def _all(*values: Sequence[object]) -> tuple[int, ...]:
    return tuple([id_ for group in values for item in group for id_ in tensors_of(item)])  # type: ignore[arg-type]
