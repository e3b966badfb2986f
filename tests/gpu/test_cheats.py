"""A GPU catches every cheat; a naive evaluator's result is recorded for comparison."""

import importlib.util

import pytest

from tests.gpu.serving import running
from tests.security.cheats.naive_runs import all_naive_verdicts
from tests.security.cheats.table import CHEATS, name_of

GPU = {"target": "cuda:90"}
BY_FILE = {cheat.file: cheat for cheat in reversed(CHEATS)}


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with running(tmp_path_factory.mktemp("up")) as client:
        yield client


@pytest.fixture
def launch(http, figure):
    """Return a function that launches a cheat and records the result."""

    def post(cheat):
        answer = http.post("/v1/launches?wait=60", json=cheat.body(GPU))
        assert answer.status_code == 200, answer.text
        launched = answer.json()
        kinds = [one["kind"] for one in launched["findings"] or []]
        timing = launched["timing"] or {}
        times = {name: timing.get(name) for name in ("median_us", "min_us", "repeats")}
        figure(f"{launched['verdict'] or launched['problem']} {kinds} {times}")
        return launched

    return post


@pytest.fixture(scope="module")
def believed(tmp_path_factory):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("the naive evaluator needs torch")
    return all_naive_verdicts(tmp_path_factory.mktemp("naive"))


@pytest.mark.parametrize("cheat", CHEATS, ids=name_of)
def test_a_gpu_is_not_fooled_by(launch, cheat):
    assert cheat.gpu.differs(launch(cheat)) is None


@pytest.mark.parametrize("cheat", CHEATS, ids=name_of)
def test_the_naive_evaluator_says(believed, figure, cheat):
    said = believed[name_of(cheat)]
    figure(f"{said.word} {said.us}")

    assert said.word in cheat.naive.split()


@pytest.mark.parametrize("file", ["faults/never_ends", "faults/reaches_into_nothing"])
def test_the_next_launch_has_its_own_answer_after(launch, file):
    launch(BY_FILE[file])

    assert launch(BY_FILE["honest/adds"])["verdict"] == "passed"


def test_sleep_in_the_first_runs_cuts_no_repeats(launch):
    cheat = BY_FILE["state/sleeps_in_its_first_runs"]

    assert launch(cheat)["timing"]["repeats"] >= cheat.on_gpu["timing"]["min_repeats"]
