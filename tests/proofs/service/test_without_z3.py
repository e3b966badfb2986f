"""A worker whose environment has no z3 does everything else, and offers no proofs."""

from collections.abc import Iterator

import pytest

from compiler.request.compile_request import EXAMPLE as KERNEL
from proofs.proof_request import CASES_EXAMPLE, EXAMPLE
from tests.integration.service.running import Deployment

NO_Z3 = "import sys\nsys.modules['z3'] = None\n"
"""A module `sitecustomize`, which each Python loads first."""


@pytest.fixture(scope="module")
def without_z3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("without-z3")
    (folder / "sitecustomize.py").write_text(NO_Z3)
    deployment = Deployment(folder, PYTHONPATH=str(folder))
    deployment.start_store()
    deployment.start_service()
    deployment.start_worker()
    deployment.wait_for_workers()
    yield deployment
    deployment.stop()


def test_proofs_are_refused_with_what_to_install(without_z3: Deployment) -> None:
    cases = {"arguments": CASES_EXAMPLE["cases"][0]["arguments"], "grid": [1]}
    launch = {"compilation": {n: EXAMPLE[n] for n in ("source", "constexprs")}, **cases}
    with without_z3.client() as http:
        answers = [
            http.post("/v1/proofs", json=EXAMPLE),
            http.post("/v1/launches", json=launch | {"device": "cpu", "checks": ["proof"]}),
        ]
        workers = http.get("/v1/workers").json()["workers"]

    assert [one["proves"] for one in workers if one["kind"] == "compile"] == [False]
    for answer, pointer in zip(answers, ("", "/checks/0"), strict=True):
        assert answer.status_code == 422, answer.text
        [error] = answer.json()["errors"]
        assert error["pointer"] == pointer
        assert "Install z3-solver in a worker's environment" in error["message"]


def test_kernels_are_compiled_as_ever_and_the_log_has_one_warning(without_z3: Deployment) -> None:
    with without_z3.client() as http:
        answer = http.post("/v1/compilations", params={"wait": 60}, json=KERNEL)

    assert answer.json()["state"] == "succeeded"
    said = without_z3.said()
    assert said.count("kernels are not proved here") == 1
    assert "Traceback" not in said
