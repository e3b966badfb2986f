"""Writes the pointers and masks that replace the block pointers of a function.

A block pointer becomes a tensor of pointers and the positions of its elements, one variable for
each dimension. Positions have 64 bits, as those of block pointers had: a row times its stride may
not fit 32.
"""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.front.diagnosis.context import Match, RaisedContext
from compiler.front.diagnosis.replacements import BLOCK_POINTERS

REMOVED = re.compile(r"Block pointers have been removed")
_WITHOUT = (
    "Triton 3.6 to 3.8 have them. For 3.9 write a tensor descriptor, or pointers and masks, which "
    "take any strides:"
)
_MAKE, _ADVANCE = "make_block_ptr", "advance"
_PARAMETERS = ("base", "shape", "strides", "offsets", "block_shape")
_CHECKS = ("boundary_check", "padding_option")
_PADDINGS = {"zero": "0.0", "nan": 'float("nan")'}


@dataclass(frozen=True)
class Replacement:
    """The text to write instead of a statement or a call; several lines for a statement."""

    node: ast.stmt | ast.Call
    text: str


def advice(_: Match, context: RaisedContext) -> str:
    """Return the statement to write instead of the one that makes a block pointer."""
    for item in replacements(context.tree):
        line = getattr(context.node, "lineno", 0)
        if item.node.lineno <= line <= (item.node.end_lineno or item.node.lineno):
            return f"{_WITHOUT}\n{item.text}"
    return BLOCK_POINTERS


@dataclass(frozen=True)
class _BlockPointer:
    """The arguments of one `tl.make_block_ptr`, as text, and the names of its positions."""

    name: str
    base: str
    shape: tuple[str, ...]
    strides: tuple[str, ...]
    offsets: tuple[str, ...]
    block_shape: tuple[str, ...]
    positions: tuple[str, ...]
    may_be_negative: bool

    def at(self, dimension: int) -> str:
        """Return the positions of a dimension, with the block's number of dimensions."""
        rank = len(self.positions)
        if rank == 1:
            return self.positions[0]
        index = ", ".join(":" if other == dimension else "None" for other in range(rank))
        return f"{self.positions[dimension]}[{index}]"

    def mask(self, dimensions: Sequence[int]) -> str:
        """Return the condition that the positions of `dimensions` are inside the tensor."""
        terms = []
        for dimension in dimensions:
            position = self.at(dimension)
            terms.append(f"{position} < {self.shape[dimension]}")
            if self.may_be_negative:
                terms.append(f"{position} >= 0")
        return terms[0] if len(terms) == 1 else " & ".join(f"({term})" for term in terms)


def replacements(tree: ast.AST) -> list[Replacement]:
    """Return the replacements for all that a function does with block pointers, in order.

    A block pointer that is not given a name, or whose block has no number of dimensions that the
    text shows, is left out, with its loads and stores.
    """
    known: dict[str, _BlockPointer] = {}
    taken = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    edits = []
    for node in _in_order(tree):
        text = _instead(node, known, taken)
        if text is not None:
            edits.append(Replacement(node, text))
    return edits


def _in_order(tree: ast.AST) -> list[ast.stmt | ast.Call]:
    """Return statements and calls as the text has them, outer ones first."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.Call))]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def _instead(
    node: ast.stmt | ast.Call, known: dict[str, _BlockPointer], taken: set[str]
) -> str | None:
    """Return the text to write instead of `node`; a pointer that it makes is added to `known`."""
    if isinstance(node, ast.Call):
        return _access(node, known)
    assigned = _assigned(node)
    if assigned is None:
        return None
    name, call = assigned
    if _is_call_of(call, _MAKE):
        pointer = _read(name, call, taken)
        known.pop(name, None)
        if pointer is None:
            return None
        known[name] = pointer
        return _made(pointer, node)
    moved = _moved(call, known)
    return _advanced(*moved, node) if moved is not None and moved[0].name == name else None


def _assigned(statement: ast.stmt) -> tuple[str, ast.Call] | None:
    """Return the name and the call of `name = f(...)`."""
    if not (isinstance(statement, ast.Assign) and len(statement.targets) == 1):
        return None
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Name) and isinstance(value, ast.Call):
        return target.id, value
    return None


def _is_call_of(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) == name


def _read(name: str, call: ast.Call, taken: set[str]) -> _BlockPointer | None:
    arguments: dict[str, ast.expr] = dict(zip(_PARAMETERS, call.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    block = arguments.get("block_shape")
    if not isinstance(block, (ast.Tuple, ast.List)) or not set(_PARAMETERS) <= arguments.keys():
        return None
    rank = len(block.elts)
    lists = {key: _items(arguments[key], rank) for key in _PARAMETERS[1:]}
    if rank == 0 or any(items is None for items in lists.values()):
        return None
    texts = {key: tuple(map(_text, items or ())) for key, items in lists.items()}
    positions = tuple(_unused(f"{name}_{dimension}", taken) for dimension in range(rank))
    negative = any(_may_be_negative(item) for item in lists["offsets"] or ())
    return _BlockPointer(
        name=name,
        base=_text(arguments["base"]),
        shape=texts["shape"],
        strides=texts["strides"],
        offsets=texts["offsets"],
        block_shape=texts["block_shape"],
        positions=positions,
        may_be_negative=negative,
    )


def _items(node: ast.expr, rank: int) -> list[ast.expr] | None:
    """Return the items of a tuple of `rank` items: its own, or those of a variable."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts if len(node.elts) == rank else None
    return [ast.Subscript(node, ast.Constant(index), ast.Load()) for index in range(rank)]


