"""How much time a launch has left for what it still has to do."""

import pytest

from worker.launch.run import Deadline, DeadlinePassed


def test_a_step_may_take_what_it_is_allowed_while_there_is_more() -> None:
    assert Deadline(300).limit_s(30) == 30


def test_a_step_may_take_what_is_left_at_most() -> None:
    assert 0 < Deadline(300, spent_s=290).limit_s(30) <= 10


@pytest.mark.parametrize("spent_s", [5, 6])
def test_without_time_left_no_step_begins(spent_s: float) -> None:
    with pytest.raises(DeadlinePassed, match="deadline_s = 5 s"):
        Deadline(5, spent_s).limit_s(30)
