"""The service refuses a body with too much JSON before parsing it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.request.case import MAX_LISTED_VALUES
from launch.request.launch_request import EXAMPLE, LaunchRequest
from service.http import body
from service.http.body import OF_BODY, JsonSize, check_json_size
from service.http.problems import ProblemRaised
from sweeps.sweep_request import SweepRequest

NAMES = st.text('a"\\,', max_size=3)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a,:[{\\"\n\u00e9', max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)


def refusal(content: bytes, most: JsonSize = OF_BODY) -> ProblemRaised:
    with pytest.raises(ProblemRaised) as raised:
        check_json_size(content, most)
    return raised.value


def counted(value: Any) -> tuple[int, int]:
    """Return the number of bytes in front of values and names, and the number of containers."""
    if isinstance(value, dict):
        inner, names = list(value.values()), len(value)
    elif isinstance(value, list):
        inner, names = value, 0
    else:
        return 0, 0
    values, containers = 1 + max(0, len(inner) - 1) + names, 1
    for item in inner:
        values += counted(item)[0]
        containers += counted(item)[1]
    return values, containers


def passes(content: bytes, values: int, containers: int) -> bool:
    try:
        check_json_size(content, JsonSize(values, containers))
    except ProblemRaised:
        return False
    return True


@given(value=ANY_JSON, indent=st.sampled_from([None, 1]), is_ascii=st.booleans())
def test_what_is_in_texts_does_not_count(value: Any, indent: int | None, is_ascii: bool) -> None:
    content = json.dumps(value, indent=indent, ensure_ascii=is_ascii).encode()
    values, containers = counted(value)

    assert passes(content, values, containers)
    assert not values or not passes(content, values - 1, containers)
    assert not containers or not passes(content, values, containers - 1)


@pytest.mark.parametrize("item", [b"{}", b"[]", b"0", b'"a"', b'"a":{}', b'"\\"":0'])
def test_two_mebibytes_of_small_items_are_not_parsed(item, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(body, "from_json", None)
    around = (b"{", b"}") if b":" in item else (b"[", b"]")
    content = b",".join([item] * ((2 << 20) // (len(item) + 1))).join(around)

    with pytest.raises(ProblemRaised) as raised:
        body.parse_body(content, SweepRequest)

    assert raised.value.slug == "too_large"
    assert raised.value.members["limit"] in (OF_BODY.values, OF_BODY.containers)
    assert "split it into several requests" in str(raised.value)


def test_lists_within_each_other_count_as_containers():
    problem = refusal(b"[" * OF_BODY.containers + b"[")

    assert str(problem).startswith("The body holds more than 100000 JSON lists and objects")


def test_a_source_may_have_any_number_of_commas():
    source = 'f(a, b[0], {1: 2}) "quoted" \\ \'\n' * 40_000
    content = json.dumps(EXAMPLE | {"reference": {"source": source}}).encode()
    assert content.count(b",") + content.count(b":") + content.count(b"{") > 100_000

    read = body.parse_body(content, LaunchRequest)

    assert read.reference is not None
    assert read.reference.source == source


def test_all_values_that_the_cases_of_a_launch_may_list_fit_in_a_body():
    values = [0.5] * (MAX_LISTED_VALUES // 100)
    buffer = {"shape": [len(values)], "dtype": "fp32", "init": {"kind": "values", "values": values}}
    cases = [{"arguments": {"x_ptr": buffer}}] * 100

    check_json_size(json.dumps(EXAMPLE | {"cases": cases}).encode())


def test_values_of_one_column_fit_in_a_body():
    check_json_size(json.dumps({"values": [[0.5]] * 65_536}).encode())


@pytest.mark.parametrize(
    "content",
    [b'"' * 10_000, b'{"source": "' + b'\\"' * 10_000, b"," * 10 + b'"' * 199 + b"[" * 10_000],
    ids=["quotes", "a text that never ends", "texts beside each other"],
)
def test_what_is_not_json_is_left_to_its_parser(content: bytes):
    check_json_size(content, JsonSize(values=100, containers=100))


def test_more_texts_than_values_are_refused_uncut():
    """Each text is a value or a name, so what is between them need not be looked at."""
    content = b"," * 10 + b'"' * 9_999 + b"[" * 10_000

    problem = refusal(content, JsonSize(values=100, containers=100))

    assert str(problem).startswith("The body holds more than 100 JSON values and names")


@pytest.mark.parametrize("number", [b"1" * 201, b"-0." + b"7" * 201, b"1" * 4_000_000])
def test_a_number_of_too_many_digits_is_refused(number: bytes):
    content = b'{"source": "' + b"9" * 300_000 + b'", "n": [1, ' + number + b"]}"

    problem = refusal(content)

    assert problem.slug == "invalid_json"
    assert str(problem).startswith("A number in the body has more than 200 digits")


@pytest.mark.parametrize("fill", [b"1", b'\\"1', b"1" * 199 + b"a"])
def test_digits_in_texts_are_any_number(fill: bytes):
    text = b'"' + fill * (400_000 // len(fill)) + b'"'

    check_json_size(b'{"a": ' + text + b", " + text + b": " + b"1" * 200 + b"}")


def test_a_long_number_in_a_small_body_is_left_to_its_field():
    check_json_size(b'{"n": ' + b"1" * 4000 + b"}")
