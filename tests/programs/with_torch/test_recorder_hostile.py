"""Programs that attack their recorder get a named failure or a tape, and harm no other.

`programs.tape` checks the tape's contents; the sandbox limits the child.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from programs.tape.read_tape import read_tape
from programs.tape.schema import InvalidTape
from tests.programs.with_torch.recording_process import RecordingProcess

HONEST = "import torch\ny = torch.rand(4, device='cuda').relu()\n"
RECORDED = {
    "patched torch": "import torch\ntorch.relu = torch.Tensor.relu = lambda x: x\n",
    "no modules of ours": (
        "import sys\n"
        "for name in [n for n in sys.modules if n.startswith(('programs', 'compiler'))]:\n"
        "    del sys.modules[name]\n"
    ),
    "a flood": "for _ in range(2000):\n    print('x' * 1000)\n",
    "other signals": "import signal\nsignal.alarm(0)\n",
    "a trace": "import sys\nsys.settrace(lambda *_: None)\n",
}
REFUSED = {
    "swallowed": (
        "import torch\ntry:\n    torch.rand(2).data_ptr()\nexcept BaseException:\n    pass\n",
        "data_pointer",
    ),
    "exit": ("import sys\nsys.exit(0)\n", "program_error"),
    "an interrupt": ("raise KeyboardInterrupt\n", "program_error"),
    "a forged refusal": (
        "from programs.recorder.record_order import NotRecordable\n"
        "raise NotRecordable('clock', 'no time')\n",
        "clock",
    ),
    "recursion": ("def f():\n    f()\n\nf()\n", "program_error"),
    "endless output": ("import torch\ny = []\ny.append(y)\n", "program_error"),
    "more outputs than are answered": (
        "import torch\ny = [torch.rand(1)] * 5000\n",
        "too_many_tensors",
    ),
    "a key as long as a text": ("import torch\ny = {'k' * 300: torch.rand(1)}\n", "bad_inputs"),
    "endless ops": (
        "import torch\nx = torch.rand(1)\nwhile True:\n    x = x + 1\n",
        "too_many_ops",
    ),
    "large constants": (
        "import numpy, torch\nx = torch.from_numpy(numpy.zeros(1 << 20)).cuda()\n",
        "large_constant",
    ),
    "another device": (
        "import torch\nx = torch.rand(2, device='cuda:1', requires_grad=True)\n",
        "other_device",
    ),
    "another device by number": ("import torch\nx = torch.rand(2).cuda(3)\n", "other_device"),
    "a gradient elsewhere": (
        "import torch\nx = torch.rand(2, requires_grad=True)\nx.to('cuda:2').sum().backward()\n",
        "other_device",
    ),
    "a real tensor elsewhere": ("import torch\ntorch.cuda.set_device(1)\n", "other_device"),
    "sparse": ("import torch\nx = torch.eye(3).to_sparse()\n", None),
    "no recorder": (
        "import torch\nfrom torch.utils import _python_dispatch as modes\nmodes._pop_mode()\n"
        "x = torch.rand(3)\n",
        None,
    ),
}
DYING = {
    "an exit": "import os\nos._exit(0)\n",
    "a crash": "import ctypes\nctypes.string_at(0)\n",
    "a signal": "import os\nos.kill(os.getpid(), 9)\n",
}


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


@pytest.fixture(autouse=True)
def unharmed(recorder: RecordingProcess) -> Iterator[None]:
    """After any program, the next one is recorded as usual."""
    yield
    assert [op["op"] for op in recorder.record(HONEST)["ops"]][-1] == "aten.relu.default"


@pytest.mark.parametrize("name", RECORDED)
def test_a_program_that_changes_its_own_process_is_recorded_as_it_then_is(
    recorder: RecordingProcess, name: str
) -> None:
    answer = recorder.record(RECORDED[name] + HONEST)
    assert "ops" in answer, answer
    read_tape(json.dumps(answer).encode())


def test_a_program_that_reads_a_command_line_is_answered_with_what_to_do(
    recorder: RecordingProcess,
) -> None:
    source = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--n', required=True)\nparser.parse_args()\n"
    )

    answer = recorder.record(source, {"kind": "script", "outputs": None})

    refusal = answer["not_recordable"]
    assert refusal["line"] == 4
    assert (
        "SystemExit: 2. There is no command line here: give every argument a default"
        in (refusal["detail"])
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_cannot_be_recorded_has_the_reason(
    recorder: RecordingProcess, name: str
) -> None:
    source, reason = REFUSED[name]
    order: dict[str, Any] = {"max_ops": 500}
    answer = recorder.record(source, {"kind": "script", "outputs": None}, **order)
    if name == "endless output":
        answer = recorder.record(source, {"kind": "script", "outputs": ["y"]})
    assert "not_recordable" in answer, answer
    assert reason in (None, answer["not_recordable"]["reason"])


@pytest.mark.parametrize("name", DYING)
def test_a_child_that_dies_sends_no_tape(recorder: RecordingProcess, name: str) -> None:
    assert "died" in recorder.record(DYING[name])


def test_a_tape_that_a_program_forges_is_refused_where_it_is_read(
    recorder: RecordingProcess,
) -> None:
    forger = (
        "import gc\n"
        "from programs.recorder.tape_writer import TapeWriter\n"
        "for found in gc.get_objects():\n"
        "    if isinstance(found, TapeWriter):\n"
        "        found.ops.append({'op': 'aten.set_.source_Storage', 'a': [], 'o': [],"
        " 'phase': 'run', 'line': None})\n"
    )
    answer = recorder.record(HONEST + forger)
    with pytest.raises(InvalidTape):
        read_tape(json.dumps(answer).encode())


def test_a_launch_outside_of_a_recording_is_refused(recorder: RecordingProcess) -> None:
    source = (
        "import torch, triton, triton.language as tl\n"
        "from programs.recorder import recording\n"
        "@triton.jit\ndef kernel(x):\n    tl.store(x, 1)\n"
        "x = torch.rand(1, device='cuda')\n"
        "recording._current.clear()\n"
        "kernel[(1,)](x)\n"
    )
    answer = recorder.record(source)
    assert answer["not_recordable"]["reason"] == "unsupported_launch"
