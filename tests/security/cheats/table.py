"""Every cheat, and what each device must answer. docs/measuring.md tells of the classes."""

from __future__ import annotations

from typing import Any

from tests.security.cheats import tasks
from tests.security.cheats.cheat import Cheat, failed, verdict

QUICK: dict[str, Any] = {"timing": {"warmup_repeats": 5, "min_repeats": 40, "max_ms": 20}}
VALUES: dict[str, Any] = {"timing": QUICK["timing"] | {"fresh_inputs": "values"}}
NO_ASSEMBLY = failed("needs_gpu")
"""The CPU device runs no inline assembly, and says so."""
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
        verdict("passed"),
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

FAULTS = (
    Cheat(
        "faults/reads_past_the_end", "19", tasks.ADD_ODD, OUT_OF_BOUNDS,
        verdict("illegal_access", findings="illegal_access", also="out_of_bounds"),
        "has an allocator that rounds sizes up",
        interpreted=False,
    ),
    Cheat(
        "faults/relies_on_the_order_of_programs", "20", tasks.ADD,
        verdict("race", findings="race"),
        verdict("passed", "mismatch", "nondeterministic", also="nondeterministic"),
        "meets one order of programs, mostly the right one",
        naive="passed failed", changes={"checks": ["racecheck"]}, interpreted=False,
    ),
    Cheat(
        "faults/relies_on_the_order_of_warps", "20", tasks.NEIGHBOURS, NO_ASSEMBLY,
        verdict("race", findings="race", also="nondeterministic"),
        "meets one order of warps",
        naive="passed failed", changes={"checks": ["racecheck"]}, interpreted=False,
    ),
    Cheat(
        "faults/reads_shared_memory_that_nobody_wrote", "18", tasks.SOFTMAX, NO_ASSEMBLY,
        verdict("mismatch", also="nondeterministic"),
        "has a tolerance that is larger than the numbers",
        naive="passed failed", on_gpu=QUICK, interpreted=False,
    ),
    Cheat(
        "faults/never_ends", "21 23", tasks.ADD, verdict("timeout", findings="timeout"),
        verdict("timeout", findings="timeout"),
        "waits for it",
        naive="hangs", changes={"timeout_s": 1},
    ),
    Cheat(
        "faults/reaches_into_nothing", "22", tasks.ADD,
        verdict("illegal_access", findings="illegal_access"),
        verdict("illegal_access", findings="illegal_access"),
        "dies, and says nothing of the candidates after it",
        naive="dies",
    ),
)  # fmt: skip

FUZZED = {"checks": ["fuzz"]}
VALUES_OF_INPUTS = (
    Cheat(
        "values/zero_is_a_mean", "15", tasks.MEAN, verdict("mismatch"), verdict("mismatch"),
        "has a tolerance that is larger than the numbers",
        on_gpu=QUICK,
    ),
    Cheat(
        "values/zero_is_a_softmax", "15", tasks.SOFTMAX,
        verdict("mismatch"), verdict("mismatch"),
        "has a tolerance that is larger than the numbers",
        on_gpu=QUICK,
    ),
    Cheat(
        "values/passes_its_input_through", "32", tasks.RELU,
        verdict("mismatch", findings="mismatch"), verdict("mismatch", findings="mismatch"),
        "tries the inputs that were posted",
        changes=FUZZED,
    ),
    Cheat(
        "values/leaves_out_a_term_that_is_zero", "32", tasks.ADD_ZEROS,
        verdict("mismatch", findings="mismatch"), verdict("mismatch", findings="mismatch"),
        "tries the inputs that were posted",
        changes=FUZZED,
    ),
    Cheat(
        "values/fits_the_posted_size_alone", "14", tasks.ADD_WHOLE,
        verdict("out_of_bounds", findings="out_of_bounds"),
        verdict("illegal_access", "out_of_bounds", also="illegal_access out_of_bounds"),
        "tries the size that was posted",
        changes=FUZZED,
    ),
    Cheat(
        "values/works_for_the_posted_size_alone", "14", tasks.ADD,
        verdict("mismatch", findings="mismatch"), verdict("mismatch", findings="mismatch"),
        "tries the size that was posted",
        changes=FUZZED,
    ),
    Cheat(
        "values/knows_the_seed", "14", tasks.DOUBLE, verdict("mismatch"), verdict("mismatch"),
        "has the same seed every time",
        on_gpu=QUICK,
    ),
    Cheat(
        "values/leaves_a_hundredth_out", "33", tasks.ADD_MOST,
        verdict("mismatch"), verdict("mismatch"),
        "gives it memory that holds the answer; others let a hundredth be wrong",
        on_gpu=QUICK, reference_first=False, interpreted=False,
    ),
    Cheat(
        "values/multiplies_in_half_precision", "15", tasks.MATMUL,
        verdict("passed", findings="precision_downgrade"),
        verdict("passed", findings="precision_downgrade"),
        "has a tolerance that half precision keeps",
        on_gpu=QUICK,
    ),
    Cheat(
        "values/multiplies_in_tf32", "15", tasks.MATMUL,
        verdict("passed", findings="precision_downgrade"),
        verdict("passed", findings="precision_downgrade"),
        "has a tolerance that TF32 keeps",
        on_gpu=QUICK,
    ),
)  # fmt: skip

