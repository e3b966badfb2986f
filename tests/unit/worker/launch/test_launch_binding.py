"""Arguments, facts and a specialization make one run: constants, types, grid, uploads."""

from typing import Any

import pytest

from compiler.job import CompileJob
from compiler.parameter_binding import BindingFailed
from compiler.rejection import RequestRejected
from compiler.request.signature import parse_specialization
from launch.request.argument_binding import bind_arguments
from launch.request.bound_arguments import BoundArguments, NoValue, Scalar
from launch.request.grid import parse_grid
from launch.request.hint_check import HintViolated
from worker.compile.reports import KernelFacts
from worker.launch.run import PreparedRun, inputs_of
from worker.launch.run_binding import bind, bind_ir, select, with_uploads

X = {"shape": [8], "dtype": "fp32", "init": {"kind": "zeros"}}
ARGUMENTS = {"x_ptr": X, "n": 8}


def parameter(name: str, **changes: Any) -> dict[str, Any]:
    usual = {
        "name": name, "annotation": None, "constexpr": False, "const": False, "default": None,
        "do_not_specialize": False, "do_not_specialize_on_alignment": False,
        "line": 1, "column": 1, "set_by": None, "example": None,
    }  # fmt: skip
    return usual | changes


KERNEL = [
    parameter("x_ptr"),
    parameter("n"),
    parameter("BLOCK", constexpr=True, annotation="tl.constexpr"),
]


def known(parameters: list[dict[str, Any]]) -> KernelFacts:
    facts = {"name": "kernel", "line": 1, "parameters": parameters, "sure": True}
    return KernelFacts.read(facts)


def job(**written: Any) -> CompileJob:
    specialization = parse_specialization(
        written.get("signature"), written.get("hints"), written.get("constexprs")
    )
    return CompileJob.model_construct(specialization_json=specialization.to_json())


def bound(**changes: Any) -> BoundArguments:
    return bind_arguments(ARGUMENTS | changes)


def run(
    arguments: BoundArguments | None = None,
    parameters: list[dict[str, Any]] | None = None,
    grid: list[Any] | None = None,
    **written: Any,
) -> PreparedRun:
    written = written or {"constexprs": {"BLOCK": 4}}
    return bind(
        job(**written),
        known(parameters or KERNEL),
        arguments or bound(),
        parse_grid(grid or [1]),
        132,
    )


def scalar(of: PreparedRun, name: str) -> Scalar:
    argument = of.bound.arguments[name]
    assert isinstance(argument, Scalar)
    return argument


def test_the_grid_is_evaluated_with_scalars_constexprs_and_the_number_of_sms() -> None:
    assert run(grid=["cdiv(n, BLOCK)", "NUM_SMS"]).grid == [2, 132, 1]


def test_a_constexpr_among_the_arguments_is_one_and_no_argument_any_more() -> None:
    found = run(bound(BLOCK=4), grid=["BLOCK"], signature=None)

    assert found.constexprs == {"BLOCK": {"int": "4"}}
    assert found.bound.arguments.keys() == {"x_ptr", "n"}
    assert found.grid == [4, 1, 1]


def test_a_literal_default_of_a_constexpr_is_its_value() -> None:
    block = KERNEL[2] | {"default": {"literal": {"int": "16"}}}

    found = run(parameters=[*KERNEL[:2], block], grid=["cdiv(n, BLOCK)"], signature=None)

    assert found.constexprs == {"BLOCK": {"int": "16"}}
    assert found.grid == [1, 1, 1]


def test_a_default_that_must_be_executed_is_left_to_the_kernel() -> None:
    block = KERNEL[2] | {"default": {"expression": "2 * SIZE"}}

    assert run(parameters=[*KERNEL[:2], block], signature=None).constexprs == {}


def test_a_default_of_a_run_time_parameter_is_an_argument() -> None:
    scale = parameter("scale", default={"literal": {"float": "0x1.8p+1"}})

    found = run(parameters=[*KERNEL, scale])

    assert scalar(found, "scale").dtype == "fp32"


