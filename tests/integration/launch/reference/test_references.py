"""A reference sees only the inputs; its errors point at its own lines."""

import numpy as np
import pytest

from tests.integration.launch.child_runs import Buffer, out, refer, uniform
from worker.pool.child_outcome import Ending

pytestmark = pytest.mark.asyncio(loop_scope="session")

ADD = {"x_ptr": uniform(3, 4), "y_ptr": uniform(3, 4, seed=2), "z_ptr": out(3, 4), "n": 12}


async def refused(pool, text, arguments=ADD, **more):
    run = await refer(pool, text, arguments, **more)
    assert run.failure["slug"] == "invalid_reference"
    return run.failure


async def test_one_array_is_what_the_only_output_should_be(pool):
    text = "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr"
    run = await refer(pool, text, ADD, constexprs={"BLOCK": 4})
    assert run.result["outputs"] == {
        "z_ptr": {"dtype": "float32", "shape": [3, 4], "unchanged": False, "scale": None}
    }
    made = [np.random.Generator(np.random.Philox(seed)).uniform(0, 1, 12) for seed in (1, 2)]
    x, y = (array.astype(np.float32) for array in made)
    assert run.stage("expected:z_ptr") == (x + y).tobytes()


async def test_np_is_there_without_an_import(pool):
    run = await refer(pool, "def reference(x_ptr, **_):\n    return np.zeros_like(x_ptr)", ADD)

    assert not any(run.stage("expected:z_ptr"))


async def test_several_outputs_are_returned_by_name(pool):
    text = (
        "def reference(x_ptr, n, BLOCK):\n    return {'a': x_ptr.sum(0), 'b': x_ptr[0] * n + BLOCK}"
    )
    arguments = {"x_ptr": Buffer((2, 3), "i32", {"kind": "arange"}), "n": 5}
    arguments |= {"a": out(3, dtype="i32"), "b": out(3, dtype="i32")}
    run = await refer(pool, text, arguments, constexprs={"BLOCK": 7})
    assert np.frombuffer(run.stage("expected:a"), np.int64).tolist() == [3, 5, 7]
    assert np.frombuffer(run.stage("expected:b"), run.result["outputs"]["b"]["dtype"]).tolist() == [
        7, 12, 17,
    ]  # fmt: skip


async def test_bf16_and_fp8_are_float32_and_in_place_outputs_are_inputs(pool):
    text = """import numpy as np
def reference(x, y, z):
    assert x.dtype == y.dtype == np.float32 and z.dtype == np.float16, (x.dtype, y.dtype, z.dtype)
    return x + y + z
"""
    ones = {"kind": "ones"}
    arguments = {
        "x": Buffer((2,), "bf16", ones), "y": Buffer((2,), "fp8e5", ones),
        "z": Buffer((2,), "fp16", ones, output=True),
    }  # fmt: skip
    run = await refer(pool, text, arguments)
    assert np.frombuffer(run.stage("expected:z"), np.float32).tolist() == [3, 3]


async def test_what_it_raises_is_shown_at_its_line(pool):
    text = "def reference(x_ptr, **_):\n    y = x_ptr.T\n    return x_ptr @ x_ptr\n"
    failure = await refused(pool, text)
    (found,) = failure["diagnostics"]
    assert (found["file"], found["line"]) == ("reference.py", 3)
    assert found["excerpt"] == "    return x_ptr @ x_ptr"
    assert "ValueError: matmul" in found["message"]


@pytest.mark.parametrize("head", ["\ufeff", "# coding: latin-1\nname = 'é'\n"])
async def test_it_is_the_text_that_was_posted(pool, head):
    text = head + "def reference(x_ptr, y_ptr, **_):\n    return x_ptr + y_ptr\n"
    run = await refer(pool, text, ADD)
    assert run.result["outputs"]["z_ptr"]["shape"] == [3, 4]


async def test_an_encoding_that_python_refuses_has_its_line(pool):
    failure = await refused(pool, "# coding: nowhere\ndef reference(**_):\n    return 1\n")
    assert failure["message"] == "line 1: unknown encoding: nowhere"


async def test_inputs_cannot_be_changed(pool):
    failure = await refused(pool, "def reference(x_ptr, **_):\n    x_ptr += 1\n    return x_ptr")
    assert "read-only" in failure["message"]


