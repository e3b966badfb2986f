"""The line table: for each of the user's lines, the lines that come from it.

A line of an artifact is listed under each of the user's lines on its chain: that of the helper it
was written in, and those of the calls through which it came to be there.
"""

from collections.abc import Callable, Mapping
from typing import Any

from compiler.lines.assembly import map_assembly
from compiler.lines.llvm_ir import map_llvm_ir
from compiler.lines.mlir import map_mlir
from compiler.lines.sass import map_sass
from compiler.lines.source_location import InlineChain, LineMap
from compiler.stages import BY_NAME, MAPPED, Syntax

USER_FOLDER = "/kernel/"
READERS: Mapping[Syntax, Callable[[str], LineMap]] = {
    "mlir": map_mlir,
    "llvm": map_llvm_ir,
    "ptx": map_assembly,
    "amdgcn": map_assembly,
    "sass": map_sass,
}
"""The reader of a text that has the lines of other files, by its syntax."""
MAPS = {name: READERS[BY_NAME[name].syntax] for name in MAPPED}
"""The same by the name of a stage, in the order of the pipeline."""


def line_maps(artifacts: Mapping[str, str]) -> dict[str, LineMap]:
    """Return the line maps of those of `artifacts`, texts by stage, that are mapped."""
    return {stage: MAPS[stage](text) for stage, text in artifacts.items() if stage in MAPS}


def table(maps: Mapping[str, LineMap]) -> list[dict[str, Any]]:
    """Return one entry per line of the user's that some artifact stems from.

    `maps` are those of the artifacts by stage. Files are named as the user named them, without a
    folder of this server; lines of Triton's own library do not occur.
    """
    rows: dict[tuple[str, int], dict[str, list[int]]] = {}
    for stage, found in maps.items():
        for number, chain in found.chains.items():
            for location in user_lines_of(chain):
                row = rows.setdefault(location, {name: [] for name in MAPS})
                row[stage].append(number)
    return [
        {"file": file, "line": line, **{stage: sorted(row[stage]) for stage in MAPS}}
        for (file, line), row in sorted(rows.items())
    ]


def user_lines_of(chain: InlineChain) -> list[tuple[str, int]]:
    """Return the user's files and lines on `chain`, innermost first, each once."""
    locations = [
        (location.file.removeprefix(USER_FOLDER), location.line)
        for location in chain
        if location.file.startswith(USER_FOLDER)
    ]
    return list(dict.fromkeys(locations))
