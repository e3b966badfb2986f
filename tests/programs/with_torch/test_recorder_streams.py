"""CUDA streams and events on tapes, and uses of them that no tape can hold."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from programs.tape.schema import AtenOp, Tape
from programs.tape.stream_order import unordered
from programs.tape.tape_bounds import MAX_STREAMS
from tests.programs.with_torch.recording_process import RecordingProcess

HEAD = """import torch
s, t = torch.cuda.Stream(), torch.cuda.Stream()
x = torch.zeros(4, device="cuda")
torch.cuda.synchronize()
"""


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def orders(tape: Tape) -> list[tuple[int, tuple[int, ...]]]:
    """Return the stream of each op of a tape, and what it waited for; without views."""
    return [
        (op.stream, op.after)
        for op in tape.ops
        if isinstance(op, AtenOp) and op.op != "aten.detach.default"
    ]


def test_ops_are_in_the_stream_that_is_current(recorder: RecordingProcess) -> None:
    tape = recorder.tape(
        HEAD + "with torch.cuda.stream(s):\n    y = x + 1\n    with t:\n        y = x + 2\n"
        "    y = x + 3\ntorch.cuda.set_stream(t)\ny = x + 4\n"
        "with torch.cuda.stream(None):\n    y = x + 5\n"
    )
    assert [stream for stream, _ in orders(tape)] == [0, 1, 2, 1, 2, 2]


def test_a_stream_is_left_where_its_block_raises(recorder: RecordingProcess) -> None:
    raises = "try:\n    with torch.cuda.stream(s):\n        y = x + 1\n        raise KeyError\n"
    tape = recorder.tape(HEAD + raises + "except KeyError:\n    pass\ny = x + 2\n")
    assert [stream for stream, _ in orders(tape)] == [0, 1, 0]


def test_what_is_waited_for_is_said_once(recorder: RecordingProcess) -> None:
    tape = recorder.tape(
        HEAD + "with s:\n    y = x + 1\n    y = x + 2\nt.wait_stream(s)\n"
        "with t:\n    y = x + 3\n    y = x + 4\n"
    )
    lines = [
        [place.line for at in after if (place := tape.ops[at].place) is not None]
        for _, after in orders(tape)
    ]
    assert lines == [[], [3], [], [3, 7], []]
    assert [tape.ops[at].place for at in tape.ends["run"]] == [tape.ops[0].place]


def test_a_tape_of_one_stream_says_nothing_of_an_order(recorder: RecordingProcess) -> None:
    source = "import torch\nx = torch.rand(4).cuda()\ntorch.cuda.synchronize()\nprint(x.cpu())\n"
    source += "e = torch.cuda.Event()\ne.record()\ny = torch.cuda.current_stream()\ny = x.sum()\n"
    answer = recorder.record(source)
    assert "ends" not in answer
    assert not any({"stream", "after"} & op.keys() for op in answer["ops"])


def test_streams_of_any_accelerator_are_cudas(recorder: RecordingProcess) -> None:
    tape = recorder.tape(
        HEAD + "s = torch.Stream(device='cuda')\nassert isinstance(s, torch.cuda.Stream)\n"
        "with s:\n    y = x + 1\n    assert torch.accelerator.current_stream() == s\n"
        "e = torch.Event()\ne.record(s)\ntorch.cuda.current_stream().wait_event(e)\ny = y + 1\n"
        "assert torch.cuda.current_stream() == torch.cuda.default_stream() != s\n"
        "assert torch.cuda.default_stream().cuda_stream == 0 != s.cuda_stream\n"
    )
    assert unordered(tape) == {}


@pytest.mark.parametrize(
    "use",
    [
        "torch.cuda.ExternalStream(7)",
        "torch.cuda.get_stream_from_external(7)",
        "torch.cuda.Stream(stream_id=1, device_index=0, device_type=1)",
        "torch.cuda.Event.from_ipc_handle(0, b'')",
        "torch.cuda.Event(interprocess=True).ipc_handle()",
        "y = torch.ones(4, device='cuda', requires_grad=True) * 2\nwith s:\n    y.sum().backward()",
    ],
)
def test_what_no_tape_can_say_of_streams_is_refused(recorder: RecordingProcess, use: str) -> None:
    found = recorder.refusal(HEAD + use + "\n")
    assert found["reason"] == "stream", found
    assert found["line"] == HEAD.count("\n") + 1 + use.count("\n")


def test_more_streams_than_a_tape_holds_are_refused(recorder: RecordingProcess) -> None:
    many = "for _ in range({}):\n    with torch.cuda.Stream():\n        y = x + 1\n"
    assert recorder.tape(HEAD + many.format(MAX_STREAMS - 1)).ends
    assert recorder.refusal(HEAD + many.format(MAX_STREAMS))["reason"] == "stream"
    unused = "many = [torch.cuda.Stream() for _ in range(200)]\ny = x + 1\n"
    assert "ops" in recorder.record(HEAD + unused)


@pytest.mark.parametrize("name", ["CUDAGraph", "graph_pool_handle", "make_graphed_callables"])
def test_a_graph_is_refused_under_each_of_its_names(recorder: RecordingProcess, name: str) -> None:
    source = f"from torch.cuda.graphs import {name}\n{name}()\n"
    assert recorder.refusal(source)["reason"] == "cuda_graph"


def test_printing_a_tensor_waits_for_it(recorder: RecordingProcess) -> None:
    shows = "with s:\n    y = x + 1\n    print(y)\nz = y + 1\n"
    assert unordered(recorder.tape(HEAD + shows)) == {}
    assert unordered(recorder.tape(HEAD + shows.replace("print(y)", "print()"))) != {}


@pytest.mark.parametrize("other", ["torch.cuda.Stream('cpu')", "torch.cuda.synchronize(1)"])
def test_a_stream_of_another_device_is_refused(recorder: RecordingProcess, other: str) -> None:
    assert recorder.refusal(HEAD + other + "\n")["reason"] == "other_device"


COPIES = {
    "a copy that blocks": ("y = x.cpu()\nz = y + 1\n", False),
    "one that does not": ("y = x.to('cpu', non_blocking=True)\nz = y + 1\n", True),
    "one that is waited for": (
        "y = x.to('cpu', non_blocking=True)\ntorch.cuda.synchronize()\nz = y + 1\n",
        False,
    ),
    "into pinned memory": (
        "y = torch.empty(4, pin_memory=True)\ny.copy_(x, non_blocking=True)\nz = y + 1\n",
        True,
    ),
    "into pinned memory, as an argument": (
        "y = torch.empty(4, pin_memory=True)\ny.copy_(x, True)\nz = y + 1\n",
        True,
    ),
    "into other memory": (
        "y = torch.zeros(4)\ny.copy_(x, non_blocking=True)\nz = y + 1\n",
        False,
    ),
    "from pinned memory": (
        "y = torch.zeros(4, pin_memory=True)\nz = y.to('cuda', non_blocking=True)\ny.add_(1)\n",
        True,
    ),
    "from other memory": (
        "y = torch.zeros(4)\nz = y.to('cuda', non_blocking=True)\ny.add_(1)\n",
        False,
    ),
    "from pinned memory that is only read": (
        "y = torch.zeros(4, pin_memory=True)\nz = y.to('cuda', non_blocking=True)\nw = y + 1\n",
        False,
    ),
}


@pytest.mark.parametrize(("lines", "races"), COPIES.values(), ids=COPIES)
def test_the_host_goes_on_beside_copies_that_do_not_block(
    recorder: RecordingProcess, lines: str, *, races: bool
) -> None:
    tape = recorder.tape(HEAD + lines + "torch.cuda.synchronize()\n")
    assert bool(unordered(tape)) is races


@pytest.mark.parametrize("seed", range(60))
def test_drawn_orders_are_those_of_a_graph_of_all_waits(
    recorder: RecordingProcess, seed: int
) -> None:
    """Random programs of streams, events and host waits; each op joins two of four tensors."""
    drawn = random.Random(seed)
    lines = ["import torch", "n = [torch.zeros(4, device='cuda') for _ in range(4)]"]
    lines += ["torch.cuda.synchronize()", "e = [torch.cuda.Event() for _ in range(2)]"]
    lines += ["s = [torch.cuda.default_stream(), torch.cuda.Stream(), torch.cuda.Stream()]"]
    after: dict[int, set[int]] = {}
    """By op, all ops that finish before it, found by following the waits one by one."""
    streams: list[set[int]] = [set(), set(), set()]
    host: set[int] = set()
    events: list[set[int]] = [set(), set()]
    used: list[tuple[int, int]] = []
    for _ in range(drawn.randint(4, 14)):
        one, other, event = drawn.randrange(3), drawn.randrange(3), drawn.randrange(2)
        match drawn.randrange(9):
            case 0:
                lines.append(f"s[{one}].wait_stream(s[{other}])")
                streams[one] |= streams[other] | host
            case 1:
                lines.append(f"e[{event}].record(s[{one}])")
                events[event] = streams[one] | host
            case 2:
                lines.append(f"s[{one}].wait_event(e[{event}])")
                streams[one] |= events[event]
            case 3:
                lines.append(f"{drawn.choice([f'e[{event}]', f's[{one}]'])}.synchronize()")
                host |= events[event] if lines[-1].startswith("e") else streams[one]
            case 4 if drawn.random() < 0.3:
                lines.append("torch.cuda.synchronize()")
                host |= set().union(*streams)
            case _:
                of, into = drawn.sample(range(4), 2)
                lines += [f"with s[{one}]:", f"    n[{into}].add_(n[{of}])"]
                after[len(used)] = streams[one] | host
                streams[one] |= host | {len(used)}
                used.append((of, into))
    lines.append("torch.cuda.synchronize()")
    expected = {
        storage
        for later in range(len(used))
        for earlier in range(later)
        if earlier not in after[later]
        for storage in ({used[later][1]} & {*used[earlier]})
        | ({used[later][0]} & {used[earlier][1]})
    }

    tape = recorder.tape("\n".join([*lines, ""]))

    assert unordered(tape).keys() == expected, lines
