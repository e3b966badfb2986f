"""A zygote makes MLIR contexts before it forks: each is used once and leaks nothing."""

from __future__ import annotations

import pytest

from compiler.back import contexts, locations, triton_api
from compiler.target import Target
from launch.cpu.small_kernel import TEXT

TARGETS = {"cuda": Target("cuda", 90, 32), "hip": Target("hip", "gfx942", 64)}


@pytest.mark.parametrize("name", TARGETS)
def test_a_prepared_context_is_taken_once(name: str) -> None:
    backend = triton_api.make_backend(triton_api.target_of(TARGETS[name]))
    contexts.prepare(backend)
    waiting = contexts._prepared[name]

    taken = [contexts.new_context(backend) for _ in range(3)]

    assert taken[0] is waiting
    assert len({id(context) for context in taken}) == 3


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_made_in_a_prepared_context_is_made_in_any(name: str) -> None:
    backend = triton_api.make_backend(triton_api.target_of(TARGETS[name]))
    contexts.prepare(backend)

    made = [str(locations.parse(TEXT.decode(), contexts.new_context(backend))) for _ in range(2)]

    assert made[0] == made[1]
