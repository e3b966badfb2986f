"""The findings of a kernel, as the service answers them."""

import pytest

from compiler.diagnostic import Failure
from compiler.explain.explanation import explanation
from compiler.explain.task import explain
from compiler.explain.ttgir import read_ttgir
from compiler.messages.orders import ExplanationOrder

TTGIR = """\
#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], \
order = [1, 0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], \
instrShape = [16, 8]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k() {
    %1 = arith.constant dense<0.0> : tensor<32x64xf32, #mma> loc(#loc1)
    %2 = ttg.convert_layout %1 : tensor<32x64xf32, #mma> -> tensor<32x64xf32, #blocked> loc(#loc1)
    tt.return
  }
}
#loc1 = loc("/kernel/user.py":27:9)
"""


def test_a_finding_has_its_line_and_a_sentence() -> None:
    found = explanation({}, read_ttgir(TTGIR, "cuda:90"), "cuda:90", 4)

    assert found["layout_conversions"] == [
        {
            "file": "user.py",
            "line": 27,
            "count": 1,
            "elements": 2048,
            "largest": "32x64xf32 #mma -> #blocked",
            "message": "layout conversion: 32x64xf32 #mma -> #blocked",
        }
    ]
    assert found["tma"]["message"] == "TMA: none; the kernel has no tensor descriptor"
    assert (found["matrix_products"], found["not_vectorised"]) == ([], [])


def test_ttgir_that_mlir_cannot_read_is_refused() -> None:
    text = TTGIR.replace("tt.return", "tt.retrun").encode()
    order = ExplanationOrder(sizes={"ttgir": len(text)}, target="cuda:90", num_warps=4)

    with pytest.raises(Failure, match="cannot be explained: MLIR cannot parse its stage ttgir"):
        explain(order, text, lambda *_: None)
