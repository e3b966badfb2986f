"""Cheats that use state from earlier runs, or find other data in memory."""

from __future__ import annotations

from typing import Any

from tests.security.cheats import tasks
from tests.security.cheats.cheat import Cheat, failed, verdict

QUICK: dict[str, Any] = {"timing": {"warmup_repeats": 5, "min_repeats": 40, "max_ms": 20}}
VALUES: dict[str, Any] = {"timing": QUICK["timing"] | {"fresh_inputs": "values"}}
NO_ASSEMBLY = failed("needs_gpu")
"""The CPU device runs no inline assembly, and reports it."""
CAUGHT = verdict("mismatch", findings="state_kept", also="nondeterministic mismatch")
STATE = (
    Cheat(
        "state/skips_runs_13_to_40", "7 13", tasks.ADD, NO_ASSEMBLY, CAUGHT,
        "compares the first run alone, and times later ones",
        on_gpu={"timing": VALUES["timing"] | {"warmup_repeats": 11}},
        interpreted=False,
    ),
    Cheat(
        "state/works_in_every_tenth_run", "7 8", tasks.ADD, NO_ASSEMBLY, CAUGHT,
        "never clears the output between runs",
        on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/serves_the_next_run_too", "8", tasks.ADD, NO_ASSEMBLY,
        verdict("mismatch", "illegal_access", also="state_kept nondeterministic illegal_access"),
        "never clears the output between runs",
        on_gpu={"timing": VALUES["timing"] | {"warmup_repeats": 100}}, interpreted=False,
    ),
    Cheat(
        "state/works_in_every_tenth_run_from_a_set_counter", "7", tasks.ADD, NO_ASSEMBLY, CAUGHT,
        "never clears the output between runs",
        on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/works_in_every_tenth_run", "4", tasks.ADD_LARGE, NO_ASSEMBLY,
        verdict("mismatch", findings="state_kept impossible_time", also="nondeterministic"),
        "believes any time",
        on_gpu={"timing": VALUES["timing"] | {"bytes": 12 << 24}}, interpreted=False,
    ),
    Cheat(
        "state/replays_its_first_result", "7", tasks.ADD, NO_ASSEMBLY, CAUGHT,
        "gives every run the same inputs",
        on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/replays_what_it_has_seen", "7", tasks.ADD, NO_ASSEMBLY,
        verdict("passed", findings="state_kept"),
        "gives every run the same inputs",
        on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/keeps_an_output_that_looks_right", "7", tasks.ADD,
        verdict("passed"), verdict("passed"),
        "never clears the output between runs",
        on_gpu=VALUES,
    ),
    Cheat(
        "state/keeps_an_output_that_looks_right", "18", tasks.ADD,
        verdict("uninitialized", findings="uninitialized"),
        verdict("uninitialized", findings="uninitialized"),
        "never looks at what is read",
        changes={"checks": ["initcheck"]},
    ),
    Cheat(
        "state/sleeps_in_its_first_runs", "13", tasks.ADD, NO_ASSEMBLY,
        verdict("passed", findings="state_kept"),
        "plans its repeats by the first ones",
        on_gpu={"timing": VALUES["timing"] | {"max_ms": 100}}, interpreted=False,
    ),
    Cheat(
        "state/empties_its_inputs_for_later_runs", "11", tasks.ADD, NO_ASSEMBLY,
        verdict("mismatch", "input_modified", findings="state_kept",
                also="nondeterministic input_modified"),
        "looks at nothing after the first run",
        on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/works_in_some_grids", "28", tasks.ADD, NO_ASSEMBLY,
        verdict("mismatch", also="state_kept nondeterministic mismatch"),
        "compares the first run alone, where that is one of the 64",
        naive="passed failed", on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/works_by_the_clock", "29", tasks.ADD, NO_ASSEMBLY,
        verdict("mismatch", also="state_kept nondeterministic mismatch"),
        "compares one run, where that falls into such a span",
        naive="passed failed", on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/works_where_the_cache_is_warm", "30", tasks.ADD, NO_ASSEMBLY,
        verdict("mismatch", also="state_kept nondeterministic mismatch"),
        "flushes the cache where it times, and not where it compares",
        naive="passed failed", on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/keeps_a_mark_on_the_heap", "37", tasks.ADD, NO_ASSEMBLY,
        verdict("passed", "mismatch", findings="state_kept", also="nondeterministic"),
        "never clears the output between runs",
        naive="passed failed", on_gpu=VALUES, interpreted=False,
    ),
    *(
        Cheat(
            f"state/keeps_a_mark_in_{space}_memory", "38", tasks.ADD, NO_ASSEMBLY,
            verdict("mismatch", "passed", also="state_kept nondeterministic mismatch"),
            "never clears the output between runs",
            naive="passed failed", on_gpu=VALUES, interpreted=False,
        )
        for space in ("shared", "local")
    ),
    Cheat(
        "state/begins_before_its_turn", "36", tasks.ADD, NO_ASSEMBLY, verdict("passed"),
        "is right, as this gains nothing where each run waits for the flush before it",
        changes={"compilation": {"options": {"launch_pdl": True}}},
        on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "state/fetches_the_next_inputs", "35", tasks.ADD, NO_ASSEMBLY,
        verdict("passed", "illegal_access", also="illegal_access"),
        "is right; where inputs lie one behind the other, the next are in the cache already",
        naive="passed failed", on_gpu=VALUES, interpreted=False,
    ),
)  # fmt: skip
OUT_OF_BOUNDS = verdict("out_of_bounds", findings="out_of_bounds")
MEMORY = (
    Cheat(
        "memory/does_nothing", "10", tasks.ADD, verdict("mismatch"), verdict("mismatch"),
        "timed its reference before, whose freed output torch.empty hands out",
        reference_first=False, on_gpu=QUICK, interpreted=False,
    ),
    Cheat(
        "memory/copies_what_lies_before", "9", tasks.ADD, OUT_OF_BOUNDS, verdict("mismatch"),
        "keeps what it expects beside the output",
        on_gpu=QUICK, interpreted=False,
    ),
    Cheat(
        "memory/copies_what_lies_before", "9", tasks.ADD, OUT_OF_BOUNDS, OUT_OF_BOUNDS,
        "keeps what it expects beside the output",
        changes={"checks": ["memcheck"]}, interpreted=False,
    ),
    Cheat(
        "memory/scans_for_the_answer", "9", tasks.ADD, OUT_OF_BOUNDS,
        verdict("illegal_access", findings="illegal_access", also="out_of_bounds"),
        "keeps what it expects in memory that the kernel reaches",
        interpreted=False,
    ),
    Cheat(
        "memory/zeroes_its_inputs", "11", tasks.ADD,
        verdict("mismatch", findings="input_modified"),
        verdict("mismatch", findings="input_modified"),
        "computes what it expects from what the candidate left",
        reference_first=False, on_gpu=QUICK,
    ),
    Cheat(
        "memory/spreads_nan", "9 31", tasks.ADD_NAN,
        verdict("mismatch", findings="input_modified"),
        verdict("mismatch", findings="input_modified"),
        "takes NaN for equal to NaN, and computes what it expects from what the candidate left",
        reference_first=False, on_gpu=QUICK,
    ),
    Cheat(
        "memory/spoils_an_input", "11", tasks.ADD,
        verdict("input_modified", findings="input_modified"),
        verdict("input_modified", findings="input_modified"),
        "never looks at its inputs again",
        on_gpu=QUICK,
    ),
    Cheat(
        "memory/forges_what_it_is_compared_with", "12", tasks.ADD, OUT_OF_BOUNDS, OUT_OF_BOUNDS,
        "keeps what it expects in memory that the kernel can write to",
        interpreted=False,
    ),
    Cheat(
        "memory/clears_a_counter_behind_its_output", "12", tasks.ADD, OUT_OF_BOUNDS,
        verdict("illegal_access", findings="illegal_access", also="out_of_bounds"),
        "does not notice",
        interpreted=False,
    ),
    Cheat(
        "memory/reads_behind_its_parameters", "39", tasks.NO_FOREIGN_WORDS, NO_ASSEMBLY,
        verdict("passed", findings="zeros_match"),
        "is not asked: all that it has is in reach anyway",
        naive="failed", on_gpu=QUICK | {"isolation": "process"}, interpreted=False,
    ),
    Cheat(
        "memory/reads_what_others_left", "25", tasks.OTHERS_NUMBERS, OUT_OF_BOUNDS,
        verdict("mismatch"),
        "is not asked: it has one tenant",
        naive="failed dies", interpreted=False,
    ),
)  # fmt: skip
