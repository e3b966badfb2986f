"""Cheats that public benchmarks of kernels believed, or changed their rules for.

They come from pygpubench, KernelBench and its annotated runs, and gpu-mode/reference-kernels#162,
rewritten as our own programs.
"""

from __future__ import annotations

import textwrap

import httpx
import pytest

from tests.programs.with_torch.evaluating import Answer, evaluate
from tests.programs.with_torch.test_program_cheats import HEAD, REFERENCE, source

KERNELS = HEAD.split("CACHE = {}")[0] + """
@triton.jit
def scale_kernel(x, out, S, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * S)

@triton.jit
def fill_kernel(out, S, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.zeros((BLOCK,), tl.float32) + S)

@triton.jit
def broken_kernel(x, out):
    tl.store(out, tl.lod(x))

def scale(x, factor):
    out = torch.empty_like(x)
    scale_kernel[(x.numel() // 64,)](x, out, factor, BLOCK=64)
    return out

def fill(value):
    out = torch.empty(64, device="cuda")
    fill_kernel[(1,)](out, value, BLOCK=64)
    return out

CACHE = {}

class ModelNew(torch.nn.Module):
    def forward(self, x):
"""  # fmt: skip
WIDE = {"rtol": 1e-2, "atol": 1e-2}
TO_SCALE = WIDE | {"atol_scale": "rms"}
# of x itself, about one draw in 30 has an element above the wide tolerance
SOFTMAX = ("torch.softmax(x / 2, 1)", "torch.randn(8, 8192)")
LAZY = """class Lazy(torch.Tensor):
    @staticmethod
    def of(make, like):
        lazy = torch.empty_like(like).as_subclass(Lazy)
        lazy.make = make
        return lazy

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        args = [one.make() if isinstance(one, Lazy) else one for one in args]
        return function(*args, **(kwargs or {}))

CACHE = {}
"""
OWN_COPY = REFERENCE.split("def get_inputs")[0]


def task(forward: str, inputs: str) -> str:
    return (
        "import torch\nimport torch.nn.functional as F\n\nclass Model(torch.nn.Module):\n"
        f"    def forward(self, x):\n        return {forward}\n\n"
        f"def get_inputs():\n    return [{inputs}]\n\ndef get_init_inputs():\n    return []\n"
    )


def of_task(programs: httpx.Client, asked: tuple[str, str], forward: str, **more: object) -> Answer:
    text = KERNELS + textwrap.indent(forward, " " * 8) + "\n"
    return evaluate(programs, text, task(*asked), device="cpu", **more)


def reported(program: Answer) -> tuple[str | None, set[str]]:
    """Return the verdict and the kinds of all flags."""
    return program["verdict"], {flag["kind"] for flag in program["flags"]}


@pytest.mark.parametrize(
    ("asked", "forward", "tolerance", "verdict", "flags"),
    [
        (SOFTMAX, "return scale(x, 0.0)", WIDE, "passed",
         {"insensitive_output", "right_only_for_its_inputs"}),
        (SOFTMAX, "return scale(x, 0.0)", TO_SCALE, "mismatch", set()),
        (SOFTMAX, "return scale(x, 0.0)", None, "mismatch", set()),
        (("(lambda m: F.gelu(m - m.mean(1, True)))(x.amax(1, True))", "torch.randn(64, 64)"),
         "return scale(x[:, :1].contiguous(), 0.0)", None, "passed", {"insensitive_output"}),
        (("torch.softmax(x, 1).mean(1)", "torch.randn(64, 64)"),
         "return fill(1 / 64)", None, "passed", {"constant_output", "insensitive_output"}),
    ],
    ids=["times zero", "times zero, to scale", "times zero, by default", "always zero",
         "the mean of a softmax"],
)  # fmt: skip
def test_answers_that_need_no_inputs_are_flagged_or_wrong(
    programs: httpx.Client,
    asked: tuple[str, str],
    forward: str,
    tolerance: dict[str, object] | None,
    verdict: str,
    flags: set[str],
) -> None:
    assert reported(of_task(programs, asked, forward, tolerance=tolerance)) == (verdict, flags)


