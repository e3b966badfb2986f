"""Advice recommends only names that exist, and suggestions correct typing errors."""

from __future__ import annotations

import inspect
import re

import pytest
import triton.language as tl

from compiler.front.diagnosis import (
    advice,
    hints,
    internal_errors,
    name_errors,
    number_errors,
    replacements,
    value_errors,
)
from compiler.rejection import closest

MODULES = (
    advice,
    hints,
    replacements,
    value_errors,
    replacements,
    name_errors,
    internal_errors,
    number_errors,
    number_errors,
)
GONE_SINCE = {"make_block_ptr", "advance"}


def test_every_name_of_triton_that_advice_mentions_exists() -> None:
    text = "\n".join(inspect.getsource(module) for module in MODULES)
    names = set(re.findall(r"\btl\.(\w+)", text)) - GONE_SINCE

    assert len(names) > 50
    assert {name for name in names if not hasattr(tl, name)} == set()


@pytest.mark.parametrize(
    ("name", "meant"),
    [("arnge", "arange"), ("laod", "load"), ("offs", "offsets"), ("BLOK", "BLOCK")],
)
def test_a_slip_of_the_fingers_is_recognized(name: str, meant: str) -> None:
    assert closest(name, ["arange", "load", "offsets", "BLOCK", "ravel"]) == meant


@pytest.mark.parametrize(
    ("name", "known"), [("relu", "ravel"), ("stride", "store"), ("ones", "const"), ("inf", "sin")]
)
def test_words_that_share_letters_are_not_suggested(name: str, known: str) -> None:
    assert closest(name, [known]) is None


def test_dtypes_are_known_by_their_other_names() -> None:
    assert replacements.dtype("torch.half") == "float16"
    assert replacements.dtype("float32") == "float32"
    assert replacements.dtype("complex64") is None
