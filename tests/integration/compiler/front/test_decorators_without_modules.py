"""Decorators of Triton whose arguments need a module that was not posted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.compiler.children import ChildEnd, Children
from tests.integration.compiler.front.test_packaged_modules import run

HEAD = "import triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, 1.0)\n"
IMPORT = "from pkg.tuning import CONFIGS, KWARGS\n"
TUNED = f"{HEAD}{IMPORT}@triton.autotune(configs=CONFIGS, key=[])\n{KERNEL}"
FILE = {"pkg/tuning.py": "import triton\nCONFIGS = [triton.Config({})]\nKWARGS = {}\n"}

LACKING = {
    "configurations of the module": TUNED,
    "options of the module": HEAD + IMPORT
    + "@triton.autotune(configs=[triton.Config({})], key=[], **KWARGS)\n" + KERNEL,
    "a list that asks the module": f"{HEAD}{IMPORT}SIZES = [32] if KWARGS else [16]\n"
    + "@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in SIZES], key=[])\n"
    + KERNEL,
    "heuristics of the module": f"{HEAD}from pkg import tuning\n"
    + f"@triton.heuristics(tuning.heuristics('k'))\n{KERNEL}",
    "both": f"{HEAD}{IMPORT}@triton.autotune(configs=CONFIGS, key=[])\n"
    + f"@triton.heuristics(KWARGS)\n{KERNEL}",
}  # fmt: skip


def messages(ended: ChildEnd) -> list[str]:
    return [assumption["message"] for assumption in ended.result["assumptions"]]


@pytest.mark.parametrize("text", LACKING.values(), ids=LACKING)
def test_a_tuner_that_needs_a_missing_module_is_left_out_and_named(
    children: Children, text: str
) -> None:
    ended = run(children, text, module=None)

    assert "1.000000e+00" in ended.stages["ttir"].decode()
    assert ended.result["needs"][0] == "pkg.tuning"
    assert any("left out" in message and "pkg.tuning" in message for message in messages(ended))


def test_a_tuner_that_needs_a_removed_module_of_triton_is_left_out(children: Children) -> None:
    removed = "from triton.ops.matmul_perf_model import early_config_prune\n"
    pruned = "prune_configs_by={'early_config_prune': early_config_prune}"
    text = f"{HEAD}{removed}@triton.autotune(configs=[], key=[], {pruned})\n{KERNEL}"

    ended = run(children, text, module=None)

    assert ended.result["needs"] == []
    assert any("left out" in message and "triton.ops" in message for message in messages(ended))


def test_a_repr_that_needs_a_missing_module_is_left_out_and_named(children: Children) -> None:
    made = "from pkg.names import make_repr\nNAME = make_repr('k')\n"
    text = HEAD + made + KERNEL.replace("triton.jit", "triton.jit(repr=NAME, debug=True)")

    ended = run(children, text, module=None)

    assert "@k(" in ended.stages["ttir"].decode()
    assert ended.result["needs"] == ["pkg.names"]
    assert any("the repr of k needs pkg.names" in message for message in messages(ended))


def test_values_of_heuristics_that_are_left_out_are_listed_as_assumed(children: Children) -> None:
    ended = run(children, LACKING["heuristics of the module"], module=None)

    assert any("what it would set is assumed" in message for message in messages(ended))


def test_what_reads_the_configurations_of_a_tuner_is_left_out_with_it(children: Children) -> None:
    reads = "LEAST = min(config.num_warps for config in k.configs)\n"

    ended = run(children, TUNED + reads, module=None)

    assert "1.000000e+00" in ended.stages["ttir"].decode()


OTHER = KERNEL.replace("def k(", "def other(").replace("1.0", "VALUE")


def test_a_kernel_that_depends_on_a_tuner_that_is_left_out_is_refused(children: Children) -> None:
    text = f"{TUNED}VALUE = tl.constexpr(1.0 if hasattr(k, 'configs') else 2.0)\n{OTHER}"

    last = run(children, text, module=None, kernel="other").last

    assert last is not None
    assert last["kind"] == "failure"


def test_a_tuner_that_is_left_out_keeps_its_class(children: Children) -> None:
    asks = "isinstance(k, triton.runtime.Autotuner)"
    text = f"{TUNED}VALUE = tl.constexpr(1.0 if {asks} else 2.0)\n{OTHER}"

    ended = run(children, text, module=None, kernel="other")

    assert "1.000000e+00" in ended.stages["ttir"].decode()


def test_a_tuner_whose_module_is_posted_stays(children: Children) -> None:
    ended = run(children, TUNED, FILE, module=None)

    assert ended.result["needs"] == []
    assert messages(ended) == []


def test_a_named_module_is_asked_for_before_a_tuner_is_left_out(children: Children) -> None:
    last = run(children, TUNED).last

    assert last is not None
    assert last["needs"] == ["pkg.tuning"]


def test_an_absent_module_leaves_a_tuner_out_and_is_not_asked_for(children: Children) -> None:
    ended = run(children, TUNED, absent=["pkg.tuning"])

    assert ended.result["needs"] == []
    assert any("left out" in message for message in messages(ended))


def test_a_tuner_that_fails_anywhere_refuses_the_kernel(children: Children) -> None:
    last = run(children, TUNED.replace("configs=CONFIGS", "configs=NO_SUCH"), module=None).last

    assert last is not None
    assert "NO_SUCH" in last["message"]


def test_the_configurations_of_a_tuner_that_is_left_out_are_refused(children: Children) -> None:
    header: dict[str, Any] = {
        "task": "autotune",
        "kernel": "k",
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
    }
    last = children.run(header, TUNED.encode()).last

    assert last is not None
    assert (last["slug"], last["needs"]) == ("missing_module", ["pkg.tuning"])


LIMITED = (
    HEAD
    + """from vllm.platforms import current_platform
