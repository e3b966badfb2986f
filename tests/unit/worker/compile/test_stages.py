"""A stage is known wherever stages are listed."""

from typing import get_args

from compiler.diagnostic import DiagnosticStage
from compiler.messages.orders import BackOrder, FrontOrder
from compiler.request.compile_request import Stage
from compiler.target import BINARY_STAGES, MEDIA_TYPES, STAGES

EVERY = {stage for stages in STAGES.values() for stage in stages}


def test_a_stage_can_be_asked_for() -> None:
    assert set(get_args(Stage)) == EVERY


def test_a_stage_has_a_media_type_and_the_last_one_of_each_backend_is_binary() -> None:
    assert set(MEDIA_TYPES) == EVERY
    assert {stages[-1] for stages in STAGES.values()} == BINARY_STAGES


def test_a_diagnostic_can_name_every_stage_behind_the_front_end() -> None:
    named = set(get_args(DiagnosticStage))
    assert named == EVERY - {"source"} | {"request", "frontend"}


def test_one_child_may_send_it() -> None:
    assert FrontOrder.stages | BackOrder.stages == EVERY
    assert FrontOrder.stages & BackOrder.stages == set()
