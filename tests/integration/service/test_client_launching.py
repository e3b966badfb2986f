"""`tritonc` launches kernels on the real service: in Python, in a batch, and as a command."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import tritonc
from tritonc import buffers

from tests.integration.service.command_runs import run
from tests.integration.service.running import ROOT, Deployment

VECTOR_ADD = ROOT / "examples" / "vector_add.py"
SUM = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"


def adding(x: Any, elements: int = 100, **changes: Any) -> dict[str, Any]:
    """Return a launch of the vector add on the CPU device."""
    usual = {
        "device": "cpu",
        "constexprs": {"BLOCK_SIZE": 64},
        "grid": ["cdiv(n_elements, BLOCK_SIZE)"],
        "arguments": {
            "x_ptr": x,
            "y_ptr": buffers.ones(100),
            "output_ptr": buffers.output(100),
            "n_elements": elements,
        },
        "reference": SUM,
    }
    return usual | changes


def test_an_array_goes_there_and_its_result_comes_back(system: Deployment) -> None:
    x = np.arange(100, dtype=np.float32)

    with tritonc.Client(system.url) as client:
        request = adding(x, returns={"output_ptr": "tensor"})
        launch = client.launch(VECTOR_ADD.read_text(), **request)
        made = client.launches.output(launch.id, "output_ptr")
        kinds = [event.kind for event in client.launches.events(launch.id)]

    assert launch.verdict == "passed"
    assert np.array_equal(np.load(io.BytesIO(made)), x + 1)
    assert (kinds[0], kinds[-1]) == ("queued", "finished")


class LosesTheFirstAnswer(httpx.HTTPTransport):
    """A connection that breaks after the service's first answer to a launch."""

    def __init__(self) -> None:
        super().__init__()
        self.lost: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        if request.url.path == "/v1/launches" and not self.lost:
            answer.read()
            self.lost.append(answer.json()["id"])
            answer.close()
            raise httpx.ReadError("connection reset by peer")
        return answer


def test_a_launch_whose_answer_was_lost_runs_once(system: Deployment) -> None:
    connection = LosesTheFirstAnswer()

    with tritonc.Client(system.url, transport=connection) as client:
        launch = client.launch(VECTOR_ADD.read_text(), **adding(buffers.uniform(100)))

    assert connection.lost == [launch.id]
    assert launch.good


async def test_a_batch_of_launches_awaited(system: Deployment) -> None:
    source = VECTOR_ADD.read_text()
    wrong = {"checks": ["no such check"]}
    requests = [
        tritonc.launch_request(source, **adding(np.zeros(100, dtype=np.float32), **changes))
        for changes in ({}, {"elements": 101}, wrong)
    ]

    async with tritonc.AsyncClient(system.url) as client:
        batch = await client.batches.launch(requests)
        events = [event async for event in client.batches.events(batch.id)]

    assert [item.good for item in batch.items] == [True, False, False]
    assert "user.py:20: out_of_bounds: " in str(batch.items[1].result)
    assert batch.items[2].problem is not None
    assert batch.items[2].problem.errors[0].pointer == "/checks/0"
    assert events[-1].kind == "finished"


def test_the_command_prints_the_verdict_and_the_users_line(
    system: Deployment, tmp_path: Path
) -> None:
    request = tmp_path / "add.toml"
    request.write_text(
        'device = "cpu"\nconstexprs = {BLOCK_SIZE = 64}\ngrid = [2]\n'
        '[arguments]\nx_ptr = "fp32[100]:uniform"\ny_ptr = "fp32[100]:ones"\n'
        'output_ptr = "fp32[100]:output"\n'
    )
    words = ["--request", str(request), "--argument", "n_elements=101"]

    done = run(system.url, "launch", str(VECTOR_ADD), *words)

    assert done.returncode == 1, done.stderr
    assert f"{VECTOR_ADD}:20: out_of_bounds: " in done.stdout
    assert "verdict: out_of_bounds on the CPU device" in done.stdout
