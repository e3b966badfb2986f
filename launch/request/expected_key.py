"""The key of a reference's result: an explicit list of everything that it depends on.

A wrong key would compare a kernel with another reference's result. If a reference can see
something new, add it here and to the table of `tests/unit/launch/request/test_expected_key.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.labelled_digest import labelled_digest


def expected_key(
    *,
    caller: str,
    source: str,
    language: str,
    libraries: Mapping[str, str],
    pipeline: str,
    allocations: Sequence[Mapping[str, Any]],
    arguments: Mapping[str, Any],
    constexprs: Mapping[str, Any],
) -> str:
    """Return the key of the result of `source` for bound arguments in canonical JSON.

    `libraries` are versions by name: of Python, of all that NumPy or torch calculates with, and of
    the processor's instruction set. `pipeline` is the digest of our code. Allocations include how
    they are filled: seeds, values, digests of uploads. A reference sees neither the kernel nor its
    grid nor the tolerance.
    """
    return labelled_digest(
        "expected",
        [
            ("caller", caller),
            ("source", source),
            ("language", language),
            ("libraries", libraries),
            ("pipeline", pipeline),
            ("allocations", allocations),
            ("arguments", [[name, value] for name, value in arguments.items()]),
            ("constexprs", [[name, value] for name, value in constexprs.items()]),
        ],
    )
