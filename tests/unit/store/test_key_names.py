"""Names in Redis: all have the project's prefix, differ, and appear in one module only."""

import re
from importlib.resources import files
from itertools import permutations

import pytest

from store import byte_limits, keys, scripts

NAMES = {name: value for name, value in vars(keys).items() if name.isupper()}
SCRIPTS = sorted(
    file.name.removesuffix(".lua")
    for file in files(scripts).iterdir()
    if file.name.endswith(".lua")
)


def test_every_name_is_recognisably_ours():
    assert all(value.startswith("tritond:") for value in NAMES.values())
    assert keys.derived_prefix("front").startswith("tritond:front:")


def test_no_name_can_be_taken_for_another():
    for (_, one), (_, other) in permutations(NAMES.items(), 2):
        assert one != other
        if one.endswith(":"):
            assert not other.startswith(one)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_spells_no_name_and_says_what_it_takes(name):
    own = files(scripts).joinpath(f"{name}.lua").read_text("utf-8")

    assert "tritond:" not in own
    header = own[: own.index("\n\n")].splitlines()
    if name != scripts.SHARED:  # which follows the first line of each
        assert header.pop(0).startswith("#!lua")
    assert all(line.startswith("--") for line in header)
    assert any("KEYS" in line for line in header)
    assert any("ARGV" in line for line in header)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_uses_only_names_that_exist(name):
    own = files(scripts).joinpath(f"{name}.lua").read_text("utf-8")
    used = set(re.findall(r"\bK\.(\w+)", own))

    assert used <= set(NAMES)
    assert set(re.findall(r"\bL\.(\w+)", own)) <= set(vars(byte_limits))


def test_the_text_of_a_script_begins_with_the_names():
    text = scripts.text("finish", shared="lane")

    assert text.startswith("#!lua")
    assert text.splitlines()[1].startswith('local K = {JOB = "tritond:job:", ')
    assert text.index("local function conclude") < text.index("conclude(id, ")
