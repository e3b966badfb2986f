"""Launch answers: every documented field, headers, waiting, events, files."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, copy, output
from tests.integration.service.launches.conftest import Launch

PATH = "/v1/launches"
FIELDS = {
    "id", "url", "state", "queue_position", "verdict", "compilation", "device", "outputs",
    "deterministic", "timing", "findings", "cases", "counts", "stdout", "timings_ms", "problem",
}  # fmt: skip


def test_every_documented_field_is_there(launch: Launch) -> None:
    answer = launch(bodies.vector_add())

    assert answer.keys() >= FIELDS
    assert answer["url"] == f"{PATH}/{answer['id']}"
    assert answer["state"] == "completed"
    assert answer["verdict"] == "passed"
    assert answer["counts"] == {"passed": 1}
    for name in ("queue_position", "compilation", "timing", "cases", "deterministic", "problem"):
        assert answer[name] is None
    assert answer["findings"] == []
    assert answer["stdout"] == ""


def test_the_cpu_device_says_that_it_is_no_gpu(launch: Launch) -> None:
    device = launch(bodies.vector_add())["device"]

    assert device == {"target": None, "model": None, "driver": None, "interpreter": True}


def test_an_output_is_answered_in_numbers_and_compared(launch: Launch) -> None:
    answer = launch(copy(reference="def reference(x_ptr, **_):\n    return x_ptr"))

    assert answer["outputs"] == {
        "z_ptr": {
            "summary": {
                "shape": [8], "dtype": "fp32", "min": 0, "max": 7, "mean": 3.5, "nan": 0,
                "inf": 0, "unwritten": 0,
            },
            "comparison": {
                "matches": True, "max_abs_error": 0, "max_rel_error": 0, "compared": 8,
                "unwritten": 0, "mismatched": 0,
                "nonfinite_mismatched": 0, "zeros_match": False,
                "first_mismatch": None, "mismatch_map": None,
                "rtol": 1e-4, "atol": 1e-5, "note": None,
            },
            "values": None,
            "expected": None,
            "url": None,
        }
    }  # fmt: skip


def test_times_are_those_of_queue_compiling_and_run(launch: Launch) -> None:
    times = launch(bodies.vector_add())["timings_ms"]

    assert times.keys() == {"queue", "compile", "run", "total"}
    assert times["compile"] > 0
    parts = times["queue"] + times["compile"] + times["run"]
    assert times["total"] == pytest.approx(parts, abs=0.01)


def test_headers_of_a_finished_launch(http: httpx.Client) -> None:
    answer = http.post(PATH, params={"wait": 60}, json=bodies.vector_add())

    assert answer.status_code == 200
    assert answer.headers["location"] == answer.json()["url"]
    assert answer.headers["server-timing"].startswith("total;dur=")
    assert "retry-after" not in answer.headers


def test_without_waiting_it_is_202_and_get_waits(http: httpx.Client) -> None:
    # this many elements take longer than the answer
    posted = http.post(PATH, json=bodies.vector_add(4_000_000))
    got = http.get(posted.headers["location"], params={"wait": 60})

    assert posted.status_code == 202
    assert posted.headers["retry-after"]
    assert posted.json()["state"] in {"queued", "running"}
    assert posted.json().keys() == got.json().keys()
    assert (got.status_code, got.json()["verdict"]) == (200, "passed")


def test_a_preference_to_wait_is_acknowledged(http: httpx.Client) -> None:
    answer = http.post(PATH, json=bodies.vector_add(), headers={"prefer": "wait=30"})

    assert answer.status_code == 200
    assert answer.headers["preference-applied"] == "wait=30"


def test_events_tell_the_way_of_a_launch_and_resume(launch: Launch, http: httpx.Client) -> None:
    url = launch(bodies.vector_add())["url"] + "/events"

    reported = http.get(url)
    first_id = reported.text.split("\n")[0].removeprefix("id: ")
    resumed = http.get(url, headers={"last-event-id": first_id})

    assert reported.headers["content-type"].startswith("text/event-stream")
    assert kinds(reported.text) == ["queued", "started", "finished"]
    assert kinds(resumed.text) == ["started", "finished"]


def test_each_case_that_is_over_is_an_event(launch: Launch, http: httpx.Client) -> None:
    url = launch(bodies.vector_add(cases=[{"name": "small"}, {"grid": ["nonsense"]}]))["url"]

    reported = http.get(url + "/events").text

    assert kinds(reported) == ["queued", "started", "case", "case", "finished"]
    assert '{"index":0,"name":"small","verdict":"passed","problem":null}' in reported
    assert '{"index":1,"name":null,"verdict":null,"problem":"invalid_argument"}' in reported


def kinds(stream: str) -> list[str]:
    return [line[7:] for line in stream.splitlines() if line.startswith("event: ")]


def test_several_launches_are_answered_in_the_order_asked_for(
    http: httpx.Client, launch: Launch
) -> None:
    ids = [launch(copy(2**power), wait=0)["id"] for power in range(3)]

    answer = http.post(f"{PATH}/query", json={"ids": ids[::-1], "wait_s": 60})

    launches = answer.json()["launches"]
    assert [item["id"] for item in launches] == ids[::-1]
    assert {item["state"] for item in launches} == {"completed"}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"{", 400, "not JSON"),
        (b'{"ids": "all"}', 422, "/ids"),
        (b'{"ids": [], "wait_s": -1}', 422, "/wait_s"),
        (b'{"ids": [], "wait": 1}', 422, "/wait"),
        (b'{"ids": ["nobodys"]}', 404, "nobodys"),
    ],
)
def test_a_query_that_is_none_is_refused(
    http: httpx.Client, body: bytes, status: int, said: str
) -> None:
    answer = http.post(f"{PATH}/query", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == status
    assert said in answer.json()["detail"]


def test_what_a_kernel_prints_is_its_stdout(launch: Launch) -> None:
    text = bodies.source("faulty")
    arguments = {"x_ptr": arange(4), "out_ptr": output(4)}

    answer = launch(bodies.launch(text, "prints", arguments, {"BLOCK": 4}))

    assert "x is" in answer["stdout"]
    assert "3." in answer["stdout"]


def test_chosen_seeds_are_answered_so_that_a_launch_can_be_repeated(launch: Launch) -> None:
    x = {"shape": [8], "dtype": "fp32", "init": {"kind": "normal"}}
    first = launch(copy(arguments={"x_ptr": x}))
    seed = first["seeds"]["x_ptr"]

    again = launch(copy(arguments={"x_ptr": x | {"init": {"kind": "normal", "seed": seed}}}))
    other = launch(copy(arguments={"x_ptr": x}))

    assert again["outputs"] == first["outputs"]
    assert other["outputs"] != first["outputs"]
