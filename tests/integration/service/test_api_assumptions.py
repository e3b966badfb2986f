"""Source that Triton cannot execute unchanged: warnings with lines, errors, and whole modules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.service.conftest import Post

HEAD = "import torch, triton\nimport triton.language as tl\n"
KERNEL = "@triton.jit\ndef k(x_ptr):\n    tl.store(x_ptr, B)\n"


def compiled(post: Post, text: str, **fields: Any) -> dict[str, Any]:
    body = {"source": HEAD + text + KERNEL, "signature": {"x_ptr": "*fp32"}, "target": "cuda:90"}
    return dict(post(body | {"stop_after": "ttir", "include": ["ttir"]} | fields).json())


def test_an_ordinary_file_is_complete(post: Post) -> None:
    answer = compiled(post, "B = tl.constexpr(1.0)\nx = torch.rand(3)\nprint(x)\n")

    assert (answer["state"], answer["complete"], answer["assumptions"]) == ("succeeded", True, [])
    assert answer["diagnostics"] == []


def test_constants_of_numpy_and_torch_are_complete(post: Post) -> None:
    text = "import numpy as np\nB = tl.constexpr(np.pi - torch.pi + float(np.float32(0.75)))\n"

    answer = compiled(post, text)

    assert (answer["state"], answer["complete"], answer["assumptions"]) == ("succeeded", True, [])
    assert "7.500000e-01" in answer["included"]["ttir"]


def test_a_value_that_a_try_would_take_of_torch_is_an_error_at_its_line(post: Post) -> None:
    tries = "b = 2.0\ntry:\n    b = float(torch.rand(1))\nexcept Exception:\n    pass\n"

    answer = compiled(post, tries + "B = tl.constexpr(b)\n")

    assert answer["state"] == "failed"
    error = answer["diagnostics"][0]
    assert (error["severity"], error["file"], error["line"]) == ("error", "user.py", 4)
    assert "torch.rand() is not known" in error["message"]
    assert "Write its value" in error["hint"]


def test_a_coding_line_has_no_meaning_in_a_posted_text(post: Post) -> None:
    text = "# coding: latin-1\n" + HEAD + "B = tl.constexpr(float(len('\u00e9')))\n" + KERNEL

    answer = compiled(post, "", source=text)

    assert "1.000000e+00" in answer["included"]["ttir"]


def test_what_is_asked_of_the_gpu_is_an_assumption(post: Post) -> None:
    asks = "B = tl.constexpr(float(torch.cuda.get_device_capability()[0]))\n"

    answer = compiled(post, asks)

    assert answer["complete"] is False
    (assumed,) = answer["assumptions"]
    assert (assumed["file"], assumed["line"]) == ("user.py", 3)
    assert "cuda:90" in assumed["message"]
    (warning,) = answer["diagnostics"]
    assert (warning["severity"], warning["line"]) == ("warning", 3)
    assert "9.000000e+00" in answer["included"]["ttir"]


def test_a_module_that_a_try_asks_for_is_assumed_not_to_be_installed(post: Post) -> None:
    tries = (
        "try:\n    import cutlass\n    b = 1.0\nexcept ImportError:\n    b = 2.0\n"
        "B = tl.constexpr(b)\n"
    )

    answer = compiled(post, tries)

    assert [item["line"] for item in answer["assumptions"]] == [4]
    assert "2.000000e+00" in answer["included"]["ttir"]


def test_a_decorator_of_another_package_is_an_assumption(post: Post) -> None:
    answer = compiled(post, "from package import entry\nB = tl.constexpr(1.0)\n@entry(3)\n")

    assert answer["state"] == "succeeded"
    (assumed,) = answer["assumptions"]
    assert assumed["line"] == 5
    assert "@entry(3)" in assumed["message"]


@pytest.mark.parametrize(
    "text",
    [
        "B = tl.constexpr(float(len(torch.rand(3))))\n",
        "D = {'b': 1.0}\nD.update(b=len(torch.rand(3)))\nB = tl.constexpr(D['b'])\n",
        "B = tl.constexpr(1.0)\nB = tl.constexpr(open('/etc/passwd').read())\n",
    ],
    ids=["a value of torch", "a change by a value of torch", "a file"],
)
def test_what_the_kernel_depends_on_is_an_error(post: Post, text: str) -> None:
    answer = compiled(post, text)

    assert answer["state"] == "failed"
    assert answer["diagnostics"][0]["line"] in {3, 4}


def test_what_python_refuses_is_refused(post: Post) -> None:
    source = (
        HEAD.replace("torch, ", "") + "B = tl.constexpr(1.0)\nassert B.value > 1, 'no'\n" + KERNEL
    )

    answer = compiled(post, "", source=source)

    assert answer["problem"]["slug"] == "compile_error"
    assert "AssertionError: no" in answer["problem"]["detail"]


def test_what_a_module_prints_is_reported_once(post: Post) -> None:
    text = "B = tl.constexpr(1.0)\nfor i in range(3):\n    print(i)\n"
    source = HEAD.replace("torch, ", "") + text + KERNEL

    first, second = (compiled(post, "", source=source, timeout_s=t) for t in (30, 31))

    assert first["complete"]
    assert first["stdout"] == second["stdout"] == "0\n1\n2\n"