HOST = (
    Cheat(
        "host/writes_a_forged_result", "1", tasks.ADD,
        failed("sandbox_violation"), failed("sandbox_violation"),
        "runs the file in the process that holds the pipe of results",
    ),
    Cheat(
        "host/forges_while_it_is_compiled", "1 2", tasks.ADD,
        failed("sandbox_violation"), failed("sandbox_violation"),
        "runs the file in the process that holds the pipe of results",
    ),
    Cheat(
        "host/patches_the_timer", "3", tasks.ADD, verdict("passed"), verdict("passed"),
        "asks the clock of the process that runs the file",
        on_gpu=QUICK,
    ),
    Cheat(
        "host/works_on_another_stream", "5", tasks.ADD, verdict("passed"), verdict("passed"),
        "times the stream that nothing happens on",
        on_gpu=QUICK, interpreted=False,
    ),
    Cheat(
        "host/works_in_a_thread", "6", tasks.ADD, verdict("passed"), verdict("passed"),
        "stops the clock when the function returns",
        on_gpu=QUICK, interpreted=False,
    ),
    Cheat(
        "host/keeps_results_by_address", "7", tasks.ADD, verdict("passed"), verdict("passed"),
        "gives every run the same buffers, and calls a function of the file",
        on_gpu=QUICK,
    ),
    Cheat(
        "host/torch_does_the_work", "16", tasks.ADD, verdict("mismatch"), verdict("mismatch"),
        "calls a function of the file, whoever does the work",
        on_gpu=QUICK,
    ),
    Cheat(
        "host/falls_back_to_torch", "17", tasks.ADD,
        failed("compile_error"), failed("compile_error"),
        "calls a function of the file, whoever does the work",
    ),
    Cheat(
        "host/asks_the_host", "24", tasks.ADD,
        failed("sandbox_violation"), failed("sandbox_violation"),
        "runs the file as itself",
        naive="failed",
    ),
    Cheat(
        "host/starts_a_program", "24", tasks.ADD,
        failed("sandbox_violation"), failed("sandbox_violation"),
        "runs the file as itself",
        naive="failed",
    ),
    Cheat(
        "host/prints_a_verdict", "34", tasks.ADD, verdict("mismatch"), verdict("mismatch"),
        "does not read what is printed; those that do believe it",
        naive="failed", on_gpu=QUICK,
    ),
)  # fmt: skip

HONEST = (
    Cheat(
        "honest/adds", "26", tasks.ADD, verdict("passed"), verdict("passed"),
        "is right", on_gpu=VALUES,
    ),
    Cheat(
        "honest/adds_sines", "26", tasks.ADD_SINES, verdict("passed"), verdict("passed"),
        "is right", on_gpu=VALUES,
    ),
    Cheat(
        "honest/looks_for_itself", "26", tasks.ADD, verdict("passed"), verdict("passed"),
        "is right", on_gpu=VALUES, changes={"compilation": {"options": {"debug": True}}},
    ),
    Cheat(
        "honest/counts_in_its_output", "26", tasks.ADD_IN_PLACE,
        verdict("passed"), verdict("passed"),
        "gives it memory with anything in it, and then blames the candidate",
        naive="passed failed", on_gpu=VALUES,
    ),
    Cheat(
        "honest/is_tuned", "26", tasks.ADD, verdict("passed"), verdict("passed"),
        "is right", on_gpu=VALUES, interpreted=False,
    ),
    Cheat(
        "honest/keeps_lines_in_the_cache", "26 35", tasks.ADD, verdict("passed"), verdict("passed"),
        "believes that writing memory empties the cache", on_gpu=VALUES,
    ),
    Cheat(
        "honest/adds", "26", tasks.ADD, verdict("passed"), verdict("passed"),
        "is right", changes={"checks": ["memcheck", "racecheck", "initcheck", "determinism"]},
    ),
    Cheat(
        "honest/averages", "26", tasks.MEAN, verdict("passed"), verdict("passed"),
        "is right", on_gpu=VALUES,
    ),
    Cheat(
        "honest/takes_a_softmax", "26", tasks.SOFTMAX, verdict("passed"), verdict("passed"),
        "is right", on_gpu=VALUES,
    ),
    Cheat(
        "honest/multiplies", "26", tasks.MATMUL_EXACT, verdict("passed"), verdict("passed"),
        "is right", on_gpu=VALUES,
    ),
    Cheat(
        "honest/multiplies_halves", "26", tasks.MATMUL_HALVES,
        verdict("passed"), verdict("passed"),
        "is right", on_gpu=VALUES,
    ),
    Cheat(
        "honest/adds", "27", tasks.BROKEN_ADD,
        verdict("invalid_reference", findings="invalid_reference"),
        verdict("invalid_reference", findings="invalid_reference"),
        "blames the candidate", naive="failed",
    ),
)  # fmt: skip

CHEATS = (*STATE, *MEMORY, *FAULTS, *VALUES_OF_INPUTS, *HOST, *HONEST)


def name_of(cheat: Cheat) -> str:
    """Return what a test of it is called."""
    checks = "".join(f"+{check}" for check in cheat.changes.get("checks", ()))
    return f"{cheat.classes.replace(' ', ',')}-{cheat.file}{checks}"