def test_what_is_right_for_one_distribution_is_wrong_in_a_case_of_another(
    programs: httpx.Client,
) -> None:
    asked = ("torch.relu(x)", "torch.rand(64, 64)")
    shown = BY_TORCH | {"right_only_for_its_inputs", "insensitive_output"}
    assert reported(of_task(programs, asked, "return scale(x, 1.0)")) == ("passed", shown)

    other = "import torch\ndef get_inputs():\n    return [torch.randn(64, 64)]\n"
    cases = [{"name": "of both signs", "inputs": {"source": other}}]
    assert reported(of_task(programs, asked, "return scale(x, 1.0)", cases=cases))[0] == "mismatch"


BY_TORCH = {"torch_did_the_work"}
LEFT = {"no_kernel"} | BY_TORCH


@pytest.mark.parametrize(
    ("text", "verdict", "flags"),
    [
        ("y = torch.relu(x @ self.weight)\ndel y\nreturn torch.empty_like(x)", "mismatch",
         {"no_kernel", "unwritten_output"}),
        ("return fused(x, self.weight)[:1].expand(64, 64)", "mismatch", set()),
        ("try:\n    raise RuntimeError\nexcept RuntimeError:\n"
         "    return torch.relu(x @ self.weight)", "passed", LEFT),
        ("try:\n    matmul_kernel[(1,)](x, self.weight)\nexcept Exception:\n"
         "    return torch.relu(x @ self.weight)", "passed", LEFT),
        ("if x.numel() < 10**9:\n    return torch.relu(x @ self.weight)\n"
         "return fused(x, self.weight)", "passed", LEFT),
        ("return relu(torch.ops.aten.mm.default(x, self.weight))", "passed", BY_TORCH),
        ("return relu(torch._C._VariableFunctions.mm(x, self.weight))", "passed", BY_TORCH),
        ("return torch.compile(lambda a, b: torch.relu(a @ b))(x, self.weight)", "passed", LEFT),
        ("torch.cuda.Event.elapsed_time = lambda *_: 1e-6\ntorch.cuda.synchronize = print\n"
         "return torch.relu(x @ self.weight)", "passed", LEFT),
        ("CACHE['n'] = CACHE.get('n', 0) + 1\nout = CACHE.setdefault('y', torch.empty_like(x))\n"
         "if CACHE['n'] % 2:\n    matmul_kernel[(1,)](x.contiguous(), self.weight, out, N=64)\n"
         "return out", "mismatch", {"cached_result"}),
        ("torch.manual_seed(42)\nreturn fused(torch.randn(64, 64, device=x.device), self.weight)",
         "mismatch", {"precomputed"}),
        ("y = fused(x, self.weight)\nx.zero_()\nreturn y", "input_modified", set()),
    ],
    ids=["a cache of its own product", "one row for all", "a fallback", "a fallback of a bad call",
         "a branch never taken", "a product by another name", "a product by a private name",
         "torch.compile", "patched timers", "every other call", "inputs from a known seed",
         "inputs cleared"],
)  # fmt: skip
def test_what_benchmarks_believed_is_wrong_or_flagged(
    programs: httpx.Client, text: str, verdict: str, flags: set[str]
) -> None:
    found = reported(evaluate(programs, source(text), REFERENCE))
    if found != (verdict, flags):  # a product of this size takes microseconds: measure once more
        found = reported(evaluate(programs, source(text), REFERENCE))
    assert found == (verdict, flags)


def test_a_subclass_of_an_own_copy_of_the_reference_is_torch_s_work(
    programs: httpx.Client,
) -> None:
    text = OWN_COPY + "\nclass ModelNew(Model):\n    def forward(self, x):\n"
    text += "        return super().forward(x)\n"
    assert reported(evaluate(programs, text, REFERENCE)) == ("passed", LEFT)


