"""Whether a program's parameters came out as the reference's, where outputs do not match.

Both are made from one seed. A program that makes its weights in another order, or by other calls,
draws other numbers: its outputs then differ whatever its kernels do, which nothing else would say.
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
        """Whether both are of one type and shape."""
        return (self.dtype, self.shape) == (other.dtype, other.shape)


def differing_parameters(
    candidate: Replayed, candidate_tape: Tape, reference: Replayed, reference_tape: Tape
) -> Finding | None:
    """Return the parameters of the reference whose values the candidate has not; None: no such.

    A parameter is held against that of its name, if that is of its type and shape, else against
    all of these. One that the candidate has none of is no matter: it may be made otherwise.
    """
    ours = _parameters(candidate, candidate_tape)
    theirs = _parameters(reference, reference_tape)
    differing = [name for name, wanted in theirs.items() if _is_other(name, wanted, ours)]
    if not differing:
        return None
    more = f" and {len(differing) - _MOST_NAMED} more" if len(differing) > _MOST_NAMED else ""
    message = (
        "Parameters or buffers have other values in the program than in the reference: "
        f"{', '.join(differing[:_MOST_NAMED])}{more}. Both are made from the same seed, so a "
        "program draws the reference's numbers if it makes the same parameters by the same calls "
        "in the same order. Until it does, that outputs differ says nothing of its kernels."
    )
    return Finding(kind=PARAMETERS_DIFFER, message=message)


def _is_other(name: str, wanted: _Parameter, ours: Mapping[str, _Parameter]) -> bool:
    named = ours.get(name)
    if named is not None and named.may_be(wanted):
        return named.digest != wanted.digest
    alike = [one.digest for one in ours.values() if one.may_be(wanted)]
    return bool(alike) and wanted.digest not in alike


def _parameters(replayed: Replayed, tape: Tape) -> dict[str, _Parameter]:
    """Return the parameters by name, as they were before the first call."""
    found = {}
    for (name, id_), digest in zip(tape.params, replayed.parameters, strict=False):
        if digest is not None:
            meta: TensorMeta = tape.tensors[id_]
            found[name] = _Parameter(meta.dtype, tuple(meta.shape), digest)
    return found
