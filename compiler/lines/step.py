"""A value that is shown while a kernel runs on the CPU device, as described by its IR."""

from dataclasses import dataclass

from compiler.lines.source_location import SourceLocation


@dataclass(frozen=True, slots=True)
class Step:
    """One shown value: its line, its operation, and its type.

    `name` is the user's, "" where there is none and where this is only a part of a value that has
    one. `dtype` is in Triton's spelling, `shape` that of one program's tile; () for scalars.
    """

    location: SourceLocation
    operation: str
    name: str
    dtype: str
    shape: tuple[int, ...]