@pytest.mark.parametrize(
    ("text", "slug", "reason"),
    [
        ("from reference import Model\nclass ModelNew(Model):\n    pass\n", "missing_module",
         None),
        ("import sys\nclass ModelNew(sys.modules['__main__'].Model):\n    pass\n",
         "not_recordable", "program_error"),
        (source("y = torch.empty(0, device=x.device)\ny.resize_(64, 64)\nreturn y"),
         "not_recordable", "unsupported_tensor"),
        (source("return CACHE.setdefault(x.data_ptr(), fused(x, self.weight))"),
         "not_recordable", "data_pointer"),
        (source("return CACHE.setdefault(float(x[0, 0]), fused(x, self.weight))"),
         "not_recordable", "value_dependent"),
        (source("if torch.initial_seed() == 42:\n    return torch.zeros_like(x)\n"
                "return fused(x, self.weight)"), "not_recordable", "random_state"),
        (source("import threading\nthreading.Timer(0.1, fused, (x, self.weight)).start()\n"
                "return torch.empty_like(x)"), "not_recordable", "program_error"),
        (source("graph = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(graph):\n"
                "    y = fused(x, self.weight)\nreturn y"), "not_recordable", "cuda_graph"),
        (KERNELS + "        out = torch.empty_like(x)\n        try:\n"
         "            broken_kernel[(1,)](x, out)\n            return out\n"
         "        except Exception:\n            return torch.relu(x)\n", "compile_error", None),
    ],
    ids=["the reference imported", "the reference in a module", "unwritten memory",
         "results by address", "results by first value", "a known seed",
         "work after the return", "a graph",
         "a fallback of a kernel that does not compile"],
)  # fmt: skip
def test_what_benchmarks_believed_is_refused(
    programs: httpx.Client, text: str, slug: str, reason: str | None
) -> None:
    program = evaluate(programs, text, REFERENCE)
    assert program["verdict"] is None
    assert (program["problem"]["slug"], program["problem"]["reason"]) == (slug, reason), program


@pytest.mark.parametrize(
    "forward",
    [
        "k = id(x), x._version\nif k not in CACHE:\n    CACHE[k] = fused(x, self.weight)\n"
        "return CACHE[k]",
        "for a, y in CACHE.values():\n    if a is x:\n        return y\n"
        "y = fused(x, self.weight)\nCACHE[len(CACHE)] = (x, y)\nreturn y",
        "if 'Fake' not in str(type(x)):\n    return x\nreturn fused(x, self.weight)",
    ],
    ids=["results by identity", "results by object", "looks who calls"],
)
def test_tricks_that_find_nothing_to_skip_are_judged_by_what_they_do(
    programs: httpx.Client, forward: str
) -> None:
    """Each call has its own inputs, and its ops are replayed one after the other."""
    program = evaluate(programs, source(forward), REFERENCE)
    assert (reported(program), program["coverage"]) == (("passed", set()), 1)


def test_the_work_of_a_lazy_result_belongs_to_the_call(programs: httpx.Client) -> None:
    """Its launches are on the tape of the call, so a clock that stops before them stops late."""
    text = source("return Lazy.of(lambda: fused(x, self.weight), x)").replace("CACHE = {}", LAZY)
    program = evaluate(programs, text, REFERENCE)
    assert reported(program) == ("passed", {"dead_launch"})
    assert program["tape"]["launches"] > 1


def test_work_in_a_stream_that_no_clock_of_the_caller_s_looks_at_is_refused(
    programs: httpx.Client,
) -> None:
    aside = "with torch.cuda.stream(torch.cuda.Stream()):\n    return fused(x, self.weight)"
    program = evaluate(programs, source(aside), REFERENCE)
    assert (program["state"], program["problem"]["reason"]) == ("failed", "stream")


@pytest.mark.parametrize(
    "forward",
    [
        "return fused(x.half().float(), self.weight.half().float())",
        "return fused(x.half(), self.weight.half()).float()",
        "return fused(x.bfloat16().float(), self.weight)",
    ],
)
def test_halves_on_the_way_to_a_kernel_are_flagged_within_a_wide_tolerance(
    programs: httpx.Client, forward: str
) -> None:
    tolerance = {"rtol": 0.1, "atol": 0.1}
    program = evaluate(programs, source(forward), REFERENCE, tolerance=tolerance)
    verdict, kinds = reported(program)
    # conversions of so few numbers take about as long as the reference
    assert (verdict, kinds - {"torch_did_the_work"}) == ("passed", {"precision_downgrade"})
    assert {flag["line"] for flag in program["flags"]} == {HEAD.count("\n") + 1}
