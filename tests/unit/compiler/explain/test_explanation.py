"""The findings of a kernel, as the service answers them."""

from compiler.explain.explanation import explanation

TTGIR = """\
#blocked = #ttg.blocked<{sizePerThread = [4]}>
#mma = #ttg.nvidia_mma<{versionMajor = 2}>
module {
  %2 = ttg.convert_layout %1 : tensor<32x64xf32, #mma> -> tensor<32x64xf32, #blocked> loc(#loc1)
}
#loc1 = loc("/kernel/user.py":27:9)
"""


def test_a_finding_has_its_line_and_a_sentence() -> None:
    found = explanation({"ttgir": TTGIR}, "cuda:90", 4)

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
