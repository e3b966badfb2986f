"""The CPU device follows the compiler's semantics, and reports what does not compile."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.integration.service.launches import bodies
from tests.integration.service.launches.bodies import arange, output
from tests.integration.service.launches.conftest import Launch

TTIR = (bodies.KERNELS / "ir" / "vector_add_with_overflow_checks.ttir").read_text()


def kernel(lines: str, expected: str, **changes: Any) -> dict[str, Any]:
    """Return a launch of `lines` over x = 0, 1, ... 7 and y = x - 4; `expected` uses both."""
    head = "@triton.jit\ndef kernel(x_ptr, z_ptr, n):\n    lanes = tl.arange(0, 8)\n"
    head += "    x = tl.load(x_ptr + lanes)\n    y = x - 4\n"
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    reference = "import numpy\n\ndef reference(x_ptr, **_):\n    x, y = x_ptr, x_ptr - 4\n"
    reference += f"    return numpy.asarray({expected}, numpy.float32)\n"
    arguments = {"x_ptr": arange(8), "z_ptr": output(8), "n": 3}
    return bodies.written(head + body, arguments, **({"reference": reference} | changes))


COMPILES = {
    "max": ("tl.store(z_ptr + lanes, max(y, 0.0))", "numpy.maximum(y, 0)"),
    "and": ("m = (x > 1) and (y < 2)\ntl.store(z_ptr + lanes, tl.where(m, x, -1))",
            "numpy.where((x > 1) & (y < 2), x, -1)"),
    "or": ("m = (x < 1) or (y > 2)\ntl.store(z_ptr + lanes, tl.where(m, x, -1))",
           "numpy.where((x < 1) | (y > 2), x, -1)"),
    "not": ("m = x > 1\ntl.store(z_ptr + lanes, x, mask=not m)\n"
            "tl.store(z_ptr + lanes, -x, mask=m)", "numpy.where(x > 1, -x, x)"),
}  # fmt: skip
"""Whole-block expressions that mean something else in Python than in Triton's language."""


@pytest.mark.parametrize("name", COMPILES)
def test_what_compiles_means_what_the_compiler_makes_of_it(launch: Launch, name: str) -> None:
    lines, expected = COMPILES[name]

    answer = launch(kernel(lines, expected))

    assert (answer["state"], answer["verdict"]) == ("completed", "passed"), answer["problem"]
    assert {finding["kind"] for finding in answer["findings"]} <= {"warning"}


DOES_NOT_COMPILE = {
    "a loop variable that changes its type": (
        "total = 0\nfor i in range(n):\n    total = total + x\ntl.store(z_ptr + lanes, total)",
        "3 * x", "total",
    ),
    "an if on a tensor": (
        "if x[:, None] >= 0:\n    y = x\ntl.store(z_ptr + lanes, y)", "x", "Tensor",
    ),
    "a breakpoint": ("if n > 5:\n    breakpoint()\ntl.store(z_ptr + lanes, x)", "x", "breakpoint"),
}  # fmt: skip
"""Lines, their NumPy value, and a word of the compiler's message."""


@pytest.mark.parametrize("name", DOES_NOT_COMPILE)
def test_what_does_not_compile_has_failed_with_the_compilers_words(
    launch: Launch, name: str
) -> None:
    lines, expected, word = DOES_NOT_COMPILE[name]

    answer = launch(kernel(lines, expected))

    assert (answer["state"], answer["verdict"], answer["counts"]) == ("failed", None, {"failed": 1})
    assert answer["problem"]["slug"] == "compile_error"
    assert answer["problem"]["detail"].startswith("user.py:")
    [diagnostic, *_] = answer["compilation"]["diagnostics"]
    assert (diagnostic["severity"], diagnostic["file"]) == ("error", "user.py")
    assert word in diagnostic["message"]


def test_a_case_that_does_not_compile_says_why_in_its_findings(launch: Launch) -> None:
    text = "@triton.jit\ndef kernel(z_ptr, N: tl.constexpr):\n"
    text += "    tl.static_assert(N != 1, 'not one')\n    tl.store(z_ptr, N)\n"
    cases = [{"arguments": {"N": 2}}, {"arguments": {"N": 1}}]
    body = bodies.written(text, {"z_ptr": output(1), "N": 2}, cases=cases)

    right, wrong = launch(body)["cases"]

    assert right["verdict"] == "not_checked"
    assert (wrong["verdict"], wrong["problem"]["slug"]) == (None, "compile_error")
    assert "not one" in wrong["findings"][0]["diagnostics"][0]["message"]
    assert wrong["problem"]["detail"].startswith("user.py:")
    assert "user.py" not in wrong["findings"][0]["message"]


def test_a_warning_of_the_compiler_is_a_finding_and_no_verdict(launch: Launch) -> None:
    lines, expected = COMPILES["and"]
    body = kernel(lines, expected)

    answer = launch(body)

    assert answer["verdict"] == "passed"
    [finding] = answer["findings"]
    assert (finding["kind"], finding["file"]) == ("warning", "user.py")
    assert "'and' and 'or' are deprecated" in finding["message"]
    assert "m = (x > 1) and" in body["compilation"]["source"].splitlines()[finding["line"] - 1]


