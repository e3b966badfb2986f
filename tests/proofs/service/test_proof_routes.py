"""Proofs through a real deployment: posted, answered, kept, refused."""

import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from proofs.proof_record import Proof
from proofs.proof_request import CASES_EXAMPLE, EXAMPLE
from tests.integration.service.running import Deployment

SHORT = EXAMPLE | {"contract": EXAMPLE["contract"].replace("put_ptr: n_elements", "put_ptr: 5")}

CASES = CASES_EXAMPLE["cases"]


def many_sizes() -> dict[str, Any]:
    """Return what a request changes to have cases of 256 buffers with 8 unrelated axes each."""
    arguments = {
        f"b{i}": {"shape": [10**6 + 1013 * i + 7 * axis for axis in range(8)]} for i in range(256)
    }
    return {"contract": None, "cases": [{"arguments": arguments, "grid": [1]}] * 8}


def of_case(argument: Any) -> dict[str, Any]:
    return {"contract": None, "cases": [{"arguments": {"x_ptr": argument}, "grid": [1]}]}


def proof_of(http: httpx.Client, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    answer = http.post("/v1/proofs", params={"wait": 60}, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert found.keys() == Proof.model_fields.keys()
    return found


def test_a_kernel_is_proved_for_all_sizes(http: httpx.Client) -> None:
    proof = proof_of(http, EXAMPLE)
    assert (proof["state"], proof["verdict"]) == ("completed", "proved")
    lines = [(one["line"], one["argument"], one["kind"]) for one in proof["accesses"]]
    assert lines == [(9, "x_ptr", "load"), (10, "y_ptr", "load"), (11, "output_ptr", "store")]
    assert proof["accesses"][0]["bounds"]["proved_under"]


def test_what_is_proved_was_re_checked_by_running_it(http: httpx.Client) -> None:
    for access in proof_of(http, EXAMPLE)["accesses"]:
        assert access["bounds"]["rechecked"]["runs"] > 30
        assert access["overflow"]["rechecked"]["runs"] > 30
    refuted = proof_of(http, SHORT)["accesses"][2]["bounds"]
    assert refuted["rechecked"] is None


def test_the_second_proof_comes_from_the_cache(http: httpx.Client) -> None:
    body = EXAMPLE | {"contract": EXAMPLE["contract"] + "n_elements <= 12345\n"}
    assert proof_of(http, body)["cache"] == "miss"
    again = proof_of(http, body)
    assert again["cache"] == "hit"
    assert again["verdict"] == "proved"


def test_a_witness_is_a_launch_that_fails_as_it_says(http: httpx.Client) -> None:
    proof = proof_of(http, SHORT)
    assert proof["verdict"] == "refuted"
    broken = proof["accesses"][2]["bounds"]
    assert broken["replay"]["message"] == "writes output_ptr[5] of 5 elements"
    launch = http.post("/v1/launches", params={"wait": 60}, json=broken["witness"]).json()
    assert launch["verdict"] == "out_of_bounds"
    assert launch["findings"][0]["kind"] == "out_of_bounds"
    assert launch["findings"][0]["argument"] == "output_ptr"


def test_a_witness_names_its_kernel_by_key_and_may_break_hints_of_the_request(
    http: httpx.Client,
) -> None:
    hints = {"output_ptr": ["divisible_by_16"], "n_elements": ["divisible_by_16"]}
    proof = proof_of(http, SHORT | {"hints": hints})
    witness = proof["accesses"][2]["bounds"]["witness"]
    assert "compilation" not in witness
    launch = http.post("/v1/launches", params={"wait": 60}, json=witness).json()
    assert launch["verdict"] == "out_of_bounds", launch


def test_a_long_source_is_not_repeated_for_each_refuted_access(http: httpx.Client) -> None:
    padding = "\n" + "#" * 300_000
    [store] = [line for line in SHORT["source"].splitlines() if "tl.store" in line]
    source = SHORT["source"].replace(store, "\n".join([store] * 10)) + padding
    answer = http.post("/v1/proofs", params={"wait": 60}, json=SHORT | {"source": source})
    refuted = [one for one in answer.json()["accesses"] if one["bounds"]["verdict"] == "refuted"]
    assert len(refuted) == 10
    assert len(answer.content) < len(padding)


def test_a_contract_is_inferred_from_cases(http: httpx.Client) -> None:
    proof = proof_of(http, CASES_EXAMPLE)
    assert proof["is_inferred"] is True
    assert "x_ptr: n_elements" in proof["contract"]
    assert "grid: cdiv(n_elements, BLOCK_SIZE)" in proof["contract"]
    assert proof["verdict"] == "proved"


COPY = """import triton
import triton.language as tl

@triton.jit
def copy(x_ptr, y_ptr, n, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + o, tl.load(x_ptr + o))
"""
ONE_SIZE = {
    "arguments": {
        "x_ptr": {"shape": [16], "dtype": "fp32", "init": {"kind": "zeros"}},
        "y_ptr": {"shape": [16], "dtype": "fp32", "output": True},
        "n": 16,
    },
    "grid": [1],
}
ONLY = "proved for n = B only; give cases with other sizes"


def test_cases_of_one_size_prove_nothing_for_all_sizes(http: httpx.Client) -> None:
    body = {"source": COPY, "constexprs": {"B": 16}, "cases": [ONE_SIZE]}
    proof = proof_of(http, body)
    assert proof["verdict"] == "unknown"
    assert proof["contract"].startswith("only n = B\n")
    for access in proof["accesses"]:
        for check in ("bounds", "overflow"):
            answer = access[check]
            assert (answer["verdict"], answer["reason"]) == ("unknown", ONLY)
            assert "n = B" in answer["proved_under"]
    kept = {"source": COPY, "constexprs": {"B": 16}, "contract": proof["contract"]}
    kept["signature"] = {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"}
    assert proof_of(http, kept)["accesses"] == proof["accesses"]
    known = kept | {"contract": proof["contract"].replace("only ", "")}
    assert proof_of(http, known)["verdict"] == "proved"


def test_a_launch_of_one_size_proves_its_kernel_for_that_size(http: httpx.Client) -> None:
    kernel = {"source": COPY, "constexprs": {"B": 16}}
    body = {"compilation": kernel, "device": "cpu", "checks": ["proof"], **ONE_SIZE}
    launch = http.post("/v1/launches", params={"wait": 60}, json=body).json()
    assert launch["state"] == "completed", launch
    assert launch["proof"]["verdict"] == "unknown"
    assert launch["proof"]["accesses"][0]["bounds"]["reason"] == ONLY
    assert [found["kind"] for found in launch["findings"]] == ["not_proved"]


def test_a_finished_compilation_is_proved_by_its_key(http: httpx.Client) -> None:
    kernel = {name: EXAMPLE[name] for name in ("source", "signature", "constexprs")}
    compiled = http.post(
        "/v1/compilations", params={"wait": 60}, json=kernel | {"target": "cuda:90"}
    ).json()
    proof = proof_of(http, {"compilation": compiled["key"], "contract": EXAMPLE["contract"]})
    assert proof["verdict"] == "proved"


def test_a_kernel_that_does_not_compile_has_no_proof(http: httpx.Client) -> None:
    proof = proof_of(http, EXAMPLE | {"source": EXAMPLE["source"].replace("arange", "arnge")})
    assert proof["state"] == "failed"
    assert proof["problem"]["slug"] == "compile_error"
    assert proof["problem"]["line"] == 7


def test_a_proof_names_what_its_compilation_assumed(http: httpx.Client) -> None:
    source = """import triton
import triton.language as tl
from pkg.ops import exp2

@triton.jit
def k(x_ptr, y_ptr, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y_ptr + i, exp2(tl.load(x_ptr + i, mask=i < n, other=0.0)), mask=i < n)
"""
    kernel = {
        "source": source,
        "target": "cuda:90",
        "signature": {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32"},
        "constexprs": {"B": 64},
    }
    contract = "x_ptr: n\ny_ptr: n\ngrid: cdiv(n, B)\n"

    proof = proof_of(http, {"compilation": kernel, "contract": contract})

    assert proof["verdict"] == "proved"
    assert proof["assumptions"][-1] == (
        "user.py:3: exp2 is taken to be triton.language.exp2: pkg.ops is missing"
    )


def test_a_contract_that_names_no_argument_says_where(http: httpx.Client) -> None:
    proof = proof_of(http, EXAMPLE | {"contract": "z_ptr: 4\n"})
    assert proof["state"] == "failed"
    assert proof["problem"]["slug"] == "invalid_argument"
    assert "line 1, column 1: the kernel has no buffer z_ptr" in proof["problem"]["detail"]


@pytest.mark.parametrize(
    ("changes", "pointer", "words"),
    [
        ({"contract": "x_ptr: n +"}, "/contract", "line 1, column 11"),
        ({"contract": None}, "/contract", "give either"),
        ({"contract": "x: 1", "cases": CASES_EXAMPLE["cases"]}, "/contract", "give either"),
        ({"compilation": "0" * 64}, "/compilation", "give either"),
        ({"signature": None}, "/signature", "give the kernel's signature"),
        ({"checks": ["luck"]}, "/checks/0", ""),
        (of_case("x"), "/cases/0/arguments/x_ptr", "must be a number, or a buffer"),
        (of_case({"shape": [4, 2], "strides": [1]}), "/cases/0/arguments/x_ptr/strides", "2 numb"),
        (many_sizes(), "/cases", "not inferred: too many sizes"),
    ],
)
def test_a_request_that_cannot_be_is_refused_with_its_place(
    http: httpx.Client, changes: dict[str, Any], pointer: str, words: str
) -> None:
    answer = http.post("/v1/proofs", json=EXAMPLE | changes)
    assert answer.status_code == 422, answer.text
    errors = answer.json()["errors"]
    assert [one["pointer"] for one in errors] == [pointer]
    assert words in errors[0]["message"]


def test_a_proof_has_events_and_can_be_read_again(http: httpx.Client) -> None:
    proof = proof_of(http, EXAMPLE)
    assert http.get(proof["url"]).json()["id"] == proof["id"]
    assert http.delete(proof["url"]).status_code == 200
    with http.stream("GET", f"{proof['url']}/events") as stream:
        kinds = [line[7:] for line in stream.iter_lines() if line.startswith("event: ")]
    assert kinds == ["queued", "started", "compiled", "finished"]


def test_there_is_no_proof_of_another_id(http: httpx.Client) -> None:
    assert http.get("/v1/proofs/none").status_code == 404


SWAPPED = EXAMPLE | {"source": EXAMPLE["source"].replace("x + y", "y + x")}


def test_two_kernels_that_store_the_same_are_shown_to(http: httpx.Client) -> None:
    one = EXAMPLE | {"constexprs": {"BLOCK_SIZE": 256}}
    proof = proof_of(http, {"equivalent": [one, SWAPPED]})
    assert proof["verdict"] == "proved"
    assert proof["equivalent"]["verdict"] == "proved"


def test_two_kernels_that_are_not_shown_to_are_unknown(http: httpx.Client) -> None:
    other = EXAMPLE | {"source": EXAMPLE["source"].replace("x + y", "x - y")}
    proof = proof_of(http, {"equivalent": [EXAMPLE, other]})
    assert proof["verdict"] == "unknown"
    assert "different operations" in proof["equivalent"]["reason"]


def test_a_launch_proves_its_kernel_for_all_sizes(http: httpx.Client) -> None:
    kernel = {name: EXAMPLE[name] for name in ("source", "constexprs")}
    cases = [{"arguments": case["arguments"], "grid": case["grid"]} for case in CASES]
    body = {
        "compilation": kernel, "grid": [1], "arguments": CASES[0]["arguments"], "cases": cases,
        "device": "cpu", "checks": ["proof"],
    }  # fmt: skip
    launch = http.post("/v1/launches", params={"wait": 60}, json=body).json()
    assert launch["state"] == "completed", launch
    assert launch["proof"]["verdict"] == "proved"
    assert launch["findings"] is None
    assert "x_ptr: n_elements" in launch["proof"]["contract"]
    assert http.get(launch["proof"]["url"]).json()["id"] == launch["proof"]["id"]


def test_a_race_is_refuted_by_running_both_programs(http: httpx.Client) -> None:
    source = EXAMPLE["source"].replace("output_ptr + offsets", "output_ptr + 0 * offsets")
    answer = proof_of(http, EXAMPLE | {"source": source, "checks": ["races"]})
    race = answer["accesses"][-1]["race"]
    assert race["verdict"] == "refuted"
    assert race["replay"]["message"].startswith("programs (")
    assert " write output_ptr[0]" in race["replay"]["message"]


def test_a_launch_without_the_check_has_no_proof(http: httpx.Client) -> None:
    kernel = {name: EXAMPLE[name] for name in ("source", "constexprs")}
    body = {"compilation": kernel, "device": "cpu", **CASES[0]}
    assert http.post("/v1/launches", params={"wait": 60}, json=body).json()["proof"] is None


def test_a_batch_takes_proofs(http: httpx.Client) -> None:
    body = {"kind": "proofs", "requests": [EXAMPLE, SHORT]}
    batch = http.post("/v1/batches", params={"wait": 60}, json=body).json()
    assert [item["result"]["verdict"] for item in batch["items"]] == ["proved", "refuted"]


def test_a_forgotten_mask_is_proposed_as_a_patch_that_proves_it(http: httpx.Client) -> None:
    source = EXAMPLE["source"].replace(
        "tl.load(x_ptr + offsets, mask=mask)", "tl.load(x_ptr + offsets)"
    )
    assert source != EXAMPLE["source"]
    proof = proof_of(http, EXAMPLE | {"source": source})
    fix = proof["accesses"][0]["bounds"]["fix"]
    assert fix["verdict"] == "proved"
    assert "mask=offsets < n_elements" in fix["patch"]
    assert len([one for one in fix["registers"] if one]) == 2
    before, after = fix["instructions"]
    assert set(before) & set(after)
    assert sum(before.values()) > 0


def cpu_s_of_worker(system: Deployment) -> float:
    """Return the CPU time of a worker and of all processes that it started, ended ones too."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended; its parent counts it
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))

    def is_below(pid: int, top: int) -> bool:
        return pid == top or (pid in parents and is_below(parents[pid], top))

    top = system.workers[0].pid
    used = sum(count for pid, count in ticks.items() if is_below(pid, top))
    return used / os.sysconf("SC_CLK_TCK")


def test_a_repeated_proof_starts_no_process_to_try_its_fix_again(
    http: httpx.Client, system: Deployment
) -> None:
    source = EXAMPLE["source"].replace(
        "tl.load(x_ptr + offsets, mask=mask)", "tl.load(x_ptr + offsets)  # again"
    )
    first = proof_of(http, EXAMPLE | {"source": source})
    assert first["accesses"][0]["bounds"]["fix"] is not None
    spent_s = cpu_s_of_worker(system)
    again = proof_of(http, EXAMPLE | {"source": source})

    assert again["cache"] == "hit"
    assert again["accesses"] == first["accesses"]
    assert cpu_s_of_worker(system) - spent_s < 0.3, "each fresh child of a proof takes more"


def test_the_cost_of_a_fix_is_that_of_the_kernels_own_options(http: httpx.Client) -> None:
    source = EXAMPLE["source"].replace(
        "tl.load(x_ptr + offsets, mask=mask)", "tl.load(x_ptr + offsets)  # and of warps"
    )
    few, many = [
        proof_of(http, EXAMPLE | {"source": source, "options": {"num_warps": warps}})
        for warps in (1, 8)
    ]

    assert many["cache"] == "hit", "kernels of one TTIR share the proof"
    few_fix, many_fix = (one["accesses"][0]["bounds"]["fix"] for one in (few, many))
    assert few_fix["patch"] == many_fix["patch"]
    assert few_fix["instructions"] != many_fix["instructions"]


REDUCED = """import triton
import triton.language as tl

@triton.jit
def reduced(x_ptr, y_ptr, n, m, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + o)
    tl.store(y_ptr + tl.program_id(0), tl.sum(tl.exp(x)))
"""
TWO_SIZES = """import triton
import triton.language as tl

@triton.jit
def added(x_ptr, w_ptr, y_ptr, n, m, B: tl.constexpr):
    o = tl.program_id(0) * B + tl.arange(0, B)
    w = tl.load(w_ptr + o, mask=o < m, other=0.0)
    x = tl.load(x_ptr + o, mask=o < n, other=0.0)
    tl.store(y_ptr + o, x + w)
"""


@pytest.mark.parametrize(
    ("source", "contract", "access", "change"),
    [
        (
            REDUCED,
            "x_ptr: n\ny_ptr: cdiv(n, B)\ngrid: cdiv(n, B)\n",
            0,
            'tl.load(x_ptr + o, mask=o < n, other=-float("inf"))',
        ),
        (
            TWO_SIZES,
            "x_ptr: n\ny_ptr: n\nw_ptr: m\nm <= n\ngrid: cdiv(n, B)\n",
            2,
            "tl.store(y_ptr + o, x + w, mask=o < n)",
        ),
    ],
)
def test_a_fix_keeps_what_the_kernel_computes(
    http: httpx.Client, source: str, contract: str, access: int, change: str
) -> None:
    types = {"x_ptr": "*fp32", "w_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "m": "i32"}
    signature = {name: kind for name, kind in types.items() if f"{name}," in source}
    body = {
        "source": source,
        "signature": signature,
        "contract": contract,
        "constexprs": {"B": 128},
    }
    proof = proof_of(http, body)
    fix = proof["accesses"][access]["bounds"]["fix"]
    assert change in fix["patch"]


def test_a_fix_that_would_change_what_is_computed_is_not_offered(http: httpx.Client) -> None:
    source = REDUCED.replace("tl.exp(x)", "tl.exp(x) + 1.0")
    body = {
        "source": source,
        "signature": {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "m": "i32"},
        "contract": "x_ptr: n\ny_ptr: cdiv(n, B)\ngrid: cdiv(n, B)\n",
        "constexprs": {"B": 128},
    }
    answer = proof_of(http, body)["accesses"][0]["bounds"]
    assert (answer["verdict"], answer["fix"]) == ("refuted", None)
