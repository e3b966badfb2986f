"""Functions that `tl.map_elementwise` maps, inlined with their branches."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ttir_to_numpy.refusal import Untranslatable
from tests.integration.launch.cpu.forms import forms_of

KERNEL = """module {{ tt.func public @k(%p: !tt.ptr<i32>) {{
  %lanes = tt.make_range {{start = 0 : i32, end = 8 : i32}} : tensor<8xi32>
  %eight = arith.constant 8 : i32
  %pid = tt.get_program_id x : i32
  %own = arith.muli %pid, %eight : i32
  %q = tt.addptr %p, %own : !tt.ptr<i32>, i32
  %base = tt.splat %q : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
  %at = tt.addptr %base, %lanes : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
  %x = tt.load %at : tensor<8x!tt.ptr<i32>>
  %r = "tt.map_elementwise"(%x, %lanes) <{{pack = 1 : i32}}> ({{{function}
  }}) : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  tt.store %at, %r : tensor<8x!tt.ptr<i32>>
  tt.return
}} }}"""
EARLY_RETURN = """
^bb0(%a: i32, %b: i32):
  %c = arith.cmpi sgt, %a, %b : i32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %d = arith.subi %a, %b : i32
  cf.br ^bb3(%d : i32)
^bb2:
  %e = arith.subi %b, %a : i32
  cf.br ^bb3(%e : i32)
^bb3(%f: i32):
  tt.map_elementwise.return %f : i32
"""
LOOP = """
^bb0(%a: i32, %b: i32):
  cf.br ^bb1(%a : i32)
^bb1(%d: i32):
  %c = arith.cmpi sgt, %d, %b : i32
  cf.cond_br %c, ^bb2, ^bb3
^bb2:
  cf.br ^bb1(%b : i32)
^bb3:
  tt.map_elementwise.return %b : i32
"""


CALL = """
^bb0(%a: i32, %b: i32):
  %c = tt.call @helper(%a, %b) : (i32, i32) -> i32
  tt.map_elementwise.return %c : i32
"""
HELPER = LOOP.replace("^bb0(%a: i32, %b: i32):", "").replace("map_elementwise.", "")


def test_each_lane_goes_through_the_branches_that_it_takes() -> None:
    forms = forms_of(KERNEL.format(function=EARLY_RETURN))
    x = np.random.default_rng(1).integers(-20, 20, (3, 8)).astype(np.int32)

    for run in (forms.one_by_one, forms.gather_limited, forms.at_once_checked):
        found = x.copy()
        run((3, 1, 1), [found])
        np.testing.assert_array_equal(found, abs(x - np.arange(8)))


def test_branches_that_go_back_are_refused() -> None:
    with pytest.raises(Untranslatable, match="branches that go back"):
        forms_of(KERNEL.format(function=LOOP))


@pytest.mark.parametrize("operation", ["map_elementwise", "reduce"])
def test_branches_that_go_back_in_a_helper_are_refused(operation: str) -> None:
    helper = f"tt.func private @helper(%a: i32, %b: i32) -> i32 {{{HELPER}}}\n"
    text = KERNEL.format(function=CALL).replace("tt.func public", helper + "tt.func public")
    if operation == "reduce":
        text = text.replace("map_elementwise", "reduce").replace("pack = 1", "axis = 0")
        text = text.replace("(%x, %lanes)", "(%x)").replace("%r =", "%s =")
        text = text.replace(
            "(tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>",
            "(tensor<8xi32>) -> i32\n  %r = tt.splat %s : i32 -> tensor<8xi32>",
        )

    with pytest.raises(Untranslatable, match="branches that go back"):
        forms_of(text)
