"""The certificate of two kernels that store the same."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from launch.proof.proof_messages import OtherKernel, ProofReport, ProveOrder
from launch.proof.prove_kernel import prove_kernel
from proofs.worker.certificate_checker import InvalidCertificate, check_pair
from proofs.worker.checked_report import checked_report
from tests.proofs.compiled_ttir import TARGET, ttir_of
from tests.proofs.prover.test_equivalence import CONTRACT, FLAT, SUM, SWAPPED, TYPES


@pytest.fixture(scope="module")
def report() -> ProofReport:
    first, second = (
        ttir_of(FLAT.replace("VALUE", value), TYPES, {"B": block}).encode()
        for value, block in ((SUM, 256), (SWAPPED, 64))
    )
    order = ProveOrder(
        target=TARGET,
        files=["user.py"],
        contract=CONTRACT,
        constants={"B": 256},
        checks=[],
        other=OtherKernel(first_bytes=len(first), contract=CONTRACT, constants={"B": 64}),
        most_size=2**20,
        most_elements=2**30,
    )
    return prove_kernel(order, first + second, lambda *_: None)


def test_it_shows_that_both_store_the_same(report: ProofReport) -> None:
    assert report.certificate is not None
    assert check_pair(report.certificate)
    assert checked_report(report) == report


def first_number(tree: list[Any]) -> list[Any]:
    """Return the first constant of a tree."""
    if tree[0] == "constant":
        return tree
    inner = tree[-1] if tree[0] == "operation" else []
    return next((found for one in inner if (found := first_number(one))), [])


def with_another_constant(kernel: dict[str, Any]) -> None:
    first_number(kernel["tree"])[2] = "3.000000e+00"


def with_another_claim(kernel: dict[str, Any]) -> None:
    number = str(kernel["claims"][0])
    kernel["entries"][number]["claim"][1][0][0] -= 1


def without_claims(kernel: dict[str, Any]) -> None:
    kernel["claims"] = []


def with_a_lane_as_distance(kernel: dict[str, Any]) -> None:
    lane = kernel["names"].index("lane0#64")
    kernel["tree"] = ["load", "x", [[1, lane]], "f32"]


@pytest.mark.parametrize(
    "change", [with_another_constant, with_another_claim, without_claims, with_a_lane_as_distance]
)
def test_nothing_is_proved_by_a_wrong_one(
    report: ProofReport, change: Callable[[dict[str, Any]], None]
) -> None:
    made = json.loads(report.certificate or "")
    change(made["kernels"][1])
    with pytest.raises(InvalidCertificate):
        check_pair(json.dumps(made))


def test_a_child_with_a_wrong_certificate_is_not_believed(report: ProofReport) -> None:
    made = json.loads(report.certificate or "")
    with_another_constant(made["kernels"][0])
    report = ProofReport(**{**vars(report), "certificate": json.dumps(made)})
    found = checked_report(report)
    assert found.certificate is None
    assert found.equivalent is not None
    assert found.equivalent.verdict == "unknown"
    assert "other trees" in found.equivalent.reason


def test_a_tree_of_any_depth_is_read_or_refused() -> None:
    deep = '["operation","f","f32",[],[' * 5_000 + "]]" * 5_000
    kernel = f'{{"names":[],"entries":{{}},"claims":[0],"tree":{deep}}}'
    with pytest.raises(InvalidCertificate):
        check_pair(f'{{"kernels":[{kernel},{kernel}]}}')
