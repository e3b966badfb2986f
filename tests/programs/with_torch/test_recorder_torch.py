"""Effects of torch around a program's ops, and their tape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from programs.tape.schema import AtenOp, Seeding, Tape, TensorRef
from tests.programs.with_torch.recording_process import RecordingProcess

HEAD = "import copy\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


@pytest.fixture(scope="module")
def recorder() -> Iterator[RecordingProcess]:
    process = RecordingProcess()
    yield process
    process.close()


def tape_of(recorder: RecordingProcess, source: str, *entries: Any, **order: Any) -> Tape:
    return recorder.tape(HEAD + source, *entries, **order)


def refusal(recorder: RecordingProcess, source: str, *entries: Any, **order: Any) -> Any:
    return recorder.refusal(HEAD + source, *entries, **order)


def names(tape: Tape) -> list[str]:
    return [op.op for op in tape.ops if isinstance(op, AtenOp)]


def output(tape: Tape, name: str) -> Any:
    value = dict(tape.outputs.items)[name]
    assert isinstance(value, TensorRef)
    return tape.tensors[value.id]


def test_backward_is_recorded_at_the_line_that_calls_it(recorder: RecordingProcess) -> None:
    source = "x = torch.rand(4, device='cuda', requires_grad=True)\n(x * x).sum().backward()\n"
    tape = tape_of(recorder, source + "g = x.grad\n")
    assert output(tape, "g").shape == (4,)
    last = [op for op in tape.ops if isinstance(op, AtenOp) and op.op == "aten.add.Tensor"][-1]
    assert last.place is not None
    assert last.place.line == 6


def test_autocast_casts_as_on_a_gpu(recorder: RecordingProcess) -> None:
    source = (
        "m = nn.Linear(4, 4).cuda()\nx = torch.rand(2, 4, device='cuda')\n"
        "with torch.autocast('cuda', dtype=torch.bfloat16):\n    y = m(x)\n"
    )
    assert output(tape_of(recorder, source), "y").dtype == "bf16"


@pytest.mark.parametrize("grad", [True, False])
def test_attention_is_one_op_unless_derivatives_are_wanted(
    recorder: RecordingProcess, grad: bool
) -> None:
    source = (
        f"q = torch.rand(1, 2, 8, 16, device='cuda', requires_grad={grad})\n"
        "y = F.scaled_dot_product_attention(q, q, q)\n"
    )
    coarse = "aten.scaled_dot_product_attention.default" in names(tape_of(recorder, source))
    assert coarse is not grad


def test_attention_under_autocast_is_given_what_autocast_casts(
    recorder: RecordingProcess,
) -> None:
    source = (
        "q = torch.rand(1, 2, 8, 16, device='cuda')\n"
        "with torch.autocast('cuda', dtype=torch.float16):\n"
        "    y = F.scaled_dot_product_attention(q, q, q)\n"
    )
    tape = tape_of(recorder, source)
    assert output(tape, "y").dtype == "fp16"
    attention = next(op for op in tape.ops if isinstance(op, AtenOp) and "scaled" in op.op)
    query = attention.args[0]
    assert isinstance(query, TensorRef)
    assert tape.tensors[query.id].dtype == "fp16"


@pytest.mark.parametrize(
    ("arguments", "op"),
    [
        ("x, None, None, m, v, True, 0.1, 1e-5, False", "batch_norm"),
        (
            "x, None, None, running_mean=m, running_var=v, training=True, momentum=0.1, eps=1e-5, "
            "cudnn_enabled=False",
            "native_batch_norm",
        ),
    ],
    ids=["in order", "by name"],
)
def test_a_batch_norm_is_recorded_with_its_arguments_in_order(
    recorder: RecordingProcess, arguments: str, op: str
) -> None:
    source = (
        "x = torch.rand(2, 4, device='cuda')\nm = torch.zeros(4, device='cuda')\n"
        f"v = torch.ones(4, device='cuda')\ny = torch.batch_norm({arguments})\n"
    )
    tape = tape_of(recorder, source)
    [found] = [op for op in tape.ops if isinstance(op, AtenOp) and "batch_norm" in op.op]
    assert (found.op, found.kwargs) == (f"aten.{op}.default", {})


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_recurrent_module_is_one_op_with_the_strides_that_torch_gives(
    recorder: RecordingProcess, kind: str, batch_first: bool
) -> None:
    source = (
        f"m = nn.{kind}(3, 5, 2, batch_first={batch_first}, bidirectional=True).cuda()\n"
        "with torch.no_grad():\n    y, h = m(torch.rand(7, 4, 3, device='cuda'))\n"
    )
    tape = tape_of(recorder, source)
    assert sum(".input" in name for name in names(tape)) == 1
    shape, strides = (7, 4, 10), (10, 70, 1) if batch_first else (40, 10, 1)
    assert (output(tape, "y").shape, output(tape, "y").strides) == (shape, strides)


def test_a_moved_parameter_stays_the_same_object(recorder: RecordingProcess) -> None:
    source = (
        "m = nn.Linear(4, 4)\nheld = [m.weight]\nassert m.cuda().weight is held[0]\n"
        "assert held[0].is_cuda\noptimizer = torch.optim.SGD(held, lr=0.1)\n"
        "m(torch.rand(2, 4, device='cuda')).sum().backward()\noptimizer.step()\n"
    )
    assert any(name.startswith("aten.add_") for name in names(tape_of(recorder, source)))


def test_a_copied_module_has_new_storages_and_views_share_them(
    recorder: RecordingProcess,
) -> None:
    source = "a = nn.Linear(4, 3)\nw = copy.deepcopy(a).cuda().weight\nt = w.t()\nb = a.weight\n"
    tape = tape_of(recorder, source)
    assert output(tape, "w").storage == output(tape, "t").storage
    assert output(tape, "w").storage != output(tape, "b").storage


def test_inference_mode_records_the_same_ops(recorder: RecordingProcess) -> None:
    body = "    y = nn.Linear(4, 4).cuda()(torch.rand(2, 4, device='cuda'))\n"
    with_mode = names(tape_of(recorder, f"with torch.inference_mode():\n{body}"))
    assert "aten.addmm.default" in with_mode
    assert "aten.linear.default" not in with_mode


def test_an_op_with_a_kernel_for_cuda_is_not_taken_apart(recorder: RecordingProcess) -> None:
    source = "x = torch.rand(4, device='cuda', requires_grad=True)\nF.silu(x).sum().backward()\n"
    assert "aten.silu_backward.default" in names(tape_of(recorder, source))


def test_values_that_depend_on_no_data_are_known(recorder: RecordingProcess) -> None:
    source = (
        "rates = torch.linspace(0, 1, 5, device='cuda')\nn = int(rates[2].item() * 8)\n"
        "assert torch.equal(torch.ones_like(torch.rand(3)), torch.tensor([1.0] * 3))\n"
        "y = torch.zeros(n, device='cuda')\n"
    )
    assert output(tape_of(recorder, source), "y").shape == (4,)


def test_a_known_value_is_forgotten_when_something_is_written_over_it(
    recorder: RecordingProcess,
) -> None:
    source = "x = torch.ones(1)\nx[0:1].copy_(torch.rand(1))\nif x.item() > 0:\n    pass\n"
    assert refusal(recorder, source)["reason"] == "value_dependent"


def test_inputs_have_no_values(recorder: RecordingProcess) -> None:
    source = (
        "class Model(nn.Module):\n    def forward(self, n):\n        return torch.ones(int(n))\n"
        "def get_inputs():\n    return [torch.tensor(3.0)]\n"
    )
    found = refusal(recorder, source, {"kind": "model", "class": "Model"})
    assert (found["reason"], found["line"]) == ("value_dependent", 7)


def test_a_value_that_is_only_printed_or_kept_is_no_reason_to_refuse(
    recorder: RecordingProcess,
) -> None:
    source = (
        "y = torch.rand(3, device='cuda')\nresults = {'sum': y.sum().item(), 'list': y.tolist()}\n"
        "print(f'{results[\"sum\"]:.3f}', y.cpu().numpy(), torch.allclose(y, y + 0), results)\n"
    )
    assert output(tape_of(recorder, source), "y").shape == (3,)


def test_what_torch_asserts_of_values_is_left_to_the_replay(recorder: RecordingProcess) -> None:
    source = "y = torch.rand(3, device='cuda')\ntorch.testing.assert_close(y, y + 1)\n"
    assert names(tape_of(recorder, source))[-1] == "aten.add.Tensor"
    wrong = "torch.testing.assert_close(1, 2)\n"
    assert refusal(recorder, wrong)["reason"] == "program_error"


@pytest.mark.parametrize(
    "use",
    [
        "assert torch.allclose(x, x * 2)", "x[int(x[0].item())]", "torch.full((2,), x[0].item())",
        "x * x.sum().item()", "[1, 2][x[0].item()]", "torch.from_numpy(x.cpu().numpy()).cuda()",
        "len(x[x > 0])", "max(x.tolist())",
    ],
)  # fmt: skip
def test_a_value_that_decides_or_computes_is_refused(recorder: RecordingProcess, use: str) -> None:
    found = refusal(recorder, f"x = torch.rand(4, device='cuda')\n{use}\n")
    assert (found["reason"], found["line"]) == ("value_dependent", 6)


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("x.bfloat16().cpu().numpy()", "Got unsupported ScalarType BFloat16"),
        ("x.requires_grad_().cpu().numpy()", "Can't call numpy() on Tensor that requires grad"),
        ("np.asarray(x.requires_grad_().cpu())", "Can't call numpy() on Tensor that requires grad"),
        ("x.numpy()", "can't convert cuda:0 device type tensor to numpy"),
    ],
)
def test_what_torch_does_not_give_to_numpy_is_refused_in_its_words(
    recorder: RecordingProcess, use: str, said: str
) -> None:
    found = refusal(recorder, f"import numpy as np\nx = torch.rand(4, device='cuda')\n{use}\n")
    assert found["reason"] == "program_error"
    assert said in found["detail"]


def test_seeding_is_recorded_once(recorder: RecordingProcess) -> None:
    tape = tape_of(recorder, "torch.manual_seed(7)\nx = torch.rand(2)\n")
    assert [op.seed for op in tape.ops if isinstance(op, Seeding)] == [7]


def test_a_state_is_put_back_only_where_nothing_was_drawn(recorder: RecordingProcess) -> None:
    put_back = "torch.set_rng_state(state)\n"
    begin = "state = torch.get_rng_state()\n"
    tape_of(recorder, begin + put_back + "x = torch.rand(2)\n")
    found = refusal(recorder, begin + "x = torch.rand(2)\n" + put_back)
    assert (found["reason"], found["line"]) == ("random_state", 7)


@pytest.mark.parametrize(
    "asks",
    [
        "g.seed()",
        "g.get_state()",
        "g.set_state(None)",
        "torch.rand(2, generator=torch.default_generator)",
    ],
)
def test_setting_the_state_of_an_own_generator_is_refused(
    recorder: RecordingProcess, asks: str
) -> None:
    source = "g = torch.Generator(device='cuda').manual_seed(1)\n"
    assert refusal(recorder, source + asks + "\n")["reason"] == "random_state"


def test_constants_of_python_and_numpy_are_kept_with_their_strides(
    recorder: RecordingProcess,
) -> None:
    source = (
        "import numpy\na = torch.from_numpy(numpy.arange(6.0).reshape(2, 3).T).cuda()\n"
        "b = torch.tensor([1, 2], device='cuda')\n"
    )
    tape = tape_of(recorder, source)
    assert sorted(map(len, tape.constants.values())) == [16, 48]
    assert output(tape, "a").shape == (3, 2)


def test_a_constant_may_have_any_stride_along_an_axis_of_one(recorder: RecordingProcess) -> None:
    source = "import numpy\na = torch.from_numpy(numpy.arange(3.0).reshape(1, 3).T).cuda()\n"
    source += "b = torch.from_numpy(numpy.zeros((2, 3, 0)).T).cuda()\n"
    tape = tape_of(recorder, source)
    assert (output(tape, "a").shape, output(tape, "b").shape) == ((3, 1), (0, 3, 2))


def test_a_constant_of_a_single_element_is_kept_whatever_its_stride(
    recorder: RecordingProcess,
) -> None:
    source = (
        "import numpy\na = torch.from_numpy(numpy.arange(6.0)[1::3][:1]).cuda()\n"
        "b = torch.from_numpy(numpy.ones((4, 2))[::2][:1]).cuda()\n"
    )
    tape = tape_of(recorder, source)
    assert [np.frombuffer(data)[0] for data in tape.constants.values()] == [1.0, 1.0]


def test_a_custom_op_is_recorded_as_what_its_python_does(recorder: RecordingProcess) -> None:
    source = (
        "@torch.library.custom_op('mine::twice', mutates_args=())\n"
        "def twice(x: torch.Tensor) -> torch.Tensor:\n    return x * 2\n"
        "y = twice(torch.rand(3, device='cuda'))\n"
    )
    assert "aten.mul.Tensor" in names(tape_of(recorder, source))


def test_a_program_finds_the_main_module_of_its_process(recorder: RecordingProcess) -> None:
    """`torch.library.triton_op` calls `inspect.getmodule`, which looks for it."""
    source = (
        "import inspect, sys\nassert '__main__' in sys.modules\n"
        "assert inspect.getmodule(eval('lambda: 0')) is not None\nx = torch.rand(3)\n"
    )
    assert output(tape_of(recorder, source, inputs=[]), "x").shape == (3,)
    function = {"kind": "function", "name": "f"}
    source += "def f():\n    return x\n"
    assert tape_of(recorder, source, function, inputs=[]).outputs is not None


def test_inputs_alone_are_recorded_for_two_calls(recorder: RecordingProcess) -> None:
    source = "def get_inputs():\n    return [torch.rand(2, 3), {'n': 4, 'y': torch.ones(2)}]\n"
    tape = tape_of(recorder, source, {"kind": "inputs", "name": "get_inputs"})
    assert len(tape.inputs) == len(tape.inputs2) == 2
    assert {op.phase for op in tape.ops} == {"inputs"}
    assert tape.outputs is None


def test_the_first_entry_that_is_there_is_called(recorder: RecordingProcess) -> None:
    source = "def custom_kernel():\n    return torch.ones(3)\n"
    entries = [
        {"kind": "model", "class": "ModelNew"},
        {"kind": "function", "name": "custom_kernel"},
    ]
    assert tape_of(recorder, source, *entries, inputs=[]).outputs is not None
    found = refusal(recorder, "x = 1\n", *entries, inputs=[])
    assert found["reason"] == "no_entry"
    assert "'ModelNew'" in found["detail"]
    assert "the kind `script` if the file launches by itself" in found["detail"]


def test_a_model_without_init_inputs_is_refused_with_advice(recorder: RecordingProcess) -> None:
    source = "class ModelNew:\n    def __init__(self, size):\n        self.size = size\n"
    found = refusal(recorder, source, {"kind": "model", "class": "ModelNew"}, inputs=[])
    assert found["reason"] == "no_entry"
    assert "missing a required argument: 'size'" in found["detail"]
    assert "no 'get_init_inputs' that makes them" in found["detail"]


def test_a_program_of_several_files_has_lines_in_each(recorder: RecordingProcess) -> None:
    files = {"ops/__init__.py": "", "ops/twice.py": "def twice(x):\n    return x + x\n"}
    source = "from ops.twice import twice\ny = twice(torch.rand(2))\n"
    tape = tape_of(recorder, source, files=files)
    place = tape.ops[-1].place
    assert place is not None
    assert (place.file, place.line) == ("ops/twice.py", 2)


def test_what_a_program_imports_must_be_installed(recorder: RecordingProcess) -> None:
    found = refusal(recorder, "import no_such_package\n")
    assert (found["reason"], found["file"], found["line"]) == ("missing_module", "user.py", 5)


@pytest.mark.parametrize(
    ("called", "raised"),
    [
        ("x.t().view(6)", RuntimeError),
        ("torch.clamp(x)", RuntimeError),
        ("torch.stack([])", RuntimeError),
        ("F.embedding(torch.zeros(1, dtype=torch.long, device=x.device), x[0])", RuntimeError),
        ("x[torch.zeros(2, device=x.device)]", IndexError),
        ("x.unfold(0, 9, 1)", RuntimeError),
        ("x.unfold(5, 1, 1)", IndexError),
    ],
)
def test_an_op_that_fails_raises_what_eager_torch_raises(
    recorder: RecordingProcess, called: str, raised: type[Exception]
) -> None:
    with pytest.raises(raised):
        eval(called, {"torch": torch, "F": torch.nn.functional, "x": torch.ones(3, 2)})
    source = (
        "x = torch.ones(3, 2, device='cuda')\n"
        f"try:\n    y = {called}\nexcept {raised.__name__}:\n    y = x + 1\n"
    )
    assert output(tape_of(recorder, source), "y").shape == (3, 2)


@pytest.mark.parametrize(
    ("x", "weights", "strides"),
    [
        ("torch.rand(2, 3, 5, 4, device='cuda').mT", "w, w", (60, 20, 5, 1)),
        ("torch.rand(2, 3, 5, 4, device='cuda').mT", "None, None", (60, 20, 1, 4)),
        ("torch.rand(2, 3, 5, 4, device='cuda').mT.bfloat16()", "w, w", (60, 20, 1, 4)),
        ("torch.rand(2, 4, 5, 3, device='cuda').permute(0, 3, 1, 2)", "w, w", (60, 1, 15, 3)),
        ("torch.rand(3, 2, device='cuda').t()", "w, w", (1, 2)),
    ],
)
def test_a_batch_norm_has_the_strides_of_cudnn_or_else_those_of_its_input(
    recorder: RecordingProcess, x: str, weights: str, strides: tuple[int, ...]
) -> None:
    source = (
        f"x = {x}\nw = torch.ones(3, device='cuda')\n"
        f"y = torch.batch_norm(x, {weights}, None, None, True, 0.1, 1e-5, True)\n"
    )
    assert output(tape_of(recorder, source), "y").strides == strides
