"""Programs get the same verdicts and flags on a real GPU as on the CPU device."""
# ruff: noqa: F401 - what is imported is collected here, with the client of this folder

from tests.programs.with_torch.test_program_cheats import (
    test_a_maximum_with_unwritten_memory_does_not_match,
    test_a_program_does_not_see_what_its_inputs_are_made_from,
    test_an_honest_program_is_neither_flagged_nor_found_at_fault,
    test_what_a_program_does_to_its_own_process_changes_no_verdict,
    test_what_looks_at_values_is_refused_at_its_line,
    test_what_only_looks_like_a_kernel_s_work_is_flagged,
)
from tests.programs.with_torch.test_program_inputs_in_place import (
    test_a_function_that_returns_nothing_is_judged_by_what_it_changes,
    test_an_input_that_is_written_with_what_it_holds_is_not_modified,
    test_both_change_an_input_alike,
    test_both_change_an_input_but_to_something_else,
    test_only_the_program_changes_an_input,
    test_only_the_reference_changes_an_input,
)
from tests.programs.with_torch.test_program_mismatches import (
    test_a_mismatch_of_lost_precision_says_so_and_what_tolerance_it_needs,
    test_a_mismatch_of_other_parameters_says_which,
    test_parameters_are_no_matter_where_they_are_the_same_or_the_outputs_match,
    test_parameters_of_another_name_are_known_by_their_shape,
)
from tests.programs.with_torch.test_program_verdicts import (
    test_a_kernel_that_does_not_compile_is_a_problem_at_its_line,
    test_a_model_that_does_something_else_does_not_match,
    test_a_reference_that_cannot_be_recorded_is_named,
    test_an_output_of_another_kind_is_a_mismatch,
    test_what_depends_on_a_value_is_not_recordable_and_flagged,
    test_without_a_reference_nothing_is_compared,
)
