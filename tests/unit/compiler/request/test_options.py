"""Options: an allowlist with types and ranges."""

from typing import Any

import pytest

from compiler.rejection import RequestRejected
from compiler.request.options import resolve_options
from compiler.target import parse_target
from compiler.toolchain import OptionSpec
from tests.unit.compiler.vector_add import TOOLCHAIN


def resolve(written: dict[str, Any], target: str = "cuda:90") -> dict[str, Any]:
    parsed = parse_target(target)
    return resolve_options(written, TOOLCHAIN.options[parsed.backend], parsed)


def test_every_option_that_is_left_out_has_its_default():
    assert resolve({"num_warps": 8}) == {
        "default_dot_input_precision": "tf32",
        "enable_fp_fusion": True,
        "max_num_imprecise_acc_default": None,
        "maxnreg": None,
        "num_ctas": 1,
        "num_stages": 3,
        "num_warps": 8,
    }


KNOWN = (
    "The options of cuda are default_dot_input_precision, enable_fp_fusion, "
    "max_num_imprecise_acc_default, maxnreg, num_ctas, num_stages, num_warps."
)
REFUSED: dict[str, tuple[str, Any, str]] = {
    "misspelt": ("num_warp", 4, f'unknown option "num_warp". Did you mean `num_warps`? {KNOWN}'),
    "unknown": ("zzz", 4, f'unknown option "zzz". {KNOWN}'),
    "of the other backend": ("waves_per_eu", 1, f'unknown option "waves_per_eu". {KNOWN}'),
    "empty": ("", 4, f'unknown option "". {KNOWN}'),
    "no power of two": ("num_warps", 3, "3 is not one of 1, 2, 4, 8, 16, 32"),
    "string": ("num_warps", "4", 'must be an integer, not "4"'),
    "float": ("num_warps", 4.0, "must be an integer, not 4.0"),
    "boolean": ("num_warps", True, "must be an integer, not true"),
    "null": ("num_warps", None, "must be an integer, not null"),
    "list": ("num_warps", [4], "must be an integer, not [4]"),
    "object": ("maxnreg", {"int": "64"}, 'must be an integer, not {"int": "64"}'),
    "below": ("num_stages", 0, "0 is below the minimum of 1"),
    "above": ("num_stages", 17, "17 is above the maximum of 16"),
    "far above": ("num_stages", 10**100, "an integer of 333 bits is above the maximum of 16"),
    "more than 32 bits": (
        "max_num_imprecise_acc_default",
        2**31,
        "2147483648 is above the maximum of 2147483647",
    ),
    "integer for a boolean": ("enable_fp_fusion", 1, "must be true or false, not 1"),
    "string for a boolean": ("enable_fp_fusion", "no", 'must be true or false, not "no"'),
    "null for a boolean": ("enable_fp_fusion", None, "must be true or false, not null"),
    "integer for a string": ("default_dot_input_precision", 1, "must be a string, not 1"),
    "no choice": (
        "default_dot_input_precision",
        "tf64",
        '"tf64" is not one of tf32, tf32x3, ieee',
    ),
}


@pytest.mark.parametrize(("name", "value", "message"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_option_is_refused_by_name(name: str, value: Any, message: str):
    with pytest.raises(RequestRejected) as rejected:
        resolve({name: value})

    [error] = rejected.value.errors
    assert (error.pointer, error.message) == (f"/options/{name}", message)


def test_a_free_string_is_bounded():
    with pytest.raises(RequestRejected, match="/schedule_hint: a string of more than 256 char"):
        resolve({"schedule_hint": "x" * 257}, "hip:gfx942")


def test_every_wrong_option_is_named():
    with pytest.raises(RequestRejected) as rejected:
        resolve({"num_warps": 5, "num_stage": 2, "maxnreg": 8})

    assert [error.pointer for error in rejected.value.errors] == [
        *("/options/num_warps", "/options/num_stage", "/options/maxnreg")
    ]


def test_more_threads_than_a_block_can_have_are_refused():
    with pytest.raises(RequestRejected) as rejected:
        resolve({"num_warps": 32}, "hip:gfx942")

    assert str(rejected.value) == (
        "/options/num_warps: 32 warps of 64 threads are 2048, more than the 1024 a block can have"
    )


@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx942"])
def test_clusters_need_hopper(target: str):
    with pytest.raises(RequestRejected) as rejected:
        resolve({"num_ctas": 2}, target)

    assert str(rejected.value) == (
        "/options/num_ctas: clusters (num_ctas > 1) need cuda:90 or later, or hip:gfx1250, "
        f"not {target}"
    )


@pytest.mark.parametrize("target", ["cuda:90", "cuda:120", "hip:gfx1250"])
def test_clusters_are_there_from_hopper_on(target: str):
    assert resolve({"num_ctas": 2}, target)["num_ctas"] == 2


ONLY_SOMEWHERE: dict[str, tuple[str, Any, str, str, str]] = {
    "cluster launch control": ("clc", True, "cuda:90", "cuda:100", "needs cuda:100 or later"),
    "PTX version": ("ptx_version", 79, "cuda:90", "cuda:89", "needs at least 80 (PTX 8.0), not 79"),
}


@pytest.mark.parametrize(
    ("name", "value", "target", "other", "words"), ONLY_SOMEWHERE.values(), ids=ONLY_SOMEWHERE
)
def test_what_a_target_lacks_is_refused_for_it(
    name: str, value: Any, target: str, other: str, words: str
):
    spec = OptionSpec(type="bool" if value is True else "int")

    def resolved(target: str) -> dict[str, Any]:
        parsed = parse_target(target)
        table = TOOLCHAIN.options[parsed.backend] | {name: spec}
        return resolve_options({name: value}, table, parsed)

    with pytest.raises(RequestRejected) as rejected:
        resolved(target)

    [error] = rejected.value.errors
    assert error.pointer == f"/options/{name}"
    assert words in error.message
    assert resolved(other)[name] == value


def test_a_float_option_has_one_spelling():
    table = TOOLCHAIN.options["cuda"] | {"slack": OptionSpec(type="float", default=0.5)}
    target = parse_target("cuda:90")

    assert repr(resolve_options({"slack": 2}, table, target)["slack"]) == "2.0"
    with pytest.raises(RequestRejected, match="/options/slack: Infinity is above the maximum"):
        resolve_options({"slack": float("inf")}, table, target)