limits = current_platform.limits()
@triton.jit
def k(x_ptr, CLAMPS: tl.constexpr = {clamps}, LEAST: tl.constexpr = limits.min):
    value = 1.0
    if tl.program_id(0) == 0:
        value = 2.0
    if CLAMPS:
        {use}
    tl.store(x_ptr, value)
"""
)
CLAMPED = "value = tl.maximum(value, LEAST)"


def test_a_default_that_needs_a_missing_module_may_stay_unread(children: Children) -> None:
    ended = run(children, LIMITED.format(clamps=False, use=CLAMPED), module=None)

    assert b"tt.store" in ended.stages["ttir"]
    assert any("the default of LEAST needs vllm.platforms" in each for each in messages(ended))


@pytest.mark.parametrize(
    "use",
    [CLAMPED, "value = 3.0 if LEAST is None else 4.0", "value = 3.0 if LEAST else 4.0",
     "value = 3.0 if LEAST == 1 else 4.0", "value = 3.0 if hasattr(LEAST, 'x') else 4.0"],
)  # fmt: skip
def test_a_default_that_needs_a_missing_module_is_never_made_up(
    children: Children, use: str
) -> None:
    last = run(children, LIMITED.format(clamps=True, use=use), module=None).last

    assert last is not None
    assert last["slug"] == "missing_module"
    assert last["needs"] == ["vllm.platforms.current_platform", "vllm.platforms.__init__"]


def test_a_value_of_the_request_replaces_a_default_that_is_missing(children: Children) -> None:
    text = LIMITED.format(clamps=True, use=CLAMPED)

    ended = run(children, text, module=None, constexprs={"LEAST": {"float": "0x1.0p+2"}})

    assert b"4.000000e+00" in ended.stages["ttir"]


def test_a_condition_in_doubt_takes_no_package_away_that_it_imports_from(
    children: Children,
) -> None:
    doubted = "from pkg import asks\nif asks():\n    import triton.tools.no_such_module\n"

    ended = run(children, HEAD + doubted + KERNEL, module=None)

    assert "1.000000e+00" in ended.stages["ttir"].decode()


def test_a_host_function_that_torch_must_not_compile_is_itself(children: Children) -> None:
    text = (
        "import functools\nimport torch\n" + HEAD + "def noted(fn):\n"
        "    @functools.wraps(fn)\n    def inner(*values):\n        return fn(*values)\n"
        "    return inner\n\n\n"
        "@noted\n@torch.compiler.disable(recursive=False)\ndef host(x):\n    return x\n\n\n"
        "SIZE = tl.constexpr(host(3))\n\n\n" + KERNEL.replace("1.0", "SIZE")
    )

    ended = run(children, text, module=None)

    assert "3.000000e+00" in ended.stages["ttir"].decode()
