"""Each input changes the key on its own, and no two inputs are confused.

An input without an entry in `INPUTS`, or an entry without an input, fails.
"""

import hashlib
import inspect
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler import key
from compiler.key import (
    back_key,
    compile_key,
    derivation_key,
    front_key,
    inspection_key,
    posted_ir_key,
    reading_key,
)
from compiler.labelled_digest import KEY_VERSION
from tests.unit.compiler.key_inputs import INPUTS

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)

FUNCTIONS = pytest.mark.parametrize("function", INPUTS, ids=lambda function: function.__name__)
EACH_INPUT = [
    (function, name, values)
    for function, inputs in INPUTS.items()
    for name, values in inputs.items()
]


def inputs_of(function: Callable[..., str], **changes: Any) -> dict[str, Any]:
    return {name: values[0] for name, values in INPUTS[function].items()} | changes


def reordered(value: Any) -> Any:
    """Return an equal value whose objects have their members in reverse order."""
    if isinstance(value, dict):
        return {name: reordered(item) for name, item in reversed(value.items())}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def test_every_key_of_the_module_has_its_inputs_here():
    assert set(INPUTS) == {
        function for name, function in vars(key).items() if name.endswith("_key")
    }


@FUNCTIONS
def test_every_input_of_a_key_has_its_values_here(function: Callable[..., str]):
    assert list(INPUTS[function]) == list(inspect.signature(function).parameters)


def test_another_value_of_an_input_is_another_key(subtests: pytest.Subtests):
    for function, name, values in EACH_INPUT:
        keys = [function(**inputs_of(function, **{name: value})) for value in values]
        with subtests.test(function=function.__name__, name=name):
            assert len(set(keys)) == len(values) > 1


def test_an_equal_value_of_an_input_is_the_same_key(subtests: pytest.Subtests):
    for function, name, values in EACH_INPUT:
        with subtests.test(function=function.__name__, name=name):
            for value in values:
                one = function(**inputs_of(function, **{name: value}))
                assert function(**inputs_of(function, **{name: reordered(value)})) == one


@FUNCTIONS
def test_no_input_of_a_key_can_be_left_out(function: Callable[..., str]):
    for name in INPUTS[function]:
        others = {other: value for other, value in inputs_of(function).items() if other != name}
        with pytest.raises(TypeError, match=name):
            function(**others)


@FUNCTIONS
def test_two_inputs_that_swap_their_values_are_another_key(function: Callable[..., str]):
    for one, other in itertools.combinations(INPUTS[function], 2):
        swapped = {one: "left", other: "right"}, {one: "right", other: "left"}
        keys = {function(**inputs_of(function, **values)) for values in swapped}
        assert len(keys) == 2


def test_keys_of_different_kinds_differ_for_the_same_inputs():
    shared = inputs_of(back_key) | inputs_of(front_key) | inputs_of(reading_key)
    shared |= inputs_of(posted_ir_key) | inputs_of(compile_key) | inputs_of(inspection_key)
    keys = {
        function(**{name: shared.get(name) for name in inputs})
        for function, inputs in INPUTS.items()
    }

    assert len(keys) == len(INPUTS)


def derived(**changes: Any) -> str:
    return derivation_key(**inputs_of(derivation_key, **changes))


def test_the_key_is_the_digest_of_labelled_parts_with_their_lengths():
    # Other bytes here orphan every stored compilation: raise KEY_VERSION deliberately.
    parts = (
        b'7:version:json:1:35:level:json:12:"derivation"'
        b'11:compilation:json:3:"c"4:what:json:6:"sass"'
        b"9:artifacts:json:2:{}18:derivation_version:json:1:1"
    )

    assert KEY_VERSION == 3
    assert hashlib.sha256(parts).hexdigest() == derivation_key(
        compilation_key="c", what="sass", artifact_digests={}, derivation_version=1
    )


@given(json_values)
def test_a_part_is_written_as_the_standard_library_writes_json(part: Any):
    text = json.dumps(part, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    data = text.encode("utf-8", "surrogatepass")
    parts = (
        b'7:version:json:1:35:level:json:12:"derivation"'
        b'11:compilation:json:3:"c"4:what:json:6:"sass"'
        b"9:artifacts:json:%d:%b18:derivation_version:json:1:1" % (len(data), data)
    )

    assert hashlib.sha256(parts).hexdigest() == derivation_key(
        compilation_key="c", what="sass", artifact_digests=part, derivation_version=1
    )


@given(json_values, json_values)
def test_parts_have_equal_keys_only_when_they_are_equal_json(one: Any, other: Any):
    def typed(value: Any) -> Any:
        if isinstance(value, list):
            return [typed(item) for item in value]
        if isinstance(value, dict):
            return {name: typed(item) for name, item in value.items()}
        return (type(value).__name__, repr(value))

    is_equal = derived(artifact_digests=one) == derived(artifact_digests=other)

    assert is_equal == (typed(one) == typed(other))


def test_neighbouring_parts_do_not_run_together():
    def posted(text: bytes, language: str) -> str:
        return posted_ir_key(**inputs_of(posted_ir_key, text=text, language=language))

    assert derived(compilation_key="ab", what="c") != derived(compilation_key="a", what="bc")
    assert posted(b"ab", "c") != posted(b"a", "bc")
    assert posted(b'a8:language:json:3:"b"', "c") != posted(b"a", "b")


def test_bytes_differ_from_the_json_that_looks_like_them():
    assert back_key(**inputs_of(back_key, ir=b'"module"')) != back_key(
        **inputs_of(back_key, ir="module")
    )


def test_a_key_is_64_hex_digits():
    for function in INPUTS:
        made = function(**inputs_of(function))
        assert len(made) == 64
        assert set(made) <= set("0123456789abcdef")
