"""The check `fuzz` on a GPU: it finds faults at other inputs, and correct kernels pass."""

import time

import pytest

from tests.gpu.serving import running
from tests.integration.service.launches.fuzzed import WRONG, fuzzed
from tests.integration.service.launches.fuzzed_right import RIGHT

FAULTS = {"out_of_bounds", "illegal_access"}
"""A GPU's name for an access past a buffer depends on the distance."""


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with running(tmp_path_factory.mktemp("up")) as client:
        yield client


def launched(http, body):
    on_gpu = {"device": {"target": "cuda:90"}, "timing": {"min_repeats": 5, "max_ms": 20}}
    started = time.perf_counter()
    answer = http.post("/v1/launches?wait=120", json=fuzzed(body) | on_gpu)
    assert answer.status_code == 200, answer.text
    return answer.json(), round((time.perf_counter() - started) * 1000)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_elsewhere_is_found_on_a_gpu(http, figure, name):
    body, verdict = WRONG[name]

    answer, ms = launched(http, body)

    reported = [(found["kind"], found["message"]) for found in answer["findings"] or []]
    figure(f"{ms} ms: {answer['verdict']} {reported} {answer['fuzz']} {answer['problem']}")
    assert answer["verdict"] in (FAULTS if verdict in FAULTS else {verdict})
    assert not answer["device"]["interpreter"]
    assert any(found["case"] for found in answer["findings"])


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_in_a_right_kernel_on_a_gpu(http, figure, name):
    answer, ms = launched(http, RIGHT[name])

    reported = [(found["kind"], found["message"]) for found in answer["findings"] or []]
    figure(f"{ms} ms: {answer['verdict']} {reported} {answer['fuzz']} {answer['problem']}")
    assert not any(found["case"] for found in answer["findings"] or [])
    if answer["fuzz"] and answer["fuzz"]["cases"]:
        assert answer["verdict"] == "passed"
