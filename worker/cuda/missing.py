"""What a kernel did not write of its outputs: what holds the poison of each of two runs.

One run cannot tell a value that equals the poison from one that nobody wrote. The second run is
only made where there is something to tell. Imported in launchers only.
"""

from collections.abc import Callable, Mapping

import numpy as np

from worker.cuda.contents import Contents, Flags

LONGEST_FIRST_RUN_MS = 1000.0
"""After a longer run there is no second one: a kernel is not to time out because of it."""
Outputs = Mapping[str, bytes]


def missing_of(
    contents: Contents, outputs: Outputs, run_again: Callable[[], Outputs] | None
) -> dict[str, Flags]:
    """Return which elements of `outputs` nobody wrote, by the names of those with such.

    `run_again` runs the kernel over the other poison and returns its outputs; without it, what
    holds the poison counts as not written, but for small integers, which often equal it.
    """
    suspects = contents.unwritten(outputs)
    if not suspects:
        return {}
    if run_again is None:
        return {name: one for name, one in suspects.items() if not contents.is_plain_byte(name)}
    again = contents.unwritten(run_again(), other=True)
    both = {name: suspects[name] & again[name] for name in suspects.keys() & again.keys()}
    return {name: flags for name, flags in both.items() if flags.any()}


def missing_later(
    contents: Contents, first: Outputs, missing: Mapping[str, Flags], later: Outputs
) -> dict[str, Flags]:
    """Return the same of a later run, where `missing` was not written in the `first` one.

    What was written in the first run, and equals the poison, is taken to be so in this one.
    """
    before, found = contents.unwritten(first), {}
    for name, flags in contents.unwritten(later).items():
        known = before.get(name, np.False_) & ~missing.get(name, np.zeros_like(flags))
        if (flags & ~known).any():
            found[name] = flags & ~known
    return found
