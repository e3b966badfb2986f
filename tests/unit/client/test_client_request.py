"""Python values in a request's JSON."""

import math
from pathlib import Path

import httpx
import pytest
from tritonc import Client
from tritonc.compile_body import constexpr_json

from tests.unit.client.fake_tritond import FakeTritond, compilation


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1024, 1024),
        (True, True),
        (None, None),
        (0.5, 0.5),
        ("ieee", "ieee"),
        ((16, 32), [16, 32]),
        (((1, 2), 3), [[1, 2], 3]),
        ({"dtype": "bf16"}, {"dtype": "bf16"}),
        (2**53, 2**53),
        (2**63 - 1, {"int": "9223372036854775807"}),
        (-(2**60), {"int": "-1152921504606846976"}),
        (math.inf, {"float": "inf"}),
        (-math.inf, {"float": "-inf"}),
        (math.nan, {"float": "nan"}),
    ],
)
def test_a_constexpr_is_written_so_that_no_json_reader_loses_it(value: object, written: object):
    assert constexpr_json(value) == written


def test_a_whole_float_stays_a_float_on_the_wire(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation())

    client.compile("", target="cuda:90", constexprs={"SCALE": 2.0})

    assert b'"SCALE":2.0' in tritond.requests[0].content


def test_a_value_json_cannot_say_is_refused_by_name_before_anything_is_sent(
    client: Client, tritond: FakeTritond
):
    with pytest.raises(TypeError, match=r"constexpr 'ACC': .* is a type, which JSON lacks"):
        client.compile("", target="cuda:90", constexprs={"ACC": float})

    assert tritond.requests == []


def test_a_bare_string_is_no_list_of_stages(client: Client):
    with pytest.raises(TypeError, match="'ptx' is one string"):
        client.compile("", target="cuda:90", include="ptx")


def test_hints_are_written_as_lists(client: Client, tritond: FakeTritond):
    tritond.will_answer(compilation())

    client.compile("", target="cuda:90", hints={"x_ptr": ("divisible_by_16",)})

    assert tritond.posted["hints"] == {"x_ptr": ["divisible_by_16"]}


@pytest.mark.parametrize("source", [Path("/kernels/add.py"), "/kernels/add.py"])
def test_a_path_in_place_of_a_source_is_refused(client: Client, tritond: FakeTritond, source: str):
    with pytest.raises((TypeError, ValueError), match="pass the text of the file"):
        client.compile(source, target="cuda:90")
    with pytest.raises((TypeError, ValueError), match="pass the text of the file"):
        client.inspect(source)
    with pytest.raises((TypeError, ValueError), match="pass the text of the file"):
        client.launch(source, arguments={}, grid=[1], target="cuda:90")
    for reference in (source, {"source": source}):
        with pytest.raises((TypeError, ValueError), match="pass the text of the file"):
            client.launch("", arguments={}, grid=[1], target="cuda:90", reference=reference)
    for member in ("reference", "inputs"):
        with pytest.raises((TypeError, ValueError), match="pass the text of the file"):
            client.program("", **{member: source})
    assert tritond.requests == []


def test_a_url_without_a_scheme_is_refused():
    with pytest.raises(httpx.InvalidURL, match="begins with http:// or https://"):
        Client("localhost:8000")
