"""Sweeps whose rows say whether their kernels are proved for all sizes."""

from __future__ import annotations

from pathlib import Path

import httpx

from proofs.proof_request import ADD_CONTRACT
from tests.integration.service.running import Deployment
from tests.integration.service.test_client_commands import SUM_LIKE, VECTOR_ADD, run
from tests.sweeps.service.test_launch_sweeps import BASE
from tests.sweeps.service.test_sweeps import base, post_sweep

SHORT = ADD_CONTRACT.replace("output_ptr: n_elements", "output_ptr: n_elements - 1")


def test_rows_with_the_same_ttir_share_one_proof(http: httpx.Client) -> None:
    space = {"constexprs.BLOCK_SIZE": [128, 256], "options.num_warps": [2, 4]}

    sweep = post_sweep(http, base=base("proved"), space=space, contract=ADD_CONTRACT).json()

    assert [row["proof"] for row in sweep["rows"]] == ["proved"] * 4
    urls = {(row["values"]["constexprs.BLOCK_SIZE"], row["proof_url"]) for row in sweep["rows"]}
    assert len(urls) == 2
    proofs = [http.get(url).json() for _, url in sorted(urls)]
    assert [(proof["verdict"], proof["contract"]) for proof in proofs] == [
        ("proved", ADD_CONTRACT)
    ] * 2


def test_a_refuted_row_names_the_access(http: httpx.Client) -> None:
    space = {"options.num_warps": [4]}

    sweep = post_sweep(http, base=base("refuted"), space=space, contract=SHORT).json()

    [row] = sweep["rows"]
    assert (row["state"], row["proof"]) == ("succeeded", "refuted")
    assert row["proof_reason"].startswith("line 13: store of output_ptr: bounds: writes output_ptr")


def test_launches_that_check_proof_say_it_in_their_rows(http: httpx.Client) -> None:
    cases = [
        {
            "arguments": {
                "x_ptr": {"shape": [n], "dtype": "fp32", "init": {"kind": "ones"}},
                "out_ptr": {"shape": [n], "dtype": "fp32", "output": True},
                "n": n,
            },
            "grid": ["cdiv(n, BLOCK)"],
        }
        for n in (101, 211, 307)
    ]
    launch = BASE | {"cases": cases, "checks": ["proof"]}

    sweep = post_sweep(http, base=launch, space={"constexprs.BLOCK": [64, 128]}).json()

    assert [row["proof"] for row in sweep["rows"]] == ["proved", "proved"]
    assert all(http.get(row["launch_url"]).json()["proof"] for row in sweep["rows"])


def test_a_mistake_in_the_contract_has_its_place(http: httpx.Client) -> None:
    answer = post_sweep(http, base=base("wrong"), space={"options.num_warps": [4]}, contract="x: (")

    [error] = answer.json()["errors"]
    assert (answer.status_code, error["pointer"]) == (422, "/contract")
    assert error["message"].startswith("line 1, column 5:")


def test_the_command_shows_proofs(system: Deployment, tmp_path: Path) -> None:
    contract = tmp_path / "add.contract"
    contract.write_text(ADD_CONTRACT)
    words = [
        *SUM_LIKE,
        "n_elements=4096",
        "--space",
        "num_warps=2,4",
        "BLOCK_SIZE=512",
        "--target",
        "cuda:90",
    ]

    done = run(system.url, "sweep", VECTOR_ADD, *words, "--contract", str(contract))
    exported = run(system.url, "sweep", VECTOR_ADD, *words, "--contract", str(contract), "--csv")

    heads, *rows = (line.split() for line in done.stdout.splitlines())
    assert "proof" in heads, done.stderr
    assert ["proved" in row for row in rows] == [True, True]
    assert ",proof,proof_reason," in exported.stdout.splitlines()[0]
