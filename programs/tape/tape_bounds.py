"""How large a tape may be, in every respect that costs time or memory before it is trusted."""

from __future__ import annotations

MAX_TAPE_BYTES = 32 << 20
"""Of JSON. The longest recording known (105,000 ops of an unrolled GRU) takes 21 MB."""
MAX_JSON_VALUES = 6_000_000
"""Counted before parsing, since a parsed value takes up to twenty times its text."""
MAX_JSON_OBJECTS = 1_000_000
MAX_JSON_LISTS = 1_400_000
"""An object takes 232 bytes for eight of text. The longest recording has 460,000 and 790,000."""
MAX_DEPTH = 16
"""Of nested lists in one argument or structure."""
MAX_OPS = 200_000
MAX_TENSORS = 400_000
MAX_RANK = 64
"""As torch has it."""
MAX_DEGREE = 1_000
"""Of a polynomial: torch adds term by term."""
MAX_STORAGE_BYTES = 1 << 50
"""More than there is anywhere: whether it fits, the replay says."""
MAX_TOTAL_BYTES = 1 << 60
"""Of all storages, whether at one time or not; what is alive at a time is the replay's to bound."""
MAX_CONSTANT_BYTES = 1 << 20
"""Of all constants together."""
MAX_KERNELS = 512
MAX_PARAMETERS = 512
"""Of one kernel, and as many entries of a launch's options."""
MAX_GENERATORS = 1_000
"""A program's own: each has a state of some kilobytes in a replay."""
MAX_STREAMS = 64
"""That ops run in: for each op it is known how far each other stream has come."""
MAX_MODULE_PARAMETERS = 100_000
MAX_VARIANTS = 48
MAX_ARGUMENTS = 100_000
"""Of one op or structure, at all depths."""
MAX_STRUCTURE_VALUES = 4_096
"""Of all that a program takes and returns together: outputs are compared and answered one by one,
and what ops hang on is a bit for each input."""
MAX_PATH_CHARS = 1 << 20
"""Of the paths of all of these together: orders and records name each output by its own."""
MAX_NAME_CHARS = 256
MAX_TEXT_CHARS = 4_096
MAX_LINE = 10_000_000
MAX_GRID = (2**31 - 1, 65_535, 65_535)
"""CUDA's."""
LEAST_INT, LARGEST_INT = -(2**63), 2**64 - 1
