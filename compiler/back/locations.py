"""Carries locations of block arguments alongside TTIR, whose text lacks those of loops.

Without them the lines and value names below TTIR depend on how the text happens to be laid out.
"""

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

from compiler.back import triton_api
from compiler.messages.reports import BlockLocations

_MEMORY = re.compile(r"/proc/self/fd/\d+")


def collect(module: Any) -> BlockLocations:
    """Return the locations of all block arguments of `module`, in walking order, each text once."""
    table: dict[str, int] = {}
    blocks: list[list[int]] = []
    for block in _blocks_with_arguments(module):
        texts = [str(argument.get_loc()) for argument in block]
        blocks.append(
            [table.setdefault(triton_api.virtual_paths(text), len(table)) for text in texts]
        )
    return BlockLocations(table=list(table), blocks=blocks)


def restore(module: Any, context: Any, locations: BlockLocations) -> None:
    """Give the block arguments of `module`, parsed from text, the locations that `collect` saw.

    Raises `ValueError` if the module has other blocks than the one that was collected from.
    """
    blocks = list(_blocks_with_arguments(module))
    wanted = locations.blocks
    if [len(block) for block in blocks] != [len(block) for block in wanted]:
        message = "the block-argument locations do not belong to this TTIR"
        raise ValueError(message)
    known = _parse_locations(locations.table, context)
    for block, numbers in zip(blocks, wanted, strict=True):
        for argument, number in zip(block, numbers, strict=True):
            argument.set_loc(known[number])


def parse(text: str, context: Any) -> Any:
    """Parse MLIR text into `context` without a file.

    Raises `RuntimeError` (MLIR's words are on stderr).
    """
    descriptor = os.memfd_create("ir", 0)
    try:
        data = memoryview(text.encode())
        while data:
            data = data[os.write(descriptor, data) :]
        module = triton_api.ir.parse_mlir_module(f"/proc/self/fd/{descriptor}", context)
    finally:
        os.close(descriptor)
    module.context = context
    return module


def under_path(module: Any, path: str) -> Any:
    """Return `module` with the places in its own text told as places in `path`.

    What a text does not locate is located by the parser, in the memory that it was read from.
    """
    places = collect(module)
    text = str(module)
    if not _MEMORY.search(text) and not any(map(_MEMORY.search, places.table)):
        return module
    context = module.context
    renamed = parse(with_path(text, path), context)
    table = [with_path(place, path) for place in places.table]
    restore(renamed, context, BlockLocations(table=table, blocks=places.blocks))
    return renamed


def with_path(text: str, path: str) -> str:
    """Return `text` with `path` where MLIR named the memory that it parsed."""
    return _MEMORY.sub(path, text)


def _blocks_with_arguments(module: Any) -> Iterator[list[Any]]:
    seen: set[int] = set()
    blocks: list[list[Any]] = []

    def visit(operation: Any) -> None:
        block = operation.get_block()
        if block is None or block.id() in seen:
            return
        seen.add(block.id())
        count = block.get_num_arguments()
        if count:
            blocks.append([block.arg(index) for index in range(count)])

    walk: Callable[..., None] = module.walk
    walk(visit)
    return iter(blocks)


def _parse_locations(table: list[str], context: Any) -> list[Any]:
    """Turn location texts into MLIR locations: those of constants in a separate module."""
    constants = "\n".join(
        f"%c{i} = arith.constant {i} : i32 {text}" for i, text in enumerate(table)
    )
    side = parse(f"module {{\n{constants}\n}}\n", context)
    locations: list[Any] = []
    side.walk(lambda operation: _append_location(operation, locations))
    return locations


def _append_location(operation: Any, locations: list[Any]) -> None:
    if operation.get_name() == "arith.constant":
        locations.append(operation.get_result(0).get_loc())