def _text(node: ast.expr) -> str:
    text = ast.unparse(node)
    simple = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)
    return text if isinstance(node, simple) else f"({text})"


def _may_be_negative(node: ast.expr) -> bool:
    signs = (ast.Sub, ast.USub)
    return any(isinstance(getattr(inner, "op", None), signs) for inner in ast.walk(node))


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _made(pointer: _BlockPointer, statement: ast.stmt) -> str:
    lines, terms = [], [pointer.base]
    parts = zip(
        pointer.positions, pointer.offsets, pointer.block_shape, pointer.strides, strict=True
    )
    for dimension, (position, offset, size, stride) in enumerate(parts):
        numbers = f"tl.arange(0, {size})"
        start = numbers if offset == "0" else f"({offset} + {numbers})"
        lines.append(f"{position} = {start}.to(tl.int64)")
        scale = "" if stride == "1" else f" * {stride}"
        terms.append(f"{pointer.at(dimension)}{scale}")
    lines.append(f"{pointer.name} = {' + '.join(terms)}")
    return _joined(lines, statement)


def _joined(lines: Sequence[str], statement: ast.stmt) -> str:
    """Return lines as they are pasted over a statement, whose indentation is kept."""
    return f"\n{' ' * statement.col_offset}".join(lines)


def _moved(
    call: ast.Call, known: dict[str, _BlockPointer]
) -> tuple[_BlockPointer, list[ast.expr]] | None:
    """Return the pointer and the distances of `tl.advance(p, (0, 64))` or `p.advance((0, 64))`."""
    if not _is_call_of(call, _ADVANCE):
        return None
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if len(arguments) == 1 and isinstance(call.func, ast.Attribute):
        arguments.insert(0, call.func.value)
    if len(arguments) != 2 or not isinstance(arguments[0], ast.Name):
        return None
    pointer = known.get(arguments[0].id)
    distances = _items(arguments[1], len(pointer.positions)) if pointer is not None else None
    return None if pointer is None or distances is None else (pointer, distances)


def _advanced(pointer: _BlockPointer, distances: list[ast.expr], statement: ast.stmt) -> str:
    lines = []
    for position, distance, stride in zip(
        pointer.positions, map(_text, distances), pointer.strides, strict=True
    ):
        if distance != "0":
            scale = "" if stride == "1" else f" * {stride}"
            lines += [f"{position} += {distance}", f"{pointer.name} += {distance}{scale}"]
    return _joined(lines or ["pass"], statement)


def _access(call: ast.Call, known: dict[str, _BlockPointer]) -> str | None:
    """Return a load or store through a block pointer with a mask instead of its checks."""
    is_load = _is_call_of(call, "load")
    if not (is_load or _is_call_of(call, "store")) or not call.args:
        return None
    pointer = known.get(getattr(call.args[0], "id", ""))
    checks = {k.arg: k.value for k in call.keywords if k.arg in _CHECKS}
    if pointer is None:
        return None
    asks_type = f"{pointer.name}.type.element_ty" in ast.unparse(call)  # a pointer's, from now on
    if not checks and not asks_type:
        return None
    dimensions = _dimensions(checks.get("boundary_check"), len(pointer.positions))
    arguments = [ast.unparse(argument) for argument in call.args]
    if dimensions:
        arguments.append(f"mask={pointer.mask(dimensions)}")
        if is_load:
            padding = getattr(checks.get("padding_option"), "value", "zero")
            arguments.append(f"other={_PADDINGS.get(padding, '0.0')}")
    kept = [ast.unparse(k) for k in call.keywords if k.arg not in _CHECKS]
    text = f"{ast.unparse(call.func)}({', '.join([*arguments, *kept])})"
    return re.sub(
        rf"\b{pointer.name}\.type\.element_ty\b", f"{pointer.name}.dtype.element_ty", text
    )


def _dimensions(node: ast.expr | None, rank: int) -> list[int]:
    """Return the dimensions that `boundary_check` names; all of them where the text shows none."""
    if node is None:
        return []
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return [node.value]
    items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else None
    values = [getattr(item, "value", None) for item in items or ()]
    named = [value for value in values if isinstance(value, int) and value < rank]
    is_known = items is not None and len(named) == len(values)
    return named if is_known else list(range(rank))
