"""Names what a call leaves: outputs by path (`0`, `1.a`), inputs, parameters and buffers."""

from collections.abc import Iterator

from programs.tape.schema import DictOf, ListOf, Scalar, Structure, Tape, TensorRef, TupleOf

MOST_PARAMETERS = 2_000
"""Limit of a model's parameters and buffers that are compared with the reference's."""
ONLY = "0"
"""The path of an output that is in no list, tuple or dict."""


def by_path(structure: Structure) -> dict[str, TensorRef | Scalar]:
    """Return the tensors and scalars of a structure, in order, by path."""
    if isinstance(structure, (ListOf, TupleOf, DictOf)):
        return dict(_inside(structure, ""))
    return {ONLY: structure}


def input_path(path: str) -> str:
    """Return the path of a changed input, from its path among the inputs."""
    return f"inputs[{path}]"


def state_path(name: str) -> str:
    """Return the path of a changed parameter or buffer."""
    return f"state[{name}]"


def changeable(tape: Tape, call: int) -> list[tuple[str, int]]:
    """Return what a call may change besides its outputs, by path: inputs, parameters, buffers."""
    given = by_path(TupleOf(tape.inputs2 if call else tape.inputs))
    inputs = [(input_path(p), one.id) for p, one in given.items() if isinstance(one, TensorRef)]
    return inputs + [(state_path(name), id_) for name, id_ in tape.params[:MOST_PARAMETERS]]


def _inside(structure: Structure, path: str) -> Iterator[tuple[str, TensorRef | Scalar]]:
    if isinstance(structure, DictOf):
        items = [(_escaped(name), item) for name, item in structure.items]
    elif isinstance(structure, (ListOf, TupleOf)):
        items = [(str(number), item) for number, item in enumerate(structure.items)]
    else:
        yield path, structure
        return
    for name, item in items:
        yield from _inside(item, f"{path}.{name}" if path else name)


def _escaped(name: str) -> str:
    """Return the name of an item with its dots escaped, so that paths are unique."""
    return name.replace("\\", "\\\\").replace(".", "\\.")
