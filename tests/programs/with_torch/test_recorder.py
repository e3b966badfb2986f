"""Programs in every posted form are recorded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from programs.tape.schema import AtenOp, Tape, TapeLaunch
from tests.programs.with_torch.recording_process import RecordingProcess

MODEL = {"kind": "model", "class": "Model"}
NEW = {"kind": "model", "class": "ModelNew"}
HEAD = "import torch\nimport triton\nimport triton.language as tl\n"
ADD = """
@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask) + tl.load(y + offsets, mask), mask)


def add(x, y):
    out = torch.empty_like(x)
    n = out.numel()
    add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=128, num_warps=8)
    return out
"""
MODELS = """
class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x).relu()


class ModelNew(Model):
    def forward(self, x):
        return add(self.linear(x), x)


def get_inputs():
    return [torch.rand(16, 8)]


def get_init_inputs():
    return [8]
"""


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def spec(*shape: int, dtype: str = "fp32") -> dict[str, Any]:
    return {"tensor": {"dtype": dtype, "shape": shape, "device": "cuda"}}


def tape_of(recorder: RecordingProcess, source: str, *entries: Any, **order: Any) -> Tape:
    return recorder.tape(HEAD + source, *entries, **order)


def reason(recorder: RecordingProcess, source: str, *entries: Any, **order: Any) -> Any:
    found = recorder.refusal(HEAD + source, *entries, **order)
    return found["reason"], found["file"], found["line"]


def names(tape: Tape, phase: str = "run") -> list[str]:
    return [op.op for op in tape.ops if isinstance(op, AtenOp) and op.phase == phase]


def launches(tape: Tape) -> list[TapeLaunch]:
    return [op for op in tape.ops if isinstance(op, TapeLaunch)]


def test_a_reference_model_is_recorded_with_its_own_inputs_and_parameters(
    recorder: RecordingProcess,
) -> None:
    tape = tape_of(recorder, ADD + MODELS, MODEL)
    assert [name for name, _ in tape.params] == ["linear.weight", "linear.bias"]
    assert names(tape) == ["aten.t.default", "aten.addmm.default", "aten.relu.default"]
    assert names(tape, "run2") == names(tape)
    assert len(tape.inputs) == len(tape.inputs2) == 1
    assert tape.init_inputs == (8,)


def test_a_candidate_is_recorded_with_inputs_of_which_it_sees_only_shapes(
    recorder: RecordingProcess,
) -> None:
    tape = tape_of(recorder, ADD + MODELS, NEW, inputs=[spec(16, 8)], init_inputs=[8])
    assert not [op for op in tape.ops if op.phase == "inputs"]
    first, second = launches(tape)
    assert first.grid == (1, 1, 1)
    assert first.constexprs == {"BLOCK": 128}
    assert first.options == {"num_warps": 8}
    assert first.args["n"] == 128
    assert first.place is not None
    assert (first.place.file, first.place.line) == ("user.py", 15)
    assert (first.phase, second.phase) == ("run", "run2")
    kernel = tape.kernels[first.kernel]
    assert (kernel.file, kernel.name, kernel.line) == ("user.py", "add_kernel", 6)


def test_a_function_is_recorded(recorder: RecordingProcess) -> None:
    entry = {"kind": "function", "name": "add"}
    tape = tape_of(recorder, ADD, entry, inputs=[spec(4, 4), spec(4, 4)])
    assert len(launches(tape)) == 2


def test_a_script_leaves_its_tensors_as_outputs(recorder: RecordingProcess) -> None:
    tape = tape_of(recorder, ADD + "a = torch.rand(8, device='cuda')\nb = add(a, a)\n_c = b + 1\n")
    assert [name for name, _ in tape.outputs.items] == ["a", "b"]


def test_tensors_in_what_a_script_leaves_are_outputs_too(recorder: RecordingProcess) -> None:
    source = (
        "x = torch.rand(8, device='cuda')\n"
        "result = {'case': (x, 'text', x.sum().item()), 'none': {}, 'list': [[x * 2]]}\n"
        "number = 3\n"
    )
    tape = tape_of(recorder, source)
    assert [name for name, _ in tape.outputs.items] == ["x", "result"]
    assert [name for name, _ in tape.outputs.items[1][1].items] == ["case", "list"]


def test_what_einops_makes_of_tensors_is_recorded_as_torch_s_ops(
    recorder: RecordingProcess,
) -> None:
    source = (
        "from einops import rearrange, repeat\n"
        "x = torch.rand(4, 6, device='cuda')\n"
        "y = repeat(rearrange(x, 'a (b c) -> b a c', b=2), 'b a c -> b a (c k)', k=3) + 1\n"
    )
    tape = tape_of(recorder, source, {"kind": "script", "outputs": ["y"]})
    assert "aten.add.Tensor" in names(tape)
    [(_, output)] = tape.outputs.items
    assert tape.tensors[output.id].shape == (2, 4, 9)


def test_what_depends_on_a_value_is_refused_at_its_line(recorder: RecordingProcess) -> None:
    source = "x = torch.rand(8, device='cuda')\nif x.sum() > 0:\n    x = -x\n"
    assert reason(recorder, source) == ("value_dependent", "user.py", 5)


def test_an_address_is_refused(recorder: RecordingProcess) -> None:
    assert reason(recorder, "torch.rand(8).data_ptr()")[0] == "data_pointer"


def test_a_program_error_has_its_line(recorder: RecordingProcess) -> None:
    source = "def f():\n    return torch.rand(2, 3) @ torch.rand(2, 3)\n\nf()\n"
    assert reason(recorder, source) == ("program_error", "user.py", 5)


def test_a_file_that_cannot_be_parsed_is_a_syntax_error_but_raising_one_is_not(
    recorder: RecordingProcess,
) -> None:
    assert reason(recorder, "x = (1,\n") == ("syntax_error", "user.py", 4)
    assert reason(recorder, 'raise SyntaxError("no")')[0] == "program_error"


@pytest.mark.parametrize(
    "head",
    ["\ufeff", "# -*- coding: latin-1 -*-\nname = 'é'\n", "text = 'a\x0cb\u2028c'\n", "\r\n"],
    ids=["a byte order mark", "a coding line", "a form feed", "another line ending"],
)
def test_a_program_is_the_text_that_was_posted(recorder: RecordingProcess, head: str) -> None:
    source = head + "import torch\nimport triton\nimport triton.language as tl\n" + ADD
    source += "a = torch.rand(8, device='cuda')\nb = add(a, a)\n"

    tape = recorder.tape(source)

    (kernel,) = tape.kernels.values()
    assert source.replace("\r", "").split("\n")[kernel.line - 1].startswith("def add_kernel")
    assert [name for name, _ in tape.outputs.items] == ["a", "b"]


def test_an_encoding_that_python_refuses_has_its_line(recorder: RecordingProcess) -> None:
    refusal = recorder.refusal("\n# coding: nowhere\nimport torch\n")
    assert (refusal["reason"], refusal["line"]) == ("syntax_error", 2)
    assert "unknown encoding: nowhere" in refusal["detail"]


@pytest.mark.parametrize(
    ("made", "reason", "said"),
    [
        (
            "torch.rand(1).reshape([1] * 65)",
            "unsupported_tensor",
            "it has 65 axes; the limit is 64",
        ),
        (
            "torch.special.chebyshev_polynomial_t(torch.rand(1), 1001)",
            "unsupported_argument",
            "the polynomial has degree 1001; the limit is 1000",
        ),
    ],
)
def test_what_no_tape_holds_is_refused_at_its_line(
    recorder: RecordingProcess, made: str, reason: str, said: str
) -> None:
    refusal = recorder.refusal(f"import torch\n\ny = {made}\n")
    assert (refusal["reason"], refusal["line"]) == (reason, 3)
    assert refusal["detail"] == said
