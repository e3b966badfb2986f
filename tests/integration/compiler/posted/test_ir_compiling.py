"""IR posted instead of a source: its results, and repairs on the way."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest

from tests.integration.compiler.kernels import KERNELS
from tests.integration.service.bodies import good
from tests.integration.service.conftest import Post

WITH_CHECKS = (KERNELS / "ir" / "vector_add_with_overflow_checks.ttir").read_text()
KEEP_ONE = """module {
  tt.func public @keep(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i64, %b: i1) {
    %one = arith.constant 1.0 : f16
    tt.store %x, %one : !tt.ptr<f16>
    tt.return
  }
}
"""
OLD_DESCRIPTOR = """module {
  tt.func public @copy(%d: !tt.tensordesc<tensor<32x32xf16>>, %y: !tt.ptr<f16>) {
    %i = arith.constant 0 : i32
    %t = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<32x32xf16>> -> tensor<32x32xf16>
    %s = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<32x32xf16>> -> tensor<32x32xf16>
    %u = arith.addf %t, %s : tensor<32x32xf16>
    tt.descriptor_store %d[%i, %i], %u : !tt.tensordesc<tensor<32x32xf16>>, tensor<32x32xf16>
    tt.return
  }
}
"""


def ttir(text: str, canonicalize: bool = False, **changes: Any) -> dict[str, Any]:
    ir = {"language": "ttir", "text": text, "canonicalize": canonicalize}
    return {"ir": ir, "target": "cuda:90", **changes}


@pytest.mark.parametrize("name", ["vector_add", "matmul", "loops"])
def test_ttir_that_was_answered_compiles_to_the_same_when_it_is_posted(
    post: Post, name: str
) -> None:
    from_source = post(good(name, include=["ttir", "ptx", "cubin"])).json()
    text = from_source["included"]["ttir"]

    from_ir = post(ttir(text, options=from_source["options"], include=["ttir", "ptx", "cubin"]))

    assert from_ir.json()["included"] == from_source["included"]
    assert from_ir.json()["diagnostics"] == []


def test_ttgir_brings_its_own_warps(post: Post) -> None:
    from_source = post(good("vector_add", options={"num_warps": 8}, include=["ttgir", "ptx"]))
    included = from_source.json()["included"]

    body = {"ir": {"language": "ttgir", "text": included["ttgir"]}, "target": "cuda:90"}
    made = post({**body, "include": ["ttgir", "ptx"]}).json()

    assert made["included"] == included
    assert made["metadata"]["num_warps"] == 8
    assert made["abi"]["block"] == [256, 1, 1]
    assert sorted(made["artifacts"]) == ["cubin", "llir", "ptx", "ttgir"]


def test_a_module_with_overflow_checks_and_no_location_table_compiles_as_posted(post: Post) -> None:
    made = post(ttir(WITH_CHECKS, include=["ptx", "ttir"])).json()

    assert made["state"] == "succeeded"
    assert made["kernel"] == made["abi"]["entry"] == "add_kernel"
    assert ".visible .entry add_kernel" in made["included"]["ptx"]
    assert "user.ttir" in made["included"]["ptx"]
    assert "loc(#loc" not in made["included"]["ttir"]
    [note] = made["diagnostics"]
    assert note["severity"] == "note"
    assert note["stage"] == "ttir"
    assert "#loc" in note["message"]


def test_canonicalizing_makes_ttir_of_what_comes_before_the_first_pass(post: Post) -> None:
    made = post(ttir(WITH_CHECKS, canonicalize=True, include=["source", "ttir"])).json()

    assert "arith.andi" in made["included"]["source"]
    assert "arith.andi" not in made["included"]["ttir"]
    assert "cubin" in made["artifacts"]


def test_source_ir_canonicalizes_to_the_ptx_that_triton_makes(post: Post) -> None:
    known = post(good("matmul", include=["source", "ptx"])).json()

    made = post(
        ttir(
            known["included"]["source"],
            canonicalize=True,
            options=known["options"],
            include=["ptx"],
        )
    ).json()

    assert made["included"]["ptx"] == known["included"]["ptx"]


def test_parameters_and_abi_come_from_the_public_function(post: Post) -> None:
    made = post(ttir(KEEP_ONE)).json()

    assert [(p["name"], p["type"], p["role"], p["hints"]) for p in made["parameters"]] == [
        ("x", "*fp16", "runtime", ["divisible_by_16"]),
        ("n", "i64", "runtime", []),
        ("b", "i1", "runtime", []),
    ]
    slots = [(slot["kind"], slot["name"], slot["size_bytes"]) for slot in made["abi"]["parameters"]]
    assert slots == [
        ("pointer", "x", 8),
        ("scalar", "n", 8),
        ("scalar", "b", 1),
        ("global_scratch", "global_scratch", 8),
        ("profile_scratch", "profile_scratch", 8),
    ]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("%x_ptr", "x_ptr"), ("%arg0", "arg0"), ("%0", "arg0"), ("%class", "arg0"),
        ("%x.1", "arg0"), ("%arg7", "arg0"),
    ],
)  # fmt: skip
def test_a_parameter_is_called_as_it_is_written_or_by_its_position(
    post: Post, written: str, name: str
) -> None:
    made = post(ttir(KEEP_ONE.replace("%x", written), stop_after="ttgir")).json()

    assert [item["name"] for item in made["parameters"]] == [name, "n", "b"]


def test_a_named_location_is_a_parameter_s_name(post: Post) -> None:
    text = KEEP_ONE.replace("%x", "%arg0").replace("i32}", 'i32} loc("x_ptr"("k.py":3:1))')

    made = post(ttir(text, stop_after="ttgir")).json()

    assert [item["name"] for item in made["parameters"]] == ["x_ptr", "n", "b"]


def test_descriptor_types_of_an_older_triton_are_rewritten(post: Post) -> None:
    made = post(ttir(OLD_DESCRIPTOR, include=["ttir"])).json()

    assert made["state"] == "succeeded", made["problem"]
    assert "!tt.tensordesc<32x32xf16>" in made["included"]["ttir"]
    assert "tensordesc<tensor<" in made["diagnostics"][0]["message"]
    assert made["parameters"][0]["type"] == "tensordesc<fp16[32,32]>"
    assert [slot["size_bytes"] for slot in made["abi"]["parameters"]] == [128, 8, 8, 8]


@pytest.mark.parametrize("stop_after", ["ttir", "ttgir", "ptx"])
def test_it_stops_after_the_requested_stage(post: Post, stop_after: str) -> None:
    made = post(ttir(KEEP_ONE, stop_after=stop_after)).json()

    assert made["state"] == "succeeded"
    assert list(made["artifacts"])[-1] == stop_after


def test_the_request_is_kept_as_it_was_posted(post: Post, http: httpx.Client) -> None:
    made = post(ttir(KEEP_ONE, include=["cubin"])).json()

    kept = http.get(f"{made['url']}/request").json()

    assert kept["ir"] == {"language": "ttir", "text": KEEP_ONE, "canonicalize": False}
    assert "source" not in kept
    assert post(kept).json()["key"] == made["key"]
    assert base64.b64decode(made["included"]["cubin"]).startswith(b"\x7fELF")
