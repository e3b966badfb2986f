import json

from tritonc.launch import Launch
from tritonc.proof import Proof
from tritonc.proof_sarif import proof_sarif

PROOF = Proof.from_json(
    {
        "id": "1",
        "state": "completed",
        "verdict": "refuted",
        "accesses": [
            {
                "kind": "store",
                "file": "user.py",
                "line": 9,
                "column": 5,
                "argument": "x_ptr",
                "bounds": {"verdict": "proved", "proved_under": ["grid"]},
                "overflow": {
                    "verdict": "refuted",
                    "expression": "program_id(0) * stride",
                    "line": 9,
                    "witness": {
                        "arguments": {
                            "i_ptr": {"init": {"kind": "values", "values": [0, 0, 0, 7]}},
                        }
                    },
                    "replay": {
                        "sizes": {"rows": 70000},
                        "message": "writes x_ptr[-1] of 4 elements",
                    },
                    "fix": {
                        "patch": "--- a\n+++ b\n-    row = 1\n+    row = 2\n",
                        "target": "cuda:90",
                        "registers": [20, 22],
                        "instructions": [
                            {"integer": 30, "memory": 2},
                            {"integer": 33, "memory": 2},
                        ],
                    },
                },
            }
        ],
    }
)


def test_what_is_refuted_is_an_error_at_its_line() -> None:
    [run] = json.loads(proof_sarif(PROOF, "kernels/rows.py"))["runs"]
    [result] = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], result["level"]) == ("overflow", "error")
    assert place["artifactLocation"]["uri"] == "kernels/rows.py"
    assert place["region"] == {"startLine": 9, "startColumn": 5}
    assert "rows = 70,000, i_ptr = [0 (3 times), 7]; replayed" in result["message"]["text"]


def test_the_text_of_a_proof_says_what_holds_and_what_breaks() -> None:
    text = PROOF.render("rows.py")
    assert "rows.py:9  store x_ptr" in text
    assert "  in bounds        proved for all sizes (grid)" in text
    assert "REFUTED: program_id(0) * stride wraps at line 9, first at rows = 70,000" in text
    cost = "registers 20 to 22, instructions 32 to 35 on cuda:90"
    assert f"proved with: row = 2; {cost}" in text
    assert text.endswith("verdict: refuted")


def test_a_launch_says_what_its_proof_leaves_open() -> None:
    launch = Launch.from_json(
        {"id": "2", "state": "completed", "verdict": "not_checked", "proof": PROOF.raw}
    )
    text = launch.render("rows.py")
    assert "proof for all sizes: refuted\n" in text
    assert "  rows.py:9: store of x_ptr: 32-bit overflow: REFUTED: program_id(0)" in text


def test_a_buffer_whose_values_are_not_known_has_a_hint() -> None:
    unknown = {
        "verdict": "unknown",
        "reason": "it depends on the values of i_ptr, loaded at line 9",
    }
    body = {"id": "3", "state": "completed", "accesses": [{"line": 9, "bounds": unknown}]}
    hint = "hint: add the range of i_ptr to the contract: `values i_ptr: 0 .. SIZE`"
    assert hint in Proof.from_json(body).render()
    told = body | {"contract": "values i_ptr: 0 .. n\n"}
    assert "hint" not in Proof.from_json(told).render()


def test_the_text_of_a_proof_names_what_was_not_re_checked() -> None:
    seen = {"runs": 60, "bits": "agrees"}, {"runs": 0, "bits": "timeout"}
    answers = {
        check: {"verdict": "proved", "rechecked": one}
        for check, one in zip(("bounds", "overflow"), seen, strict=True)
    }
    access = {"kind": "store", "line": 9, "argument": "x_ptr", **answers}
    body = {"id": "1", "state": "completed", "verdict": "proved", "accesses": [access]}
    lines = Proof.from_json(body).render().splitlines()
    assert "  in bounds        proved for all sizes" in lines
    assert "  32-bit overflow  proved for all sizes; not re-checked" in lines
    rechecked = (
        "re-checked: 0 to 60 runs, the bit-vector check agrees with 1 of 2 proofs, "
        "reached its limit for 1 of 2 proofs"
    )
    assert rechecked in lines


def test_the_text_of_two_kernels_that_store_the_same_tells_whether_they_ran() -> None:
    def text_of(runs: int, bits: str = "not_modelled") -> str:
        answer = {"verdict": "proved", "rechecked": {"runs": runs, "bits": bits}}
        body = {"id": "1", "state": "completed", "verdict": "proved", "equivalent": answer}
        return Proof.from_json(body).render()

    assert "store the same   proved for all sizes; not re-checked\n" in text_of(0)
    assert "store the same   proved for all sizes; re-checked by bit-vectors" in text_of(
        0, "agrees"
    )
    assert "store the same   proved for all sizes\n" in text_of(7)