@pytest.mark.parametrize(("annotation", "dtype"), [("tl.int64", "i64"), ("tl.float32", "fp32")])
def test_a_scalar_takes_the_type_of_its_annotation(annotation: str, dtype: str) -> None:
    n = KERNEL[1] | {"annotation": annotation}

    assert scalar(run(parameters=[KERNEL[0], n, KERNEL[2]]), "n").dtype == dtype


def test_a_scalar_takes_the_type_of_the_signature() -> None:
    found = run(signature={"x_ptr": "*fp32", "n": "i64"}, constexprs={"BLOCK": 4})

    assert scalar(found, "n").dtype == "i64"


def test_a_positional_signature_is_by_the_order_of_the_parameters() -> None:
    found = run(signature="*fp32, i64, 4")

    assert scalar(found, "n").dtype == "i64"
    assert found.constexprs == {"BLOCK": {"int": "4"}}


def test_a_parameter_that_the_signature_says_is_1_needs_no_argument() -> None:
    arguments = bind_arguments({"x_ptr": X})

    found = run(arguments, signature="*fp32, i32:1, 4", grid=["n"])

    assert found.grid == [1, 1, 1]
    assert scalar(found, "n").value == {"int": "1"}


def test_none_stays_an_argument_so_that_the_kernel_sees_none() -> None:
    found = run(bind_arguments({"x_ptr": None, "n": 8}))

    assert isinstance(found.bound.arguments["x_ptr"], NoValue)
    assert "x_ptr" not in found.constexprs


def test_arguments_that_break_a_hint_of_the_signature_are_refused() -> None:
    with pytest.raises(HintViolated):
        run(bound(n=9), signature="*fp32, i32:16, 4")


def test_arguments_of_another_type_than_the_signature_are_refused() -> None:
    with pytest.raises(RequestRejected, match=r"/arguments/x_ptr: must be of type \*fp16"):
        run(signature="*fp16, i32, 4")


def test_a_signature_of_more_entries_than_parameters_is_refused() -> None:
    with pytest.raises(BindingFailed, match="4 entries") as failed:
        run(signature="*fp32, i32, 4, 5")
    assert failed.value.slug == "extra_argument"


def test_an_argument_that_the_signature_leaves_out_is_refused() -> None:
    with pytest.raises(RequestRejected, match="/arguments/n: is not a parameter"):
        run(signature="*fp32")


def test_ir_takes_its_arguments_as_they_are() -> None:
    arguments = bind_arguments({"arg0": X, "arg1": 8})

    found = bind_ir(arguments, parse_grid(["arg1"]), 1)

    assert found.bound == arguments
    assert found.grid == [8, 1, 1]


def test_arguments_that_another_kernel_lacks_are_left_out_but_not_their_memory() -> None:
    arguments = bound(view_ptr={"view": {"of": "x_ptr"}})

    found = select(arguments, {"view_ptr"})

    assert found.arguments.keys() == {"view_ptr"}
    assert found.allocations == arguments.allocations


def test_uploads_lie_one_behind_the_other_and_behind_the_source() -> None:
    digests = [f"sha256:{number * 64}" for number in "12"]
    tensors = {
        name: X | {"init": {"kind": "tensor", "digest": digest}}
        for name, digest in zip(("x_ptr", "y_ptr"), digests, strict=True)
    }
    parameters = [KERNEL[0], parameter("y_ptr"), *KERNEL[1:]]
    bare = run(bind_arguments({**tensors, "n": 8}), parameters)

    found = with_uploads(bare, dict(zip(digests, [b"first", b"second"], strict=True)))

    assert found.uploads == b"firstsecond"
    assert [allocation.body for allocation in found.bound.allocations] == [(0, 5), (5, 6)]
    header = inputs_of(found, 100)
    assert [allocation["body"] for allocation in header["allocations"]] == [[100, 5], [105, 6]]
