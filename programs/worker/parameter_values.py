"""Compares the parameters of a program and its reference when their outputs do not match.

Both are made from one seed. A program that makes its weights in another order, or by other calls,
draws other numbers. Its outputs then differ whatever its kernels do.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from launch.messages import Finding
from programs.tape.schema import Tape, TensorMeta
from programs.worker.replayed import Replayed

PARAMETERS_DIFFER: Final = "parameters_differ"
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class _Parameter:
    dtype: str
    shape: tuple[int, ...]
    digest: str

    def may_be(self, other: "_Parameter") -> bool:
        """Return True if both have the same dtype and shape."""
        return (self.dtype, self.shape) == (other.dtype, other.shape)


def differing_parameters(
    candidate: Replayed, candidate_tape: Tape, reference: Replayed, reference_tape: Tape
) -> Finding | None:
    """Return a finding that names parameters whose values differ; None if none do.

    A parameter is compared with the one of its name if dtype and shape agree, else with all of
    that dtype and shape. If the candidate has no such parameter, it is not reported: the
    candidate may make it in another way.
    """
    ours = _parameters(candidate, candidate_tape)
    theirs = _parameters(reference, reference_tape)
    differing = [name for name, wanted in theirs.items() if _is_other(name, wanted, ours)]
    if not differing:
        return None
    more = f" and {len(differing) - _MOST_NAMED} more" if len(differing) > _MOST_NAMED else ""
    message = (
        "These parameters or buffers of the program differ from the reference's: "
        f"{', '.join(differing[:_MOST_NAMED])}{more}. Both are made from the same seed. Create the "
        "same parameters with the same calls in the same order as the reference, to draw the same "
        "numbers. Until then, outputs differ whatever the kernels do."
    )
    return Finding(kind=PARAMETERS_DIFFER, message=message)


def _is_other(name: str, wanted: _Parameter, ours: Mapping[str, _Parameter]) -> bool:
    named = ours.get(name)
    if named is not None and named.may_be(wanted):
        return named.digest != wanted.digest
    alike = [one.digest for one in ours.values() if one.may_be(wanted)]
    return bool(alike) and wanted.digest not in alike


def _parameters(replayed: Replayed, tape: Tape) -> dict[str, _Parameter]:
    """Return the parameters by name, with their values before the first call."""
    found = {}
    for (name, id_), digest in zip(tape.params, replayed.parameters, strict=False):
        if digest is not None:
            meta: TensorMeta = tape.tensors[id_]
            found[name] = _Parameter(meta.dtype, tuple(meta.shape), digest)
    return found
