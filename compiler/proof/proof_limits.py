"""The bounds of a proof. They do not depend on time, so that answers do not depend on load."""

from __future__ import annotations

MAX_OPERATIONS = 20_000
MAX_ACCESSES = 400
MAX_TERMS_READ = 60_000
"""Values at indices that the evaluator reads for one kernel."""
MAX_FORMULA_PARTS = 2_000
"""Parts of one formula: of a mask, or of a path."""
MAX_NAMES = 5_000
"""Quotients, extremes and unknown values of one kernel."""
MAX_QUERIES = 20_000
"""Questions to the solver for one kernel."""
QUERY_EFFORT = 400_000
"""z3's `rlimit` of one linear question: about a second."""
SHRINKING_EFFORT = 6_000
"""The same of one question whether a statement can be done without."""
SEARCH_EFFORT = 1_500_000
"""The same of one question of a search for a witness."""
TOTAL_EFFORT = 200_000_000
"""The same of all questions about one kernel."""
MAX_PLACES = 200
"""Sets of facts that the solver keeps loaded for one kernel: each takes about 80 KB."""
MAX_SOLVER_MIB = 384
"""Of the solver's memory: a proof that has taken so much asks no further question."""
SOLVER_MIB = 512
"""Beyond this the solver fails, and may end its process."""


class ProofLimitReached(Exception):
    """A bound of the evaluator or the solver was reached; the message names it."""


class Unsupported(Exception):
    """Something that the prover cannot read: it is refused by its name, and never guessed."""

    def __init__(self, what: str, line: int | None = None, file: str | None = None) -> None:
        """Make the message from `what`, a noun with all that describes it."""
        self.what = f"cannot read {what}"
        super().__init__(self.what if line is None else f"line {line}: {self.what}")
        self.line = line
        self.file = file