def test_what_a_compilation_assumed_is_a_finding_and_no_verdict(launch: Launch) -> None:
    lines, expected = COMPILES["max"]
    body = kernel(lines.replace("max(y", "maximum(y"), expected)
    text = "from pkg.ops import maximum\n" + body["compilation"]["source"]
    body["compilation"] |= {"source": text}

    answer = launch(body)

    assert answer["verdict"] == "passed"
    [finding] = answer["findings"]
    assert (finding["kind"], finding["line"]) == ("warning", 1)
    assert finding["message"] == (
        "maximum is taken to be triton.language.maximum: pkg.ops is missing"
    )


def test_the_target_may_be_left_out(launch: Launch) -> None:
    body = bodies.vector_add(device="auto")
    del body["compilation"]["target"]

    answer = launch(body)

    assert (answer["verdict"], answer["device"]["interpreter"]) == ("passed", True)


def ir_launch(text: str = TTIR, language: str = "ttir", **changes: Any) -> dict[str, Any]:
    """Return a launch of posted IR that adds two vectors of 2000 elements."""
    vectors = [bodies.uniform(2000), bodies.uniform(2000, seed=2), output(2000)]
    reference = "def reference(arg0, arg1, **_):\n    return arg0 + arg1\n"
    usual: dict[str, Any] = {
        "compilation": {"ir": {"language": language, "text": text}},
        "device": "cpu",
        "grid": ["cdiv(arg3, 1024)"],
        "arguments": [*vectors, 2000],
        "reference": {"source": reference},
    }
    return usual | changes


def test_posted_ttir_runs_on_the_cpu(launch: Launch) -> None:
    answer = launch(ir_launch())

    assert (answer["state"], answer["verdict"]) == ("completed", "passed"), answer["problem"]


def test_posted_ttir_is_checked_as_a_source_is(launch: Launch) -> None:
    shorter = [bodies.uniform(1990), bodies.uniform(2000, seed=2), output(2000), 2000]

    answer = launch(ir_launch(arguments=shorter, reference=None))

    assert answer["verdict"] == "out_of_bounds"
    assert (answer["findings"][0]["argument"], answer["findings"][0]["index"]) == ("arg0", [1990])


UNMASKED = """module {
  tt.func public @kernel(%x_ptr: !tt.ptr<f32>, %n: i32) {
    %lanes = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %ns = tt.splat %n : i32 -> tensor<64xi32>
    %mask = arith.cmpi slt, %lanes, %ns : tensor<64xi32>
    %splat = tt.splat %x_ptr : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %pointers = tt.addptr %splat, %lanes : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %values = arith.constant dense<1.0> : tensor<64xf32>
    ACCESS
    tt.return
  }
}
"""
ACCESSES = {
    "load": "%x = tt.load %pointers : tensor<64x!tt.ptr<f32>>",
    "store": "tt.store %pointers, %values : tensor<64x!tt.ptr<f32>>",
    "atomic": "%x = tt.atomic_rmw fadd, acq_rel, gpu, %pointers, %values : "
    "(tensor<64x!tt.ptr<f32>>, tensor<64xf32>) -> tensor<64xf32>",
}


@pytest.mark.parametrize("access", ACCESSES.values(), ids=ACCESSES)
def test_posted_ttir_without_a_mask_is_shown_its_operation_with_one(
    launch: Launch, access: str
) -> None:
    text = UNMASKED.replace("ACCESS", access)
    more = {"arguments": [output(40), 40], "grid": [1], "reference": None}

    message = launch(ir_launch(text, **more))["findings"][0]["message"]
    shown = message.split("`")[1]
    result, equals, _ = access.rpartition("= tt")
    masked = f"{result}= {shown}" if equals else shown

    assert launch(ir_launch(text.replace(access, masked), **more))["findings"] == []


def test_posted_ir_takes_arguments_by_the_names_that_it_gives_them(launch: Launch) -> None:
    names = ["x_ptr", "y_ptr", "out_ptr", "n"]
    text = TTIR
    for index, name in enumerate(names):
        text = text.replace(f"%arg{index}", f"%{name}")
    values = [bodies.uniform(1990), bodies.uniform(2000, seed=2), output(2000), 2000]
    by_name = dict(zip(names, values, strict=True))
    reference = {"source": "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"}

    wrong = launch(ir_launch(text, arguments=by_name, grid=["cdiv(n, 1024)"], reference=None))
    right = launch(
        ir_launch(
            text,
            arguments=by_name | {"x_ptr": bodies.uniform(2000)},
            grid=["cdiv(n, 1024)"],
            reference=reference,
        )
    )
    by_position = launch(ir_launch(text))

    assert (wrong["findings"][0]["argument"], wrong["findings"][0]["index"]) == ("x_ptr", [1990])
    assert (right["verdict"], list(right["outputs"])) == ("passed", ["out_ptr"]), right
    assert (by_position["verdict"], list(by_position["outputs"])) == ("passed", ["arg2"])


