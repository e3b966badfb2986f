"""Resolved launches: device, target, grid, and arguments together with a signature."""

import pytest

from launch.request.hint_check import HintViolated
from launch.request.launch_request import DeviceClass
from launch.request.launch_resolution import grid_values, resolve_launch
from tests.unit.launch.request.launch_of_add import (
    COMPILATION,
    OUTPUT,
    SIGNATURE,
    X,
    errors,
    request,
    resolved,
)
from tests.unit.launch.request.test_launch_request import KEY, read


def test_a_device_class_names_target_and_model():
    device = resolved(device={"target": "cuda:90", "model": "NVIDIA H200"}).device

    assert device == DeviceClass(target="cuda:90", model="NVIDIA H200")


@pytest.mark.parametrize("device", ["auto", "cpu", "interpreter"])
def test_a_launch_with_a_trace_is_the_cpu_devices(device: str):
    assert resolved(device=device, trace={}).device == "cpu"


def test_posted_ir_is_traced_on_the_cpu():
    ir = {"ir": {"language": "ttir", "text": "module {}"}, "target": "cuda:90"}

    traced = resolved(compilation=ir, arguments=[], grid=[1], trace={})

    assert traced.device == "cpu"


def test_a_launch_without_a_target_is_the_cpus():
    untargeted = {name: part for name, part in COMPILATION.items() if name != "target"}

    assert resolved(compilation=untargeted).device == "cpu"
    assert resolved(compilation=untargeted, device="cpu").device == "cpu"
    assert resolved().device == "auto"


def test_a_launch_on_a_gpu_needs_a_target():
    untargeted = {name: part for name, part in COMPILATION.items() if name != "target"}

    [(pointer, message)] = errors(
        lambda: resolved(compilation=untargeted, device={"target": "cuda:90"})
    )

    assert pointer == "/compilation/target"
    assert 'needs the target to compile for, such as "cuda:90"' in message


def test_without_a_target_there_is_no_stage_to_stop_after():
    untargeted = {name: part for name, part in COMPILATION.items() if name != "target"}

    [(pointer, _)] = errors(lambda: resolved(compilation=untargeted | {"stop_after": "ttir"}))

    assert pointer == "/compilation/stop_after"


def test_without_a_signature_it_is_inferred():
    assert resolved().infers
    assert not resolved(compilation=COMPILATION | {"signature": SIGNATURE}).infers
    assert not resolved(
        compilation=COMPILATION | {"signature": "*fp32, *fp32, i32, 64", "constexprs": None}
    ).infers
    assert not resolved(**KEY).infers


def test_a_grid_that_needs_the_source_or_the_device_is_left_open():
    arguments = {"compilation": COMPILATION | {"constexprs": None}}

    assert resolved(**arguments).cases[0].grid.names == {"n_elements", "BLOCK"}
    assert resolved(grid=["min(NUM_SMS, 5) * 0"]).cases[0].grid.names == {"NUM_SMS"}


def test_the_values_of_a_grid_are_scalars_and_constexprs():
    case = resolved()

    assert grid_values(case.specialization, case.cases[0].bound) == {"n_elements": 96, "BLOCK": 64}


def test_an_argument_that_breaks_a_hint_of_the_signature_is_a_violation():
    arguments = {"x_ptr": X, "output_ptr": OUTPUT, "n_elements": 95}
    with pytest.raises(HintViolated) as violated:
        resolved(compilation=COMPILATION | {"signature": SIGNATURE}, arguments=arguments)

    assert [error.pointer for error in violated.value.errors] == ["/arguments/n_elements"]


def test_what_a_hook_of_the_jit_printed_is_a_promise_too():
    data = {
        "name": "add",
        "signature": {"x_ptr": "*fp32", "output_ptr": "*fp32", "n_elements": "i32"},
        "attrs_keys": [[2]],
        "attrs_vals": [[["tt.divisibility", 16]]],
    }
    compilation = COMPILATION | {"specialization_data": data, "constexprs": None}
    arguments = {"x_ptr": X, "output_ptr": OUTPUT, "n_elements": 95}

    assert not resolved(compilation=compilation, grid=[1]).infers
    with pytest.raises(HintViolated, match="/arguments/n_elements: is 95"):
        resolved(compilation=compilation, arguments=arguments, grid=[1])


def test_null_is_as_good_as_a_field_that_is_left_out():
    said = read(
        cases=None, checks=None, device=None, timeout_s=None, timing={"flush_l2": None},
        reference={"source": "x", "equal_nan": None}, **{"return": None},
    )  # fmt: skip
    left_out = read(timing={}, reference={"source": "x"})

    assert said == left_out
    assert said.model_fields_set == left_out.model_fields_set


def test_an_argument_of_another_type_than_the_signature_says_is_refused():
    arguments = {"x_ptr": X | {"dtype": "fp16"}, "output_ptr": OUTPUT, "n_elements": 96}
    found = errors(
        lambda: resolved(compilation=COMPILATION | {"signature": SIGNATURE}, arguments=arguments)
    )

    assert found == [("/arguments/x_ptr", "must be of type *fp32")]


def test_the_limit_on_bytes_is_a_parameter():
    [(pointer, _)] = errors(lambda: resolve_launch(request(), max_bytes=100))

    assert pointer == "/arguments"
