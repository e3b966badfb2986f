"""Winners as Python to paste."""

from __future__ import annotations

from typing import Any

import pytest
import triton

from sweeps.sweep_plan import ABSENT, SweptAxis
from sweeps.winners.triton_config import triton_config
from tests.sweeps.winners.swept import BASE, plan, winner

URL = "/v1/sweeps/ab"


def configs(text: str) -> list[triton.Config]:
    namespace: dict[str, Any] = {}
    exec(compile(text, "pasted.py", "exec"), namespace)
    found: list[triton.Config] = namespace["configs"]
    return found


def test_the_text_looks_hand_written() -> None:
    text = triton_config(URL, plan(), [winner(7)])

    assert text == (
        "# Winners of /v1/sweeps/ab, for `@triton.autotune(configs=configs, ...)`.\n"
        "import triton\n\n"
        "configs = [\n"
        "    # large on cuda:90: 9 us, the median lies from 8.75 to 9.25\n"
        "    #   12.3 % ahead of row 1 (from 9 to 15); verified against the reference\n"
        "    triton.Config({'BM': 32}, num_warps=8, num_stages=2),\n"
        "]\n"
    )
    [config] = configs(text)
    assert config.all_kwargs() == {"BM": 32, "num_warps": 8, "num_ctas": 1, "num_stages": 2}


def test_equal_winners_of_several_sizes_are_one_configuration() -> None:
    small, large = winner(6, problem_size="small", lead=None, verified=False), winner(7)

    text = triton_config(URL, plan(), [small, large])

    assert len(configs(text)) == 1
    assert "small on cuda:90" in text
    assert "large on cuda:90" in text
    assert "no other variant could have won; not checked: no reference" in text


def test_an_option_that_the_request_leaves_out_is_the_one_that_it_was_compiled_with() -> None:
    axes = [SweptAxis(name="constexprs.BM", values=[16])]

    text = triton_config(URL, plan(axes=axes, chosen=[[0]]), [winner(0)])

    assert configs(text)[0].num_warps == 4


VALUES: dict[str, tuple[Any, str]] = {
    "a truth": (True, "True"),
    "nothing": (None, "None"),
    "a text": ("a'\"\n", repr("a'\"\n")),
    "a type": ({"dtype": "bf16"}, "tl.bfloat16"),
    "infinity": ({"float": "-inf"}, "float('-inf')"),
    "a whole float": (2.0, "2.0"),
    "a large number": ({"int": "9223372036854775807"}, "9223372036854775807"),
    "a tuple": ([1, [2]], "(1, (2,))"),
}


@pytest.mark.parametrize(("value", "spelled"), VALUES.values(), ids=VALUES)
def test_values_are_spelled_in_python(value: Any, spelled: str) -> None:
    axes = [SweptAxis(name="constexprs.V", values=[value])]

    text = triton_config(URL, plan(axes=axes, chosen=[[0]]), [winner(0)])

    assert f"triton.Config({{'V': {spelled}}}, num_warps=4, num_stages=2)" in text
    configs(text)


def test_a_label_with_lines_stays_a_comment() -> None:
    text = triton_config(URL, plan(), [winner(7, problem_size="x\nimport os\r#\u2028y")])

    assert len(configs(text)) == 1
    assert "\nimport os" not in text


def test_further_options_are_keywords_of_the_configuration() -> None:
    axes = [SweptAxis(name="options.waves_per_eu", values=[2])]

    text = triton_config(URL, plan(axes=axes, chosen=[[0]]), [winner(0)])

    assert "triton.Config({'waves_per_eu': 2}, num_warps=4, num_stages=2)" in text


def test_a_function_is_its_name() -> None:
    base = {**BASE, "compilation": {**BASE["compilation"], "constexprs": {}}}
    axes = [SweptAxis(name="constexprs.ACT", values=[{"function": "relu"}])]

    text = triton_config(URL, plan(base=base, axes=axes, chosen=[[0]]), [winner(0)])

    assert "triton.Config({'ACT': relu}," in text


def test_what_a_listed_variant_leaves_to_the_kernel_is_left_to_it() -> None:
    axes = [
        SweptAxis(name="constexprs.BM", values=[16]),
        SweptAxis(name="constexprs.G", values=[2]),
    ]

    text = triton_config(URL, plan(axes=axes, chosen=[[0, ABSENT]]), [winner(0)])

    assert "triton.Config({'BM': 16}, num_warps=4, num_stages=2)" in text
