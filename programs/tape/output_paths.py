"""Flattens the outputs of a program: every tensor and scalar by its path, `0` or `1.a`."""

from collections.abc import Iterator

from programs.tape.schema import DictOf, ListOf, Scalar, Structure, TensorRef, TupleOf

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
