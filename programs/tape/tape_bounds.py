"""The limits of a tape, of everything that costs time or memory before it is trusted."""

MAX_TAPE_BYTES = 32 << 20
"""The size of the JSON. The longest known recording (an unrolled GRU, 105,000 ops) has 21 MB."""
MAX_JSON_VALUES = 6_000_000
"""Counted before parsing, since a parsed value takes up to twenty times its text."""
MAX_JSON_OBJECTS = 1_000_000
MAX_JSON_LISTS = 1_400_000
"""An object takes 232 bytes for eight of text. The longest recording has 460,000 and 790,000."""
MAX_DEPTH = 16
"""The nesting of lists in one argument or structure."""
MAX_OPS = 200_000
MAX_TENSORS = 400_000
MAX_RANK = 64
"""torch's own limit."""
MAX_DEGREE = 1_000
"""The degree of a polynomial, since torch adds term by term."""
MAX_STORAGE_BYTES = 1 << 50
"""More than any machine has; the replay decides if it fits."""
MAX_TOTAL_BYTES = 1 << 60
"""The sum of all storages. The replay bounds those that are alive at the same time."""
MAX_CONSTANT_BYTES = 1 << 20
"""The sum of all constants."""
MAX_KERNELS = 512
MAX_PARAMETERS = 512
"""The parameters of one kernel, and the options of one launch."""
MAX_GENERATORS = 1_000
"""The program's own generators: each has a state of some kilobytes in a replay."""
MAX_MODULE_PARAMETERS = 100_000
MAX_VARIANTS = 48
MAX_ARGUMENTS = 100_000
"""The arguments of one op or structure, at all depths."""
MAX_STRUCTURE_VALUES = 4_096
"""The inputs and outputs of a program: outputs are compared one by one, and the sources of an op
have a bit for each input."""
MAX_PATH_CHARS = 1 << 20
"""The sum of their paths, since orders and records name each output by its path."""
MAX_NAME_CHARS = 256
MAX_TEXT_CHARS = 4_096
MAX_LINE = 10_000_000
MAX_GRID = (2**31 - 1, 65_535, 65_535)
"""CUDA's."""
LEAST_INT, LARGEST_INT = -(2**63), 2**64 - 1
