"""A small kernel that an idle child runs, so that a real kernel causes no more page faults.

It has the operations that most kernels have; its results are not used.
"""

from typing import Any

from compiler.target import Target
from launch.messages import RunOrder

TEXT = b"""module {
  tt.func public @small(%x_ptr: !tt.ptr<f32>, %z_ptr: !tt.ptr<f32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %size = arith.constant 32 : i32
    %none = arith.constant dense<0.0> : tensor<32xf32>
    %pid = tt.get_program_id x : i32
    %first = arith.muli %pid, %size : i32
    %range = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
    %firsts = tt.splat %first : i32 -> tensor<32xi32>
    %lanes = arith.addi %firsts, %range : tensor<32xi32>
    %ns = tt.splat %n : i32 -> tensor<32xi32>
    %mask = arith.cmpi slt, %lanes, %ns : tensor<32xi32>
    %xs = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %from = tt.addptr %xs, %lanes : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %x = tt.load %from, %mask, %none : tensor<32x!tt.ptr<f32>>
    %y = scf.for %i = %zero to %two step %one iter_args(%old = %x) -> (tensor<32xf32>) : i32 {
      %sum = "tt.reduce"(%old) <{axis = 0 : i32}> ({
      ^bb0(%a: f32, %b: f32):
        %c = arith.addf %a, %b : f32
        tt.reduce.return %c : f32
      }) : (tensor<32xf32>) -> f32
      %sums = tt.splat %sum : f32 -> tensor<32xf32>
      %exp = math.exp %old : tensor<32xf32>
      %new = arith.divf %exp, %sums : tensor<32xf32>
      %is_more = arith.cmpf ogt, %new, %none : tensor<32xf32>
      %kept = arith.select %is_more, %new, %none : tensor<32xi1>, tensor<32xf32>
      scf.yield %kept : tensor<32xf32>
    }
    %zs = tt.splat %z_ptr : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %to = tt.addptr %zs, %lanes : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    tt.store %to, %y, %mask : tensor<32x!tt.ptr<f32>>
    tt.return
  }
}
"""
_ELEMENTS = 40


def small_order() -> RunOrder:
    """Return the order to run the kernel, with TEXT as body."""
    allocation = {"dtype": "fp32", "elements": _ELEMENTS, "align_bytes": 16, "body": None}
    uniform = {"kind": "uniform", "seed": 1, "low": 0, "high": 1}
    return RunOrder(
        ir=(0, len(TEXT)),
        stage="ttir",
        target=Target("cuda", 90, 32),
        files=["user.ttir"],
        allocations=[
            {**allocation, "name": "arg0", "init": uniform, "output": False},
            {**allocation, "name": "arg1", "init": None, "output": True},
        ],
        arguments={
            "arg0": _buffer(0, output=False),
            "arg1": _buffer(1, output=True),
            "arg2": {"kind": "scalar", "value": _ELEMENTS, "dtype": "i32"},
        },
        parameters=["arg0", "arg1", "arg2"],
        grid=(2, 1, 1),
    )


def _buffer(allocation: int, *, output: bool) -> dict[str, Any]:
    return {
        "kind": "buffer", "allocation": allocation, "shape": [_ELEMENTS], "strides": [1],
        "offset": 0, "dtype": "fp32", "output": output,
    }  # fmt: skip
