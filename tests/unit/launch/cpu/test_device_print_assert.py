"""A failed `device_assert` ends the launch, unless the program is masked."""

import numpy as np
import pytest

from launch.checks.finding import Stopped
from launch.checks.owner_table import PossibleRace
from launch.cpu.device_print_assert import DevicePrints
from launch.cpu.instance_locations import InstanceLocations
from launch.cpu.programs import ProgramInstances


def prints_of(count):
    programs = ProgramInstances((4,))
    programs.begin(np.arange(count))
    return programs, DevicePrints(programs, InstanceLocations([]))


@pytest.mark.parametrize("condition", [True, np.True_, np.array([True]), np.ones((1, 4), np.bool_)])
def test_a_true_assertion_lets_the_launch_continue(condition):
    _, prints = prints_of(2)
    prints.check(condition, "words")
    prints.assume(condition)


@pytest.mark.parametrize("condition", [False, np.False_, np.array([False]), np.eye(4)[:1] > 0])
def test_a_failed_assertion_ends_a_launch_of_one_program(condition):
    _, prints = prints_of(1)
    with pytest.raises(Stopped) as stopped:
        prints.check(condition, "words")
    assert stopped.value.finding.program == [0, 0, 0]
    assert "words" in stopped.value.finding.message


@pytest.mark.parametrize("condition", [False, np.array([True, False])])
def test_a_failed_assertion_among_several_programs_is_suspected(condition):
    _, prints = prints_of(2)
    with pytest.raises(PossibleRace):
        prints.check(condition, "words")


def test_a_constant_that_fails_only_for_masked_programs_passes():
    programs, prints = prints_of(2)
    programs.active = np.zeros(2, np.bool_)
    prints.check(False, "words")
