"""A forged report of a child stays small and affects no other caller."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service import bodies
from tests.integration.service.conftest import Post
from tests.integration.service.running import Deployment
from tests.integration.service.test_api_hostile_sources import assert_next_job_is_fine

FORGE = """
import json, os, struct, sys
frame = sys._getframe()
while not hasattr(frame.f_locals.get("job"), "nonce"):
    frame = frame.f_back
nonce = frame.f_locals["job"].nonce
def forge(text, body=b""):
    data = struct.pack("<4sB16sII", b"TRTD", 1, nonce, len(text), len(body)) + text + body
    while data:
        data = data[os.write(4, data):]
def failed(message="", diagnostics=(), stage="ttir", slug="lowering_failed"):
    forge(json.dumps({"kind": "failure", "slug": slug, "stage": stage, "message": message,
                      "diagnostics": list(diagnostics)}).encode())
    os._exit(0)
def stage(name, ms=1):
    forge(json.dumps({"kind": "stage", "stage": name, "ms": ms}).encode())
"""
FLOODS = {
    "stages of any name": "for n in range(900000): stage(str(n))",
    "a stage again and again": "while True: stage('ttir')",
    "a time of 400 digits": "stage('ttir', 10**400)",
    "times beyond all numbers": (
        "forge(json.dumps({'kind': 'result', 'kernel': 'k', 'language': 'ttir', 'locations': "
        "{'table': [], 'blocks': []}, 'constexprs': {}, 'notes': [], 'timings_ms': "
        "{'a': 1e308, 'b': 1e308}}).encode()); os._exit(0)"
    ),
}
SLOW = "a:1:" + "1: " * 5000 + "\\n" + ": a:1" * 3000 + "\\n" + "Assertion `" * 1500
LONG_DIAGNOSTIC = (
    "failed('m' * 10**5, [{'severity': 'error', 'stage': 'ttir', 'message': 'x' * 20000, "
    "'hint': 'h' * 9000, 'excerpt': 'e' * 9000, 'file': 'f' * 900, 'line': 10**400}] * 60)"
)


def forged(code: str, name: str = "", **changes: Any) -> dict[str, Any]:
    return bodies.running(f"{FORGE}\n# {name}\n{code}", timeout_s=30, **changes)


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_is_ended_by_name_and_leaves_few_events(
    http: httpx.Client, post: Post, name: str
) -> None:
    answer = post(forged(FLOODS[name], name))

    assert answer.status_code == 200
    assert answer.json()["problem"]["slug"] == "sandbox_violation"
    with http.stream("GET", f"{answer.json()['url']}/events") as events:
        reported = "".join(events.iter_text())
    assert reported.count("event: stage") <= 1
    assert len(reported) < 2000
    assert_next_job_is_fine(post)


def test_a_log_that_is_slow_to_read_is_read(system: Deployment, post: Post) -> None:
    answer = post(forged(f"sys.stderr.write('{SLOW}' + '\\n'); sys.stderr.flush(); failed()"))

    assert answer.json()["problem"]["slug"] == "lowering_failed"
    key = answer.json()["key"]
    assert f"the log of {key} was not read" not in system.said(), "it took longer than it may"
    assert_next_job_is_fine(post)


def test_a_forged_diagnostic_is_kept_in_part_and_says_so(post: Post) -> None:
    answer = post(forged(LONG_DIAGNOSTIC)).json()

    assert answer["state"] == "failed"
    said = answer["diagnostics"]
    assert said[0]["message"].endswith("16060 more characters were not kept]")
    assert said[0]["line"] is None
    assert any(one["message"].endswith("more messages were not kept.") for one in said)
    assert sum(len(str(item)) for item in said) < 150_000
    assert len(answer["problem"]["detail"]) < 5000


def test_equal_items_of_a_batch_are_one_record_of_bounded_size(http: httpx.Client) -> None:
    requests = [forged(LONG_DIAGNOSTIC, "in a batch")] * 40
    batch = {"kind": "compilations", "requests": requests}
    answer = http.post("/v1/batches", params={"wait": 60}, json=batch).json()

    assert answer["counts"]["failed"] == 40
    results = [item["result"] | {"cache": None} for item in answer["items"]]
    assert all(result == results[0] for result in results)
    assert len(str(results[0])) < 200_000


def test_endless_output_is_said_to_be_cut(post: Post) -> None:
    answer = post(bodies.running("print('spam ' * 50000)")).json()

    assert answer["state"] == "succeeded"
    assert len(answer["stdout"]) < 75_000
    assert "were not kept]" in answer["stdout"][-200:]
