"""An autotuner's configurations as variants of a sweep."""

from __future__ import annotations

import pytest

from compiler.rejection import RequestRejected
from sweeps.autotune.configurations import configurations
from tests.sweeps.autotune.readings import config, reading


def test_each_configuration_is_a_variant() -> None:
    found = configurations(reading(configs=[config({"BM": 64, "BN": 32}), config({"BM": 128})]))

    options = {"num_warps": 4, "num_ctas": 1, "num_stages": 3}
    assert found.variants == (
        {"constexprs": {"BM": 64, "BN": 32}, "options": options},
        {"constexprs": {"BM": 128}, "options": options},
    )
    assert found.assumptions == ()


def test_a_name_that_is_not_a_parameter_is_an_option() -> None:
    found = configurations(reading(configs=[config({"BM": 64, "waves_per_eu": 2})]))

    assert found.variants[0]["constexprs"] == {"BM": 64}
    assert found.variants[0]["options"]["waves_per_eu"] == 2


def test_equal_configurations_are_one_variant() -> None:
    found = configurations(reading(configs=[config({"BM": 64})] * 2 + [config({"BM": 32})]))

    assert [variant["constexprs"]["BM"] for variant in found.variants] == [64, 32]


def test_a_kernel_without_autotuner_is_named() -> None:
    with pytest.raises(RequestRejected) as caught:
        configurations(reading(is_autotuned=False, configs=[]))

    [error] = caught.value.errors
    assert error.pointer == "/space/autotune"
    assert error.message == (
        "matmul (line 20) has no @triton.autotune; give the space as a product or as variants"
    )


def test_what_an_autotuner_does_beside_is_reported() -> None:
    found = configurations(
        reading(
            configs=[config({"BM": 64}, sets_aside=["pre_hook"]), config({"BM": 32})],
            hooks=["early_config_prune", "perf_model", "post_hook"],
            reset_to_zero=["c"],
        )
    )

    reported = [assumption.message for assumption in found.assumptions]
    assert {assumption.line for assumption in found.assumptions} == {20}
    assert [message.split(":")[0] for message in reported] == [
        "prune_configs_by is ignored (early_config_prune, perf_model)",
        "the pre_hook of 1 configurations is not run",
        "the autotuner's post_hook are not run",
        "reset_to_zero (c) is not needed",
    ]


def test_a_value_that_no_request_can_say_leaves_its_configuration_out() -> None:
    configs = [config({"BM": 64}, unsaid=["layout"]), config({"BM": 32})]

    found = configurations(reading(configs=configs))

    assert [variant["constexprs"]["BM"] for variant in found.variants] == [32]
    [assumption] = found.assumptions
    assert assumption.message == (
        "configuration 0 is left out: no request can hold its value of layout"
    )


def test_where_none_is_left_it_is_said_why() -> None:
    with pytest.raises(RequestRejected, match="none of the 1 configurations of matmul is usable"):
        configurations(reading(configs=[config({"BM": 64}, sets_aside=["ir_override"])]))
