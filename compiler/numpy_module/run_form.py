"""The second form of a kernel in NumPy: what a CPU launch runs, many programs at once.

It is the artifact's text, made of the same tables, but that every value has a leading axis: of as
many programs as run at once, or of 1 where they all agree. It is no module of its own: what it
calls is given to it by who runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.lines.place import Place

RUN_FILE = "<run form>"
"""The file name that the text is compiled with, by which its frames are known."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of the kernel's IR, its type in Triton's spelling: `*fp32`, `i32`."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RunForm:
    """A kernel's text, and what who runs it has to know of it.

    `places` has one for each line of the text, `None` where a line came from nowhere.
    `is_batchable` says whether several programs may run at once. `largest_tile` is in elements.
    """

    text: str
    entry: str
    places: Sequence[Place | None]
    parameters: Sequence[Parameter]
    is_batchable: bool
    largest_tile: int
