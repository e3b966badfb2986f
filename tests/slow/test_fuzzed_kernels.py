"""The check `fuzz` finds faults in wrong kernels, and none in right ones."""

import pytest

from tests.integration.service.launches.conftest import Launch
from tests.integration.service.launches.fuzzed import WRONG, fuzzed
from tests.integration.service.launches.fuzzed_right import RIGHT

RIGHT_HERE = (
    "puzzle 7 long softmax", "layer norm fp16", "matmul fp16", "top k",
)  # fmt: skip
"""benchmarks/fuzz.py tries the rest with many seeds."""


@pytest.mark.parametrize("name", WRONG)
def test_a_kernel_that_is_wrong_elsewhere_is_found(launch: Launch, name: str) -> None:
    body, verdict = WRONG[name]
    assert launch(body)["verdict"] == "passed"

    answer = launch(fuzzed(body))

    assert answer["verdict"] == verdict
    [finding] = [found for found in answer["findings"] if found["case"]]
    assert finding["kind"] == verdict
    assert finding["message"].startswith(f"With {finding['case']['name']}: ")
    replayed = launch(body | {"cases": [finding["case"]]})
    assert replayed["verdict"] == verdict


@pytest.mark.parametrize("name", RIGHT_HERE)
def test_nothing_is_found_in_a_right_kernel(launch: Launch, name: str) -> None:
    answer = launch(fuzzed(RIGHT[name]))

    assert answer["verdict"] == "passed"
    assert not [found for found in answer["findings"] if found["case"]]
    assert answer["fuzz"]["cases"] == 24
    assert answer["fuzz"]["reference"] == "float64"
