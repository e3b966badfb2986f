"""Concurrent launches on a GPU with a fake CUDA that adds vectors; all else is real.

The worker only claims to have a GPU (launcher_on_fake_cuda.py). Service, store, compiler,
references and comparisons are those of every deployment.
"""

from __future__ import annotations

import io

import httpx
import numpy as np
import pytest

from benchmarks.gpu.launch_bodies import ADD, add
from tests.waiting import wait_until

SUBTRACTED = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr - y_ptr\n"
SIZE = 1000
ENDLESS = """def never():
    import threading
    threading.Event().wait()


ZERO = tl.constexpr(never())


@triton.jit
def add_kernel("""


def launched(gpu: httpx.Client, body: dict, wait: float = 60) -> dict:
    answer = gpu.post("/v1/launches", params={"wait": wait}, json=body)
    assert answer.status_code in {200, 202}, answer.text
    return answer.json()


def states(gpu: httpx.Client, launches: list[dict]) -> set[str]:
    ids = [launch["id"] for launch in launches]
    found = gpu.post("/v1/launches/query", json={"ids": ids}).json()["launches"]
    return {launch["state"] for launch in found}


def uncompiled(number: int) -> dict:
    """Return a launch whose compilation takes all the time that it may."""
    source = ADD.replace("@triton.jit\ndef add_kernel(", ENDLESS)
    source = source.replace("< n_elements", f"< n_elements + ZERO + {number}")
    body = add(source, SIZE) | {"priority": "batch"}
    body["compilation"]["timeout_s"] = 600
    return body


def with_cases(*wrong: int, count: int = 6, **more: object) -> dict:
    """Return a launch of cases with different inputs; those in `wrong` expect other outputs."""
    cases = [{"arguments": {"x_ptr": {"init": {"kind": "full", "value": k}}}} for k in range(count)]
    for index in wrong:
        cases[index]["reference"] = {"source": SUBTRACTED}
    return add(n_elements=SIZE) | {"cases": cases} | more


def test_launches_that_wait_for_their_kernels_keep_no_other_waiting(gpu):
    assert launched(gpu, add(n_elements=SIZE))["verdict"] == "passed"
    waiting = [launched(gpu, uncompiled(number), wait=0) for number in range(24)]
    wait_until(lambda: states(gpu, waiting) == {"running"}, "all are claimed")

    cached = launched(gpu, add(n_elements=SIZE))
    assert cached["verdict"] == "passed"
    assert states(gpu, waiting) == {"running"}
    for launch in waiting:
        gpu.delete(launch["url"])
    wait_until(lambda: states(gpu, waiting) == {"cancelled"}, "all are cancelled")


def test_cases_are_answered_and_reported_in_order(gpu):
    launch = launched(gpu, with_cases(2, count=12))
    events = gpu.get(f"{launch['url']}/events").text
    reported = [part for part in events.split("\n\n") if "event: case" in part]

    assert [case["index"] for case in launch["cases"]] == list(range(12))
    assert [case["verdict"] for case in launch["cases"]].index("mismatch") == 2
    assert [f'"index":{index},' in part for index, part in enumerate(reported)] == [True] * 12
    assert launch["verdict"] == "mismatch"


@pytest.mark.parametrize(("limit", "answered"), [(1, 3), (2, 5)])
def test_the_rest_is_not_run_after_so_many_failures(gpu, limit, answered):
    launch = launched(gpu, with_cases(2, 4, stop_after_failures=limit))

    assert len(launch["cases"]) == answered
    assert launch["cases"][-1]["verdict"] == "mismatch"


def test_large_outputs_are_compared_and_returned_whole(gpu):
    elements = (1 << 20) + 3
    body = add(n_elements=elements) | {"return": {"output_ptr": "tensor"}}
    body["arguments"]["x_ptr"]["init"] = {"kind": "arange", "start": 0, "step": 1}
    body["arguments"]["y_ptr"]["init"] = {"kind": "ones"}
    for _ in range(2):  # the second time the expected outputs are cached
        launch = launched(gpu, body)
        assert launch["verdict"] == "passed", launch
        assert launch["outputs"]["output_ptr"]["comparison"]["compared"] == elements

    content = gpu.get(launch["outputs"]["output_ptr"]["url"]).content
    assert np.array_equal(np.load(io.BytesIO(content)), np.arange(elements, dtype="f4") + 1)


def test_a_purged_kernel_is_compiled_again(gpu):
    first = launched(gpu, add(n_elements=SIZE))["compilation"]
    assert gpu.delete(first["url"]).is_success

    again = launched(gpu, add(n_elements=SIZE))
    assert again["verdict"] == "passed"
    assert gpu.get(again["compilation"]["url"]).is_success
