"""CUDA streams and events in programs, and copies that do not block."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.programs.with_torch.recording_process import RecordingProcess

HEAD = 'import torch\nx = torch.zeros(4, device="cuda")\n'


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


@pytest.mark.parametrize(
    "stream",
    ["torch.cuda.Stream()", "torch.Stream(device='cuda')", "torch.cuda.Stream(stream_id=1)"],
)
def test_a_stream_is_refused_at_its_line_with_advice(
    recorder: RecordingProcess, stream: str
) -> None:
    found = recorder.refusal(f"{HEAD}s = {stream}\nwith torch.cuda.stream(s):\n    y = x + 1\n")
    assert (found["reason"], found["line"]) == ("stream", 3)
    assert "remove the stream" in found["detail"]


def test_the_default_stream_and_events_are_allowed(recorder: RecordingProcess) -> None:
    tape = recorder.tape(
        HEAD + "s = torch.cuda.current_stream()\nassert s == torch.cuda.default_stream()\n"
        "assert isinstance(s, torch.cuda.Stream) and s.cuda_stream == 0\n"
        "with torch.cuda.stream(s), torch.cuda.stream(None):\n    y = x + 1\n"
        "e, f = torch.cuda.Event(enable_timing=True), s.record_event()\ne.record()\n"
        "s.wait_event(e)\ns.wait_stream(s)\ny.record_stream(s)\ntorch.cuda.set_stream(s)\n"
        "assert e.query() and s.query()\nprint(f.elapsed_time(e))\ntorch.cuda.synchronize()\n"
        "assert torch.accelerator.current_stream() == s\n"
    )
    assert [op.op for op in tape.ops][-1] == "aten.add.Tensor"


@pytest.mark.parametrize(
    "use",
    [
        "torch.cuda.ExternalStream(7)",
        "torch.cuda.get_stream_from_external(7)",
        "torch.cuda.Event.from_ipc_handle(0, b'')",
        "torch.cuda.Event(interprocess=True).ipc_handle()",
    ],
)
def test_streams_and_events_of_others_are_refused(recorder: RecordingProcess, use: str) -> None:
    found = recorder.refusal(HEAD + use + "\n")
    assert (found["reason"], found["line"]) == ("stream", 3)


@pytest.mark.parametrize("other", ["torch.cuda.Stream('cpu')", "torch.cuda.synchronize(1)"])
def test_a_stream_of_another_device_is_refused(recorder: RecordingProcess, other: str) -> None:
    assert recorder.refusal(HEAD + other + "\n")["reason"] == "other_device"


@pytest.mark.parametrize("name", ["CUDAGraph", "graph_pool_handle", "make_graphed_callables"])
def test_a_graph_is_refused_under_each_of_its_names(recorder: RecordingProcess, name: str) -> None:
    source = f"from torch.cuda.graphs import {name}\n{name}()\n"
    assert recorder.refusal(source)["reason"] == "cuda_graph"


TO_CPU = "y = x.to('cpu', non_blocking=True)\n"
PINNED = "y = torch.zeros(4, pin_memory=True)\n"
EARLY = {
    "the result of a copy": TO_CPU + "z = y + 1\n",
    "pinned memory that is copied to": PINNED + "y.copy_(x, non_blocking=True)\nz = y + 1\n",
    "the same, by position": PINNED + "y.copy_(x, True)\nz = y + 1\n",
    "pinned memory that is copied from": PINNED
    + "z = y.to('cuda', non_blocking=True)\ny.add_(1)\n",
    "the result, copied back": TO_CPU + "x = y.to('cuda', non_blocking=True)\nz = y + 1\n",
    "a part of the result": TO_CPU + "z = y[1:] + 1\n",
    "an event before the copy": "e = torch.cuda.Event()\ne.record()\n"
    + TO_CPU
    + "e.synchronize()\nz = y + 1\n",
}


@pytest.mark.parametrize("lines", EARLY.values(), ids=EARLY)
def test_the_memory_of_a_copy_that_may_not_have_finished_is_refused(
    recorder: RecordingProcess, lines: str
) -> None:
    found = recorder.refusal(HEAD + lines + "torch.cuda.synchronize()\n")
    assert (found["reason"], found["line"]) == ("stream", 2 + lines.count("\n"))
    assert "user.py:" in found["detail"]


def test_a_call_that_returns_before_a_copy_to_the_cpu_is_refused(
    recorder: RecordingProcess,
) -> None:
    found = recorder.refusal(HEAD + TO_CPU)
    assert (found["reason"], found["line"]) == ("stream", 3)


FINISHED = {
    "a copy that blocks": "y = x.cpu()\nz = y + 1\n",
    "the device": TO_CPU + "torch.cuda.synchronize()\nz = y + 1\n",
    "the stream": TO_CPU + "torch.cuda.current_stream().synchronize()\nz = y + 1\n",
    "an event": TO_CPU + "e = torch.cuda.Event()\ne.record()\ne.synchronize()\nz = y + 1\n",
    "an event that is asked": TO_CPU
    + "e = torch.cuda.Event()\ne.record()\nwhile not e.query():\n    pass\nz = y + 1\n",
    "a value": TO_CPU + "print(x.sum().item())\nz = y + 1\n",
    "a copy into other memory": "y = torch.zeros(4)\ny.copy_(x, non_blocking=True)\nz = y + 1\n",
    "a copy from other memory": "y = torch.zeros(4)\nz = y.to('cuda', non_blocking=True)\n"
    "y.add_(1)\n",
    "pinned memory that is only read": PINNED + "z = y.to('cuda', non_blocking=True)\nw = y + 1\n",
}


@pytest.mark.parametrize("lines", FINISHED.values(), ids=FINISHED)
def test_a_copy_that_must_have_finished_is_allowed(recorder: RecordingProcess, lines: str) -> None:
    assert recorder.tape(HEAD + lines).ops