def test_arguments_that_break_what_posted_ir_says_are_refused(launch: Launch) -> None:
    answer = launch(ir_launch(arguments=[output(2000), output(2000), output(2000), 2001]))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "hint_violated")
    assert "multiple of 16" in answer["problem"]["detail"]


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        pytest.param("module {", "syntax_error", id="half a module"),
        pytest.param("module {}", "unknown_kernel", id="no kernel"),
        pytest.param(TTIR.replace("arith.addf", "arith.no_such"), "syntax_error", id="unknown"),
    ],
)
def test_ir_that_is_none_has_failed_with_its_line(launch: Launch, text: str, slug: str) -> None:
    answer = launch(ir_launch(text))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", slug)


def test_a_kernel_whose_name_no_gpu_takes_does_not_compile(launch: Launch) -> None:
    answer = launch(ir_launch(TTIR.replace("@add_kernel", '@"add\\0Akernel"')))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "compile_error")
    assert "the kernel's name" in answer["problem"]["detail"]


def test_functions_that_call_each_other_too_deeply_for_python_need_a_gpu(launch: Launch) -> None:
    calls = "".join(
        f"tt.func private @f{n}() {{ tt.call @f{n + 1}() : () -> () \n tt.return }}\n"
        for n in range(1200)
    )
    kernel = "tt.func public @k() { tt.call @f0() : () -> () \n tt.return }"
    text = f"module {{\n{calls}tt.func private @f1200() {{ tt.return }}\n{kernel}\n}}"

    answer = launch(ir_launch(text, grid=[1], arguments=[], reference=None))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "needs_gpu")
    assert "call each other" in answer["problem"]["detail"]


def test_ttgir_needs_a_gpu(launch: Launch) -> None:
    answer = launch(ir_launch(language="ttgir"))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "needs_gpu")
    assert answer["problem"]["detail"].startswith("user.ttgir:1: posted TTGIR describes")


def test_a_gluon_kernel_needs_a_gpu(launch: Launch) -> None:
    text = "from triton.experimental import gluon\n\n@gluon.jit\ndef kernel(x_ptr):\n    pass\n"

    answer = launch(bodies.launch(text, "kernel", {"x_ptr": output(4)}))

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "needs_gpu")
    assert answer["problem"]["detail"].startswith("user.py:4: kernel is a Gluon kernel")


def test_inline_assembly_needs_a_gpu_at_its_line(launch: Launch) -> None:
    lines = "z = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=r,r', [x], tl.float32, True, 1)"
    body = kernel(f"{lines}\ntl.store(z_ptr + lanes, z)", "x")

    answer = launch(body)

    assert (answer["state"], answer["problem"]["slug"]) == ("failed", "needs_gpu")
    number = answer["problem"]["detail"].removeprefix("user.py:").partition(":")[0]
    assert "inline_asm" in body["compilation"]["source"].splitlines()[int(number) - 1]


def test_a_trace_with_values_steps_through_a_kernel(http: httpx.Client, launch: Launch) -> None:
    body = kernel(
        "tl.store(z_ptr + lanes, y * 2)", "2 * y", trace={"programs": [[0]], "values": True}
    )

    answer = launch(body)
    trace = http.get(f"{answer['url']}/trace").json()

    assert answer["verdict"] == "passed"
    assert [access["op"] for access in trace["accesses"]] == ["load", "store"]
    [loaded] = [step for step in trace["steps"] if step["op"] == "tt.load"]
    assert (loaded["name"], loaded["shape"], loaded["values"]) == ("x", [8], [*range(8)])
    assert loaded["line"] == trace["accesses"][0]["line"]
    assert not trace["steps_truncated"]


def test_cases_that_differ_in_alignment_alone_are_compiled_once(launch: Launch) -> None:
    text = "@triton.jit\ndef kernel(z_ptr, n):\n"
    text += "    tl.static_print('compiled')\n    tl.store(z_ptr, n)\n"
    cases = [{"arguments": {"n": n}} for n in (16, 7, 32, 1)]
    body = bodies.written(
        text, {"z_ptr": output(1), "n": 16}, cases=cases, **{"return": {"z_ptr": "values"}}
    )

    answer = launch(body)

    assert [case["outputs"]["z_ptr"]["values"] for case in answer["cases"]] == [
        [16],
        [7],
        [32],
        [1],
    ]
    assert answer["stdout"].count("compiled") == 2  # 1 is a constant to Triton


def test_a_conversion_that_the_target_refuses_fails_with_its_problem(launch: Launch) -> None:
    lines = "z = x.to(tl.float64).to(tl.bfloat16, fp_downcast_rounding='rtz')\n"
    answer = launch(kernel(lines + "tl.store(z_ptr + lanes, z)", "x"))

    assert (answer["state"], answer["verdict"]) == ("failed", None)
    assert answer["problem"]["slug"] == "lowering_failed"


def test_a_conversion_that_the_target_has_runs(launch: Launch) -> None:
    lines = "z = x.to(tl.bfloat16, fp_downcast_rounding='rtz')\n"
    answer = launch(kernel(lines + "tl.store(z_ptr + lanes, z)", "x"))

    assert answer["verdict"] == "passed"