async def test_the_kernel_s_outputs_cannot_be_asked_for(pool):
    failure = await refused(pool, "def reference(x_ptr, z_ptr):\n    return z_ptr")
    assert "parameter 'z_ptr', which is not an input" in failure["message"]


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        ("x_ptr[0]", "float32 of shape [4] for 'z_ptr', whose shape is [3, 4]"),
        ("x_ptr * 1j", "complex64 of shape [3, 4] for 'z_ptr': return booleans"),
        ("'three'", "return booleans, integers or floats"),
        ("None", "returned None: end it with `return` and the expected array of z_ptr"),
        ("1.0", "return an array, such as numpy.full([3, 4], number)"),
        ("x_ptr.astype(object)", "an array of Python objects for 'z_ptr': convert it"),
        ("[[1 << 80] * 4] * 3", "an array of Python objects for 'z_ptr': convert it"),
        ("[x_ptr]", "float32 of shape [1, 3, 4] for 'z_ptr', whose shape is [3, 4]"),
        ("{}", "returned a dict without the output 'z_ptr': add its array"),
        ("[[1, 2], [3]]", "returned no array for 'z_ptr'"),
        ("{'zz': x_ptr}", "returned 'zz', which is not an output; outputs: z_ptr"),
    ],
)
async def test_a_result_that_cannot_be_compared(pool, result, complaint):
    failure = await refused(pool, f"def reference(x_ptr, **_):\n    return {result}")
    assert complaint in failure["message"]
    assert [found["line"] for found in failure["diagnostics"]] == [2]


async def test_a_result_is_refused_at_its_function_where_it_returns_in_several_places(pool):
    text = "X = 1\n\ndef reference(x_ptr, **_):\n    if X:\n        return 1\n    return 2"
    failure = await refused(pool, text)
    assert [found["line"] for found in failure["diagnostics"]] == [3]


async def test_an_output_is_left_out_by_none(pool):
    arguments = {"x": uniform(4), "y": out(4), "z": out(4)}
    run = await refer(pool, "def reference(x):\n    return {'y': x, 'z': None}", arguments)
    assert list(run.result["outputs"]) == ["y"]


async def test_whole_floats_are_integers(pool):
    arguments = {"x": Buffer((4,), "i32", {"kind": "arange"}), "z": out(4, dtype="i32")}
    run = await refer(pool, "def reference(x):\n    return x * 2.0", arguments)
    assert run.result["outputs"]["z"]["dtype"] == "int64"


async def test_a_float_result_for_an_integer_output(pool):
    arguments = {"x": Buffer((4,), "i32", {"kind": "arange"}), "z": out(4, dtype="i32")}
    failure = await refused(pool, "def reference(x):\n    return x / 2", arguments)
    assert "float64 of shape [4] for 'z', which is i32: return integers" in failure["message"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("def reference(:", "line 1: invalid syntax"),
        ("def other(x_ptr):\n    return x_ptr", "defines no function 'reference'"),
        ("raise SystemExit(0)", "line 1: SystemExit"),
    ],
)
async def test_a_source_without_reference(pool, text, complaint):
    assert complaint in (await refused(pool, text))["message"]


async def test_torch_is_not_there_unless_the_reference_is_in_torch(pool):
    text = "import torch\ndef reference(x_ptr):\n    return x_ptr"
    run = await refer(pool, text, ADD)
    assert run.failure["slug"] == "needs_torch"
    assert "No module named 'torch'" in run.failure["message"]


async def test_it_can_open_nothing(pool):
    text = "def reference(x_ptr, **_):\n    return len(open('/etc/passwd').read())"
    assert "Error" in (await refused(pool, text))["message"]


async def test_more_memory_than_a_child_has(pool):
    text = "import numpy as np\ndef reference(**_):\n    return np.ones(1 << 33)"
    run = await refer(pool, text, ADD)
    assert run.outcome.ending is Ending.FAILURE
    assert run.failure["slug"] == "memory_exceeded"


async def test_an_error_that_is_its_own_cause_is_one_error(pool):
    text = """def reference(**_):
    error = ValueError("round and round")
    error.__cause__ = error
    raise error
"""
    failure = await refused(pool, text)
    assert failure["message"] == "line 4: ValueError: round and round"


async def test_of_an_error_that_has_a_cause_the_error_is_reported(pool):
    text = "def reference(**_):\n    raise ValueError('what was raised') from KeyError('not this')"
    failure = await refused(pool, text)
    assert failure["message"] == "line 2: ValueError: what was raised"


async def test_an_error_of_the_user_s_own_is_no_want_of_memory(pool):
    text = "class Full(MemoryError): pass\ndef reference(**_):\n    raise Full('of it')"
    failure = await refused(pool, text)
    assert failure["message"] == "line 3: Full: of it"
