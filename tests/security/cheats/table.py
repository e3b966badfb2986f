"""All cheats and each device's expected answers; README.md has the classes."""

from __future__ import annotations

from tests.security.cheats import tasks
from tests.security.cheats.cheat import Cheat, failed, verdict
from tests.security.cheats.kept_cheats import (
    MEMORY,
    NO_ASSEMBLY,
    OUT_OF_BOUNDS,
    QUICK,
    STATE,
    VALUES,
)

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
        "faults/never_ends", "21 23", tasks.ADD,
        # whichever comes first: the end of the time, or that every instance was seen to wait
        verdict("timeout", also="timeout deadlock"),
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
    Cheat(
        "faults/asks_for_more_than_there_is", "40", tasks.MATMUL,
        verdict("passed", findings="precision_downgrade"),
        verdict("does_not_fit", findings="does_not_fit warning"),
        "gives it memory that holds the answer, and lets the host code keep the error to itself",
        reference_first=False, interpreted=False,
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
        "values/multiplies_by_zero", "41", tasks.SOFTMAX_WIDE,
        verdict("passed", findings="zeros_match"), verdict("passed", findings="zeros_match"),
        "has a tolerance that is larger than the numbers",
        on_gpu=QUICK,
    ),
    Cheat(
        "values/multiplies_by_zero", "15", tasks.SOFTMAX_TO_SCALE,
        verdict("mismatch"), verdict("mismatch"),
        "has a tolerance that is larger than the numbers",
        on_gpu=QUICK,
    ),
    Cheat(
        "values/averages_a_part", "41", tasks.MEAN_WIDE,
        verdict("passed", findings="zeros_match"), verdict("passed", findings="zeros_match"),
        "has a tolerance that is larger than the numbers",
        on_gpu=QUICK,
    ),
    Cheat(
        "values/knows_what_probabilities_average", "42", tasks.MEAN_OF_SOFTMAX,
        verdict("passed"), verdict("passed"),
        "is right: so is this, of a task that has one answer",
        on_gpu=QUICK,
    ),
    Cheat(
        "values/takes_a_softmax_of_small_numbers", "32", tasks.SOFTMAX,
        verdict("mismatch", findings="mismatch"), verdict("mismatch", findings="mismatch"),
        "tries the inputs that were posted",
        changes=FUZZED,
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
        "host/patches_the_median", "3", tasks.ADD, verdict("passed"), verdict("passed"),
        "asks the statistics of the process that runs the file",
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
        "host/returns_a_promise", "6", tasks.ADD, verdict("passed"), verdict("passed"),
        "stops the clock when the function returns",
        on_gpu=QUICK,
    ),
    Cheat(
        "host/keeps_results_by_identity", "7", tasks.ADD, verdict("passed"), verdict("passed"),
        "gives every run the same buffers, and calls a function of the file",
        on_gpu=QUICK,
    ),
    Cheat(
        "host/keeps_results_by_address", "7", tasks.ADD, verdict("passed"), verdict("passed"),
        "gives every run the same buffers, and calls a function of the file",
        on_gpu=QUICK,
    ),
    Cheat(
        "host/torch_does_the_work", "16", tasks.ADD, verdict("mismatch"), verdict("mismatch"),
        "calls a function of the file, even if torch does the work",
        on_gpu=QUICK,
    ),
    Cheat(
        "host/falls_back_to_torch", "17", tasks.ADD,
        failed("compile_error"), failed("compile_error"),
        "calls a function of the file, even if torch does the work",
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
    """Return the name of its test."""
    checks = "".join(f"+{check}" for check in cheat.changes.get("checks", ()))
    return f"{cheat.classes.replace(' ', ',')}-{cheat.file}{checks}"
